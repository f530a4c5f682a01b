"""Settings of a source connector (Ignite to Kafka), besides the settings in :mod:`.connector`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import SettingsError
from ..events import CONFIG_CHANGED, NOTHING_TO_SEND, REMOVALS_NOT_SENT, TRANSFORMED_KEYS, UPDATES_NOT_CAPTURED, Event
from . import provenance, signals, topic_names
from .active_active import FORWARD_FOREIGN_CHANGES, check_source
from .active_active import SOURCE as ACTIVE_ACTIVE
from .active_active import SOURCE_UNVERSIONED as ALLOW_UNVERSIONED
from .base import setting
from .cache_header import SOURCE as CACHE_HEADER
from .cache_header import check_source as check_cache_header
from .connector import PREFIX, TIME, ConnectorSettings
from .converters import IGNITE_BINARY, uses_registry
from .fields import BOOLEAN, LINE, MAPPING, RULES, TEXTS, choice, text_like, whole_number
from .findings import Findings
from .metrics import HEARTBEAT_INTERVAL_MS
from .name_rules import NamedBy
from .overrides import values_of
from .start_warnings import STREAM
from .topic_groups import EXCLUDE, GROUPS, INCLUDE, PARTITION_COUNT, NewTopicSettings, new_topic, with_values
from .transforms import chain_of, touches

LAZY = "LAZY"
EAGER = "EAGER"


@dataclass(frozen=True, kw_only=True)
class SourceSettings(ConnectorSettings):
    """All settings of a source connector (Ignite to Kafka)."""

    all_when_absent: ClassVar[tuple[str, ...]] = ("cache_whitelist",)
    own_name: ClassVar[str] = "topic"

    # What is copied
    cache_whitelist: tuple[str, ...] = setting(
        (), TEXTS,
        "Regular expressions of whole cache names: matching caches are copied; without any, all caches. "
        "cache_blacklist takes precedence",
        reference="cacheWhitelist", fixed_in_snapshot=True,
    )  # fmt: skip
    cache_blacklist: tuple[str, ...] = setting(
        (), TEXTS, "Regular expressions of whole cache names: matching caches are not copied",
        reference="cacheBlacklist", fixed_in_snapshot=True,
    )  # fmt: skip
    topic_prefix: str = setting(
        "", PREFIX, "Prefix of topic names, before the cache's name", reference="topicPrefix", fixed_in_snapshot=True
    )
    topic_names: Mapping[str, str] = setting(
        {}, RULES,
        "Topic names by regular expressions (Java's) of whole cache names: the first matching expression names the "
        "topic, with $1 and ${name} as groups; caches without a match are named by topic_prefix",
        fixed_in_snapshot=True,
    )  # fmt: skip
    cache_header: str = CACHE_HEADER
    load_initial_data: bool = setting(
        True, BOOLEAN, "Send the entries that are in the caches at the start",
        reference="shallLoadInitialData", fixed_in_snapshot=True,
    )  # fmt: skip
    process_removals: bool = setting(
        False, BOOLEAN, "Send a tombstone (a record without value) for a removed key", reference="shallProcessRemovals",
        fixed_in_snapshot=True,
    )  # fmt: skip
    failover_policy: str = setting(
        "NONE", choice("NONE", "FULL_SNAPSHOT", "BACKLOG"),
        "Start after a stop. NONE: changes made while it was stopped are lost; FULL_SNAPSHOT: all entries are sent "
        "again; BACKLOG: the stream resumes at its last position. NONE and FULL_SNAPSHOT need no backlog service on "
        "the nodes (docs/queries.md)",
        reference="failoverPolicy",
    )  # fmt: skip

    active_active: bool = ACTIVE_ACTIVE
    forward_foreign_changes: bool = FORWARD_FOREIGN_CHANGES
    allow_unversioned: bool = ALLOW_UNVERSIONED

    # Form of records
    enum_policy: str = setting(
        "SHORT_NAME", choice("ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME"),
        "Form of enums: the ordinal, BAR, Foo.BAR or org.acme.Foo.BAR",
        reference="enumPolicy", fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    field_nullability_policy: str = setting(
        LAZY, choice(LAZY, EAGER),
        "Null fields of values. LAZY: schema and record leave them out; EAGER: they are null, with a schema from the "
        "binary metadata (o.g.k.c.s.undef if that has none). Keys always have all fields of their own schema",
        reference="fieldNullabilityPolicy", fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    record_key: tuple[str, ...] = setting(
        (), TEXTS,
        "Fields that make up the record's key: fields of the value, or of the key with prefix key.; one field is the "
        "key itself, several form an object. Compaction keeps one record of all entries with equal fields. Empty: the "
        "entry's key",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    record_timestamp_field: str = setting(
        "", LINE,
        "Field of the value with the record's timestamp: a date, a timestamp, or a long of milliseconds since 1970. "
        "Empty: the time of sending",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    provenance_headers: tuple[str, ...] = provenance.HEADERS
    cluster_name: str = provenance.CLUSTER_NAME
    coinciding_keys: str = setting(
        "EVENT", choice("EVENT", "REFUSE"),
        "Action if a cache has keys of two types with the same Kafka key, such as byte 1 and long 1, both 1 in JSON. "
        "EVENT: log event 15160; REFUSE: stop the run. The default stops no run, because the reference writes such "
        "keys silently; docs/types.md lists undetected cases", overridable=True,
    )  # fmt: skip
    is_schemaless: bool = setting(
        False, BOOLEAN, "Create no schemas: converter json with schemas.enable writes null as the schema",
        reference="isSchemaless", fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    is_schema_dynamic: bool = setting(
        True, BOOLEAN,
        "Write each value with the schema of its own fields. false: all values of a type have the schema of its first "
        "value in each worker process; additional fields are not sent, and event 15169 reports them. The reference's "
        "default is false",
        reference="isSchemaDynamic", fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    enable_schema_cache: bool = setting(
        False, BOOLEAN, "Cache resolved schemas", reference="enableSchemaCache",
        no_effect_because="schemas are made for each batch by column, and those of first values are always kept",
    )  # fmt: skip
    schema_cache_max_size: int = setting(
        256, whole_number(1), "Maximum number of first schemas kept if is_schema_dynamic is false",
        reference="schemaCacheMaxSize",
    )  # fmt: skip
    schema_cache_ttl_ms: int = setting(
        -1, whole_number(0, besides=-1),
        "Time after which an unused first schema is dropped, in milliseconds; the next value's schema replaces it. "
        "-1: never",
        reference="schemaCacheTtl",
    )  # fmt: skip

    # Kafka
    create_topics: bool = setting(
        True, BOOLEAN,
        "Create missing data topics, like topic.creation.enable of a worker; false: a missing topic is an error, "
        "raised before anything is sent to it",
    )  # fmt: skip
    topic_partitions: int = setting(
        -1, PARTITION_COUNT,
        "Number of partitions of data topics that the connector creates; -1: the broker's default (KIP-158)",
        overridable=True,
    )  # fmt: skip
    topic_config: Mapping[str, str] = setting(
        {}, MAPPING,
        "Topic configuration of data topics that the connector creates, such as cleanup.policy (KIP-158)",
        overridable=True,
    )  # fmt: skip

    topic_creation_groups: Mapping[str, Mapping[str, Any]] = setting(
        {}, GROUPS,
        "Groups of data topics that the connector creates, by Kafka Connect's names (KIP-158). A topic belongs to the "
        "first group with an expression in include, and none in exclude, that matches its whole name. partitions and "
        "replication.factor default to topic_partitions and replication_factor; topic_config applies only to topics "
        "without a group",
    )  # fmt: skip

    # Resources
    transaction_max_ms: int = setting(
        30_000, TIME,
        "Maximum time of a transaction, in milliseconds; a transaction is committed at the end of the cache partition "
        "during which it exceeds the limit",
    )  # fmt: skip
    transaction_max_records: int = setting(
        500_000, whole_number(1), "Maximum number of records of a transaction, applied like transaction_max_ms"
    )
    transaction_max_bytes: int = setting(
        256 << 20,
        whole_number(1),
        "Maximum size of the keys and values of a transaction, in bytes, applied like transaction_max_ms",
    )
    page_bytes: int = setting(4 << 20, whole_number(1 << 10, 256 << 20), "Target scan page size, in bytes")
    batch_size: int = setting(
        10_000, whole_number(1), "Maximum number of entries per batch to Kafka", reference="batchSize",
        no_effect_because="the transaction_max_* settings limit it",
    )  # fmt: skip
    batch_bytes: int = setting(
        16 << 20, whole_number(1 << 10, 256 << 20),
        "Maximum size of the changes that a task sends in one batch, in bytes; also applies to initial data in that "
        "batch",
        no_effect_because=STREAM,
    )  # fmt: skip
    max_records_per_second: int | None = setting(
        None, whole_number(1, optional=True),
        "Maximum number of records per second that all tasks of a stream send together, initial data included; none: "
        "no limit",
        no_effect_because=STREAM,
    )  # fmt: skip
    poll_interval_ms: int = setting(
        2_000, TIME, "Interval of reading changes, in milliseconds", reference="pollInterval", no_effect_because=STREAM
    )
    cache_list_poll_interval_ms: int = setting(
        5_000, TIME, "Interval of checks for new caches, in milliseconds", reference="cacheListPollInterval",
        no_effect_because=STREAM,
    )  # fmt: skip

    heartbeat_interval_ms: int = HEARTBEAT_INTERVAL_MS

    # Backlog
    backlog_cache_name: str = setting(
        "kafka-connect-backlog", text_like(r".+", "a cache name"), "Name of the backlog cache",
        reference="backlogCacheName", no_effect_because=STREAM,
    )  # fmt: skip
    backlog_cache_backups: int = setting(
        1, whole_number(0, 1_000), "Number of backups of the backlog cache",
        reference="backlogCacheBackups", no_effect_because=STREAM,
    )  # fmt: skip
    backlog_flush_freq_ms: int = setting(
        500, whole_number(0, 3_600_000),
        "Interval of writes to the backlog cache, in milliseconds; 0: each change is written at once. The nodes have a "
        "lower maximum, by default 60,000 (docs/deploy.md)",
        reference="backlogFlushFreq", no_effect_because=STREAM,
    )  # fmt: skip
    backlog_memory_region_name: str = setting(
        "kafka-connect", LINE,
        "Data region of the backlog cache; the nodes' IGNITE_KAFKA_BACKLOG_REGIONS must list any region other than "
        "kafka-connect",
        reference="backlogMemoryRegionName", no_effect_because=STREAM,
    )  # fmt: skip
    backlog_service_name: str = setting(
        "kafka-connect-backlog-service", LINE, "Name of the backlog service", reference="backlogServiceName",
        no_effect_because=STREAM,
    )  # fmt: skip

    # Signals
    notifications_topic: str = signals.NOTIFICATIONS_TOPIC
    signal_topic: str = signals.SIGNAL_TOPIC

    @property
    def own_topics(self) -> dict[str, str]:
        """Topics besides those of the caches, by setting."""
        more = {"notifications_topic": self.notifications_topic, "signal_topic": self.signal_topic}
        return {**super().own_topics, **{name: topic for name, topic in more.items() if topic}}

    @property
    def streams(self) -> bool:
        """Whether the run sends changes, with or without a snapshot."""
        return super().streams or self.failover_policy == "BACKLOG"

    def fixed_in_snapshot(self) -> dict[str, Any]:
        """Return the settings that must stay the same under one snapshot id, as JSON values."""
        definitions = self.definitions()
        fixed = {
            name: [list(item) for item in value.items()] if definitions[name].type.ordered else value
            for name, value in self.to_dict().items()
            if definitions[name].fixed_in_snapshot
        }
        fixed["overrides"] = [[pattern, self._fixed_overrides(pattern)] for pattern in self.overrides]
        return fixed

    def _fixed_overrides(self, pattern: str) -> dict[str, Any]:
        definitions = self.definitions()
        values = self._overridden[pattern].to_dict()
        named = (
            {self.own_name: self.overrides[pattern][self.own_name]} if self.own_name in self.overrides[pattern] else {}
        )
        return named | {name: values[name] for name in values_of(self, pattern) if definitions[name].fixed_in_snapshot}

    def also_overridden(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return topic_creation_groups changed by the overridden partitions, replicas and topic configuration."""
        return (
            {"topic_creation_groups": with_values(self.topic_creation_groups, values)}
            if self.topic_creation_groups
            else {}
        )

    def check_own_name(self, name: object, set_in: str) -> None:
        """Check the topic name in an override; raise SettingsError for a wrong one."""
        if not isinstance(name, str) or not topic_names.is_topic_name(name):
            raise SettingsError(
                "topic is no topic name", f"Allowed: {topic_names.ALLOWED}", setting="topic", set_in=set_in
            )

    def new_topic(self, topic: str) -> NewTopicSettings:
        """Return the settings with which a missing data topic is created.

        :raises SettingsError: an expression cannot be used with this name.
        """
        default = NewTopicSettings(self.topic_partitions, self.replication_factor, self.topic_config)
        try:
            return new_topic(topic, self.topic_creation_groups, default)
        except ValueError as error:
            raise self.wrong("topic_creation_groups", f"{error}") from error

    def topic_of(self, cache: str) -> NamedBy:
        """Return the name of the topic that a cache's records are sent to; the name is not checked.

        :raises SettingsError: an expression cannot be used with this name.
        """
        return (
            self._own_name(cache)
            or self.named_by("topic_names", cache)
            or NamedBy(self.topic_prefix + cache, "topic_prefix")
        )

    def check_together(self, findings: Findings) -> None:
        """Check settings that depend on one another, among them patterns and transaction limits."""
        super().check_together(findings)
        for name in ("cache_whitelist", "cache_blacklist"):
            for pattern in getattr(self, name):
                with findings.check():
                    self.check_pattern(name, pattern)
        self.check_names(findings, "topic_names", topic_names.TOPIC_CHARACTERS, topic_names.ALLOWED)
        self._check_record(findings)
        provenance.check_headers(self, findings)
        check_source(self, findings)
        check_cache_header(self, findings)
        signals.check_topics(self, findings)
        for group in self.topic_creation_groups.values():
            for pattern in (*group.get(INCLUDE, ()), *group.get(EXCLUDE, ())):
                with findings.check():
                    self.check_pattern("topic_creation_groups", pattern)
        with findings.check("transaction_max_ms", "transaction_timeout_ms"):
            self._check_transactions()
        with findings.check("is_schemaless", "key_converter", "value_converter"):
            for side in ("key", "value"):
                if self.is_schemaless and uses_registry(name := getattr(self, f"{side}_converter")):
                    raise self.wrong(
                        "is_schemaless", f"{side}_converter {name} writes values with a schema alone", "Set it to false"
                    )

    def _check_record(self, findings: Findings) -> None:
        for name in ("record_key", "record_timestamp_field"):
            side = "key" if name == "record_key" else "value"
            with findings.check(name, f"{side}_converter"):
                if getattr(self, name) and getattr(self, f"{side}_converter") == IGNITE_BINARY:
                    raise self.wrong(
                        name, f"{side}_converter ignite-binary writes whole {side}s alone", "Use another converter"
                    )
        with findings.check("select", "value_converter"):
            if self.select and self.value_converter == IGNITE_BINARY:
                raise self.wrong(
                    "select", "value_converter ignite-binary writes whole values alone", "Use another converter"
                )
        with findings.check("record_key"):
            members = [field.removeprefix("key.").lower() for field in self.record_key]
            if twice := [name for name in members if members.count(name) > 1]:
                reason = f"two fields are named {twice[0]}, without case, and the key is an object of them"
                raise self.wrong("record_key", reason, "Name one of them")
        with findings.check("record_key", "process_removals"):
            of_value = [field for field in self.record_key if not field.startswith("key.")]
            if self.streams and self.process_removals and of_value:
                reason = (
                    "a removed entry has no value from which its record's key could be made, and process_removals "
                    "is true"
                )
                raise self.wrong(
                    "record_key", reason, "Name fields of the key (key.<name>), or set process_removals to false"
                )

    def _check_transactions(self) -> None:
        if self.transaction_max_ms >= self.transaction_timeout_ms:
            remedy = f"It must be below transaction_timeout_ms, which is {self.transaction_timeout_ms}"
            raise self.wrong("transaction_max_ms", "every transaction would time out", remedy)

    def warnings(self) -> list[tuple[Event, dict[str, Any]]]:
        """Return the events to log at a start; the source's own say which changes or removals are not sent."""
        events = super().warnings()
        for name, group in self.topic_creation_groups.items():
            if not group.get(INCLUDE):
                reason = f"group {name} of topic_creation_groups has no include and matches no topic"
                setting = "topic_creation_groups"
                events.append(
                    (CONFIG_CHANGED, {"reason": reason, "setting": setting, "set_in": self.origin.get(setting)})
                )
        if self.failover_policy == "NONE":
            events.append((UPDATES_NOT_CAPTURED, {"reason": "failover_policy is NONE", "setting": "failover_policy"}))
        makers = {
            transform.alias
            for variant in self.variants
            for transform in chain_of(variant)
            if touches([transform], "key")
        }
        if makers and self.streams and self.process_removals:
            events.append((TRANSFORMED_KEYS, {"transforms": ", ".join(sorted(makers)), "setting": "transforms"}))
        if not self.process_removals:
            events.append((REMOVALS_NOT_SENT, {"reason": "process_removals is false", "setting": "process_removals"}))
        if not self.streams and not self.load_initial_data:
            reason = "run_mode is once and load_initial_data is false"
            events.append((NOTHING_TO_SEND, {"reason": reason, "setting": "load_initial_data"}))
        return events
