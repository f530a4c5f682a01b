"""Settings of a source connector (Ignite to Kafka); :mod:`~ignite_kafka.settings.connector` has what both directions share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..events import NOTHING_TO_SEND, REMOVALS_NOT_SENT, UPDATES_NOT_CAPTURED, Event
from .base import setting
from .connector import PREFIX, STREAM, TIME, ConnectorSettings
from .fields import BOOLEAN, MAPPING, TEXT, TEXTS, choice, text_like, whole_number
from .findings import Findings

_SCHEMAS = "records hold no schema"


@dataclass(frozen=True, kw_only=True)
class SourceSettings(ConnectorSettings):
    """All settings of one source connector."""

    all_when_absent: ClassVar[tuple[str, ...]] = ("cache_whitelist",)

    # What is copied
    cache_whitelist: tuple[str, ...] = setting(
        (), TEXTS,
        "Regular expressions of whole cache names: matching caches are copied; all caches if not given. cache_blacklist takes precedence",
        reference="cacheWhitelist", fixed_in_snapshot=True,
    )  # fmt: skip
    cache_blacklist: tuple[str, ...] = setting(
        (), TEXTS, "Regular expressions of whole cache names: matching caches are not copied",
        reference="cacheBlacklist", fixed_in_snapshot=True,
    )  # fmt: skip
    topic_prefix: str = setting(
        "", PREFIX, "Prefix of topic names; the cache's name follows", reference="topicPrefix", fixed_in_snapshot=True
    )
    load_initial_data: bool = setting(
        True, BOOLEAN, "Send the entries that the caches hold at the start", reference="shallLoadInitialData", fixed_in_snapshot=True
    )
    process_removals: bool = setting(
        False, BOOLEAN, "Send a tombstone (a record without value) for a removed key", reference="shallProcessRemovals",
        fixed_in_snapshot=True,
    )  # fmt: skip
    failover_policy: str = setting(
        "NONE", choice("NONE", "FULL_SNAPSHOT", "BACKLOG"),
        "Start after a stop. NONE: changes made meanwhile are lost; FULL_SNAPSHOT: all entries are sent again; BACKLOG: the stream "
        "resumes where it stopped",
        reference="failoverPolicy",
    )  # fmt: skip

    # Form of records
    enum_policy: str = setting(
        "SHORT_NAME", choice("ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME"),
        "Form of enums: the ordinal, BAR, Foo.BAR or org.acme.Foo.BAR", reference="enumPolicy", fixed_in_snapshot=True,
    )  # fmt: skip
    field_nullability_policy: str = setting(
        "LAZY", choice("LAZY", "EAGER"),
        "Whether a field gets its schema before its first value that is not null. Under LAZY, its default, the reference omits null "
        "fields; this version writes them as null",
        reference="fieldNullabilityPolicy", unsupported=("EAGER",), fixed_in_snapshot=True,
    )  # fmt: skip
    coinciding_keys: str = setting(
        "EVENT", choice("EVENT", "REFUSE"),
        "Action when a cache has keys of two types that can give the same Kafka key, as byte 1 and long 1 both give 1 in JSON. EVENT: "
        "log event 15160; REFUSE: stop the run. The default stops no run, because the reference writes such keys silently; docs/types.md "
        "lists what is not detected",
    )  # fmt: skip
    is_schemaless: bool = setting(False, BOOLEAN, "Create no schemas", reference="isSchemaless", no_effect_because=_SCHEMAS)
    is_schema_dynamic: bool = setting(
        False, BOOLEAN, "Detect changes of a schema", reference="isSchemaDynamic", no_effect_because="changes are always detected"
    )
    enable_schema_cache: bool = setting(False, BOOLEAN, "Cache resolved schemas", reference="enableSchemaCache", no_effect_because=_SCHEMAS)
    schema_cache_max_size: int = setting(
        256, whole_number(1), "Maximum number of cached schemas", reference="schemaCacheMaxSize", no_effect_because=_SCHEMAS
    )
    schema_cache_ttl_ms: int = setting(
        -1, whole_number(0, besides=-1),
        "Time after which an unused schema leaves the cache, in milliseconds; -1: never",
        reference="schemaCacheTtl", no_effect_because=_SCHEMAS,
    )  # fmt: skip

    # Kafka
    topic_partitions: int = setting(
        -1, whole_number(1, 1_000_000, besides=-1),
        "Number of partitions of data topics that the connector creates; -1: the broker's default (KIP-158)",
    )  # fmt: skip
    topic_config: Mapping[str, str] = setting(
        {}, MAPPING, "Topic configuration of data topics that the connector creates, such as cleanup.policy (KIP-158)"
    )

    # Resources
    transaction_max_ms: int = setting(
        30_000,
        TIME,
        "Maximum time of a transaction, in milliseconds; it is committed at the end of the cache partition that exceeds it",
    )
    transaction_max_records: int = setting(500_000, whole_number(1), "Maximum number of records of a transaction, likewise")
    transaction_max_bytes: int = setting(
        256 << 20, whole_number(1), "Maximum size of the keys and values of a transaction, in bytes, likewise"
    )
    page_bytes: int = setting(4 << 20, whole_number(1 << 10, 256 << 20), "Target scan page size, in bytes")
    batch_size: int = setting(
        10_000, whole_number(1), "Maximum number of entries per batch to Kafka", reference="batchSize",
        no_effect_because="the transaction_max_* settings limit it",
    )  # fmt: skip
    batch_bytes: int = setting(
        16 << 20, whole_number(1 << 10, 256 << 20),
        "Maximum size of the changes that a task sends in one batch, in bytes; the same limit applies to initial data in that batch",
        no_effect_because=STREAM,
    )  # fmt: skip
    max_records_per_second: int | None = setting(
        None, whole_number(1, optional=True),
        "Maximum number of records per second that all tasks of a stream send together, initial data included; none: no limit",
        no_effect_because=STREAM,
    )  # fmt: skip
    poll_interval_ms: int = setting(
        2_000, TIME, "Interval of reading changes, in milliseconds", reference="pollInterval", no_effect_because=STREAM
    )
    cache_list_poll_interval_ms: int = setting(
        5_000, TIME, "Interval of checks for new caches, in milliseconds", reference="cacheListPollInterval",
        no_effect_because=STREAM,
    )  # fmt: skip

    # Backlog
    backlog_cache_name: str = setting(
        "kafka-connect-backlog", text_like(r".+", "a cache name"), "Name of the backlog cache",
        reference="backlogCacheName", no_effect_because=STREAM,
    )  # fmt: skip
    backlog_cache_backups: int = setting(
        1, whole_number(0), "Number of backups of the backlog cache", reference="backlogCacheBackups", no_effect_because=STREAM
    )
    backlog_flush_freq_ms: int = setting(
        500, whole_number(0), "Interval of writes to the backlog cache, in milliseconds; 0: each change is written at once",
        reference="backlogFlushFreq", no_effect_because=STREAM,
    )  # fmt: skip
    backlog_memory_region_name: str = setting(
        "kafka-connect", TEXT, "Data region of the backlog cache", reference="backlogMemoryRegionName", no_effect_because=STREAM
    )
    backlog_service_name: str = setting(
        "kafka-connect-backlog-service", TEXT, "Name of the backlog service", reference="backlogServiceName",
        no_effect_because=STREAM,
    )  # fmt: skip

    @property
    def streams(self) -> bool:
        """Whether the run sends changes, not a snapshot alone."""
        return super().streams or self.failover_policy == "BACKLOG"

    def fixed_in_snapshot(self) -> dict[str, Any]:
        """The settings that decide which records are sent and what they contain, JSON-ready."""
        return {name: value for name, value in self.to_dict().items() if self.known()[name].fixed_in_snapshot}

    def check_together(self, found: Findings) -> None:
        """Check patterns and transaction limits too."""
        super().check_together(found)
        for name in ("cache_whitelist", "cache_blacklist"):
            for pattern in getattr(self, name):
                with found.check():
                    self.check_pattern(name, pattern)
        with found.check("transaction_max_ms", "transaction_timeout_ms"):
            self._check_transactions()

    def _check_transactions(self) -> None:
        if self.transaction_max_ms >= self.transaction_timeout_ms:
            remedy = f"It must be below transaction_timeout_ms, which is {self.transaction_timeout_ms}"
            raise self.wrong("transaction_max_ms", "every transaction would time out", remedy)

    def warnings(self) -> list[tuple[Event, dict[str, Any]]]:
        """Events of both directions, and of changes that are not sent."""
        found = super().warnings()
        if self.failover_policy == "NONE":
            found.append((UPDATES_NOT_CAPTURED, {"reason": "failover_policy is NONE", "setting": "failover_policy"}))
        if not self.process_removals:
            found.append((REMOVALS_NOT_SENT, {"reason": "process_removals is false", "setting": "process_removals"}))
        if not self.streams and not self.load_initial_data:
            reason = "run_mode is once and load_initial_data is false"
            found.append((NOTHING_TO_SEND, {"reason": reason, "setting": "load_initial_data"}))
        return found
