"""Settings of a sink connector (Kafka to Ignite), besides the settings in :mod:`.connector`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ..errors import SettingsError
from ..events import DELIVERY_CONVERGES, OFFSETS_GUESSED, UPDATES_NOT_APPLIED, Event
from ..sql import parse_columns, parse_condition
from ..sql.syntax import columns_of
from . import topic_names
from .active_active import SINK as ACTIVE_ACTIVE
from .active_active import SINK_UNVERSIONED as ALLOW_UNVERSIONED
from .active_active import check_sink
from .base import setting
from .cache_header import HEADER_CACHES
from .cache_header import SINK as CACHE_HEADER
from .cache_header import check_sink as check_cache_header
from .connector import PREFIX, TIME, ConnectorSettings
from .converters import FIELDLESS, IGNITE_BINARY, SCALARS
from .fields import BOOLEAN, LINE, MAPPING, RULES, TEXTS, SettingType, choice, text_like, whole_number
from .findings import Findings
from .name_rules import NamedBy
from .schema_contracts import CLOSED, DEAD_LETTER_RECORD, SCHEMA_CONTRACT, STORE
from .shared_caches import ORDER_FIELD, SHARED_CACHES
from .start_warnings import CONTINUOUS

KEY = "key"
VALUE = "value"
KAFKA = "kafka"
HEADER = "header"
_OF_ENTRIES = {
    "_key",
    "_value",
    "_type",
    "_topic",
    "_partition",
    "_offset",
    "_timestamp",
}  # columns that are no fields, in the setting where
OWN_NAME = "{name}"  # in cache_template
NONE = "none"
EARLIEST = "earliest"
LATEST = "latest"
CONVERGING = "converging"
STRICT = "strict"


def _one_or_none(*values: str) -> SettingType:
    return text_like(
        f"({'|'.join(values)})?", f"{' or '.join(values)}; when empty the template's, else the cluster's default"
    )


def group_of(connector: str, settings: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return the name of a sink's consumer group.

    :param settings: stored settings of the connector's last run.
    """
    group = settings.get("consumer_group")
    return group if group and isinstance(group, str) else f"connect-{connector}"


@dataclass(frozen=True, kw_only=True)
class SinkSettings(ConnectorSettings):
    """All settings of a sink connector (Kafka to Ignite)."""

    own_name: ClassVar[str] = "cache"
    reads_records: ClassVar[bool] = True

    # What is read
    topics: tuple[str, ...] = setting((), TEXTS, "Topics to read; give either topics or topics_regex")
    topics_regex: str = setting(
        "", LINE, "Regular expression of whole topic names: matching topics are read, including those created later"
    )
    auto_offset_reset: str = setting(
        NONE, choice(NONE, EARLIEST, LATEST),
        "Action if the next record has been deleted from the topic. none: stop the run; earliest, latest: skip the "
        "lost records. With latest the first start reads from the topics' ends, otherwise from their beginnings",
    )  # fmt: skip
    consumer_group: str = setting(
        "",
        LINE,
        "Consumer group of the offsets, like consumer.override.group.id of Kafka Connect; empty: connect-<name>",
    )
    types_topic: str = setting(
        "", LINE,
        "Topic with a source's descriptions of its caches and their types; empty: <internal_topic_prefix>-types, "
        "which a source with the same prefix writes",
    )  # fmt: skip

    # Where it is stored
    topic_prefix: str = setting(
        "ignite-", PREFIX, "Prefix removed from a topic's name; the cache's name is cache_prefix and the rest",
        reference="topicPrefix",
    )  # fmt: skip
    cache_prefix: str = setting("", LINE, "Prefix of cache names", reference="cachePrefix")
    cache_names: Mapping[str, str] = setting(
        {}, RULES,
        "Cache names by regular expressions (Java's) of whole topic names: the first matching expression names the "
        "cache, with $1 and ${name} as groups; topics without a match are named by topic_prefix and cache_prefix",
    )  # fmt: skip
    cache_header: str = CACHE_HEADER
    header_caches: tuple[str, ...] = HEADER_CACHES
    shared_caches: str = SHARED_CACHES
    order_field: str = ORDER_FIELD
    process_updates: bool = setting(
        False, BOOLEAN, "Overwrite and remove entries; false: existing entries stay unchanged",
        reference="shallProcessUpdates",
    )  # fmt: skip
    delivery: str = setting(
        CONVERGING, choice(CONVERGING, STRICT),
        "converging: the cache has the last record of each key once the sink has caught up; a put of a task that was "
        "superseded may come late and stay until the key's next record. strict: nodes execute no such put; every "
        "server node needs the jar of the backlog service (docs/delivery.md)",
    )  # fmt: skip
    active_active: bool = ACTIVE_ACTIVE
    allow_unversioned: bool = ALLOW_UNVERSIONED
    key_policy: str = setting(
        KEY, choice(KEY, VALUE, KAFKA, HEADER),
        "Origin of the cache key: the record's key (key), its value (value), its topic, partition and offset (kafka), "
        "or a header (header)",
        reference="keyPolicy", overridable=True,
    )  # fmt: skip
    key_fields: tuple[str, ...] = setting(
        (), TEXTS,
        "Fields of the record's key or value that make up the cache key; empty: all of them. With key_policy kafka: "
        "names for topic, partition and offset; with header: the header's name",
        reference="keyFields", overridable=True,
    )  # fmt: skip

    # Caches that the connector creates
    cache_as_source: bool = setting(
        True, BOOLEAN,
        "Create missing caches with the configuration of the source's cache from types_topic: mode, atomicity, "
        "backups, query entities, indexes, affinity keys, SQL schema, cache group and others. cache_template and the "
        "other settings cache_* take precedence. false: use these settings and the cluster's defaults only",
        overridable=True,
    )  # fmt: skip
    cache_template: str = setting(
        "", LINE,
        "Existing cache used as a template: new caches copy its mode, atomicity, backups and query entity. {name} is "
        "replaced by the new cache's name without prefix", overridable=True,
    )  # fmt: skip
    cache_mode: str = setting("", _one_or_none("PARTITIONED", "REPLICATED"), "Mode of new caches", overridable=True)
    cache_atomicity: str = setting(
        "", _one_or_none("ATOMIC", "TRANSACTIONAL"), "Atomicity of new caches", overridable=True
    )
    cache_backups: int = setting(
        -1, whole_number(0, 1_000, besides=-1),
        "Number of backups of new caches; -1: that of the template, or 0 without a template",
        overridable=True,
    )  # fmt: skip
    cache_region: str = setting(
        "", LINE, "Data region of new caches; empty: the nodes' default region", overridable=True
    )
    cache_key_type: str = setting(
        "", LINE, "SQL key type of new caches: a Java class such as java.lang.Long, or a binary type", overridable=True
    )
    cache_value_type: str = setting(
        "", LINE, "SQL value type of new caches; needed for typed columns in SQL", overridable=True
    )
    cache_fields: Mapping[str, str] = setting(
        {}, MAPPING, "SQL columns of new caches: field name and Java class; key_fields names the fields of the key",
        overridable=True,
    )  # fmt: skip

    schema_contract: str = SCHEMA_CONTRACT

    # Resources
    batch_size: int = setting(20_000, whole_number(1), "Maximum number of records per put batch")
    batch_bytes: int = setting(
        16 << 20, whole_number(1 << 10, 256 << 20),
        "Target size of a put batch, in bytes of its records; for JSON with schemas, the repeated schema counts once",
    )  # fmt: skip
    push_interval_ms: int = setting(
        2_000, TIME,
        "Interval of commits, and maximum time that a record waits for a full batch, in milliseconds",
        reference="pushInterval",
    )  # fmt: skip
    flush_on_offset_commit: bool = setting(
        False, BOOLEAN, "Store all records read before offsets are committed", reference="flushOnOffsetCommit",
        no_effect_because="they are always stored first",
    )  # fmt: skip
    topic_list_poll_interval_ms: int = setting(
        5_000, TIME, "Interval of checks for new topics and partitions, in milliseconds", no_effect_because=CONTINUOUS
    )

    @property
    def strict(self) -> bool:
        """Whether nodes refuse writes of superseded tasks."""
        return self.delivery == STRICT

    @property
    def source_types_topic(self) -> str:
        """Topic from which a sink reads the types of records in Ignite's binary format."""
        return self.types_topic or topic_names.types_topic(self.internal_topic_prefix)

    @property
    def group_id(self) -> str:
        """Consumer group to commit offsets to; by default the group of a Connect sink with the same name."""
        return group_of(self.name, {"consumer_group": self.consumer_group})

    def check_own_name(self, name: object, set_in: str) -> None:
        """Check the cache name in an override; raise SettingsError for a wrong one."""
        if not isinstance(name, str) or not name:
            raise SettingsError(
                "cache is no cache name", "Allowed: one character or more", setting="cache", set_in=set_in
            )

    def cache_of(self, topic: str) -> NamedBy:
        """Return the name of the cache that a topic's records are stored in; the name is not checked.

        With `cache_header` it is the topic's name, for counts only.

        :raises SettingsError: an expression cannot be used with this name.
        """
        if self.cache_header:
            return NamedBy(topic, "cache_header")
        named = self._own_name(topic) or self.named_by("cache_names", topic)
        return named or NamedBy(self.cache_prefix + topic.removeprefix(self.topic_prefix), "topic_prefix")

    def check_together(self, findings: Findings) -> None:
        """Check settings that depend on one another, among them topics, keys and caches."""
        super().check_together(findings)
        check_sink(self, findings)
        check_cache_header(self, findings)
        with findings.check("select", "where", "key_policy", "key_fields", "value_converter"):
            self._check_select()
        with findings.check("order_field", "delivery", "process_updates", "select", "value_converter"):
            self._check_order_field()
        with findings.check("schema_contract", "value_converter", "dead_letter_topic"):
            self._check_contract()
        with findings.check("topics", "topics_regex"):
            self._check_one_of_topics()
        with findings.check("topics_regex"):
            if self.topics_regex:
                self.check_pattern("topics_regex", self.topics_regex)
        for topic in self.topics:
            with findings.check():
                if not topic_names.is_topic_name(topic):
                    raise self.wrong("topics", f"{topic!r} is no topic name")
                topic_names.check_data_topic("topics", topic, self.internal_topic_prefix)
        with findings.check("types_topic"):
            if not self.types_topic.endswith("-types"):
                topic_names.check_data_topic("types_topic", self.types_topic, self.internal_topic_prefix)
        self.check_names(findings, "cache_names", ".+", "one character or more")
        with findings.check("key_policy", "key_fields", "value_converter"):
            self._check_key()
        for name, topic in self.own_topics.items():
            with findings.check(name, "topics"):
                if topic in (*self.topics, self.types_topic):
                    raise self.wrong(name, "it is one of the topics that are read", "Choose another topic")
        with findings.check("cache_fields", "cache_value_type"):
            if self.cache_fields and not self.cache_value_type:
                raise self.wrong("cache_fields", "the columns belong to a type without a name", "Set cache_value_type")

    def _check_select(self) -> None:
        """Refuse a setting that needs a field omitted by `select`."""
        fields = self.parsed_text("select", parse_columns)
        condition = self.parsed_text("where", parse_condition)
        if fields is None:
            return
        if self.value_converter in FIELDLESS:
            raise self.wrong(
                "select",
                f"value_converter {self.value_converter} reads no fields",
                "Use another converter, or leave it out",
            )
        selected = {field.alias.lower() for field in fields}
        named = [] if condition is None else [column.path[0] for column in columns_of(condition)]
        if missing := [name for name in named if name.lower() not in selected | _OF_ENTRIES]:
            reason = f"a sink evaluates it on the fields of select, which has no {missing[0]}"
            raise self.wrong("where", reason, "Add the field to select, under its new name if it gets one")
        if self.key_policy == VALUE and (missing := [name for name in self.key_fields if name.lower() not in selected]):
            reason = f"keys are made of the fields of select, which has no {missing[0]}"
            raise self.wrong("key_fields", reason, "Add the field to select, under its new name if it gets one")

    def _check_order_field(self) -> None:
        """Refuse settings with which nodes would not compare the field, or values would not have it."""
        if not self.order_field:
            return
        if not self.strict:
            reason = "nodes compare the field only in fenced writes, and delivery is not strict"
            raise self.wrong("order_field", reason, "Set delivery to strict, or leave it out")
        if not self.process_updates:
            reason = "process_updates is false, so that the first record of a key remains"
            raise self.wrong("order_field", reason, "Set process_updates to true, or leave it out")
        if self.value_converter in SCALARS:
            reason = f"value_converter {self.value_converter} reads no fields"
            raise self.wrong("order_field", reason, "Use another converter, or leave it out")
        selected = self.parsed_text("select", parse_columns)
        if selected is not None and self.order_field.lower() not in {field.alias.lower() for field in selected}:
            reason = f"select has no {self.order_field}, so that stored values lack it"
            raise self.wrong("order_field", reason, "Add the field to select, under its new name if it gets one")

    def _check_contract(self) -> None:
        """Refuse a contract that cannot be kept with the other settings."""
        if self.schema_contract in CLOSED and self.value_converter == IGNITE_BINARY:
            reason = f"it is {self.schema_contract}, and value_converter {IGNITE_BINARY} stores values byte by byte"
            raise self.wrong("schema_contract", reason, f"Use {STORE} or evolve, or another value_converter")
        if self.schema_contract == DEAD_LETTER_RECORD and not self.dead_letter_topic:
            raise self.wrong("schema_contract", "there is no dead_letter_topic", "Set dead_letter_topic, too")

    def _check_one_of_topics(self) -> None:
        if bool(self.topics) == bool(self.topics_regex):
            reason = "topics_regex is given too" if self.topics else "neither topics nor topics_regex is given"
            raise self.wrong("topics", reason, "Give one of them")

    def _check_key(self) -> None:
        if self.key_policy == KAFKA and len(self.key_fields) not in (0, 3):
            remedy = "Name three, for topic, partition and offset, or none"
            raise self.wrong(
                "key_fields", "with key_policy kafka they name a record's topic, partition and offset", remedy
            )
        if self.key_policy == HEADER and len(self.key_fields) != 1:
            raise self.wrong("key_fields", "with key_policy header it names the header that is the key", "Name one")
        read = {KEY: self.key_converter, VALUE: self.value_converter}.get(self.key_policy)
        if self.key_fields and read in FIELDLESS:
            raise self.wrong("key_fields", f"converter {read} reads no fields", "Use json, or leave them out")
        if self.key_policy == VALUE and read in FIELDLESS:
            raise self.wrong(
                "key_policy", f"fields of the value make the key, and converter {read} reads no fields", "Use json"
            )

    def warnings(self) -> list[tuple[Event, dict[str, Any]]]:
        """Return the events to log at a start; the sink's own report updates not stored and records skipped."""
        events = super().warnings()
        if not self.process_updates:
            events.append((UPDATES_NOT_APPLIED, {"reason": "process_updates is false", "setting": "process_updates"}))
        elif not (self.strict or self.active_active):
            events.append((DELIVERY_CONVERGES, {"delivery": self.delivery, "setting": "delivery"}))
        if self.auto_offset_reset != NONE:
            reason = f"auto_offset_reset is {self.auto_offset_reset}"
            events.append((OFFSETS_GUESSED, {"reason": reason, "setting": "auto_offset_reset"}))
        return events
