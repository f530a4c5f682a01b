"""Settings of a source connector (Ignite to Kafka); :mod:`~ignite_kafka.settings.connector` has what both directions share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..events import NOTHING_TO_SEND, REMOVALS_NOT_SENT, UPDATES_NOT_CAPTURED, Event
from . import validation as setting_checks
from .connector import PREFIX, TIME, ConnectorSettings, setting
from .fields import BOOLEAN, MAPPING, TEXT, TEXTS, choice, text_like, whole_number
from .findings import Findings

_SCHEMAS = "schemas are not written, and are resolved once a type"


@dataclass(frozen=True, kw_only=True)
class SourceSettings(ConnectorSettings):
    """All settings of one source connector."""

    all_when_absent: ClassVar[tuple[str, ...]] = ("cache_whitelist",)

    # What is copied
    cache_whitelist: tuple[str, ...] = setting(
        (), TEXTS, "Regular expressions; caches whose whole name matches one are copied, all when not given. Analysed before the blacklist",
        reference="cacheWhitelist", shapes=True,
    )  # fmt: skip
    cache_blacklist: tuple[str, ...] = setting(
        (), TEXTS, "Regular expressions; caches whose whole name matches one are left out", reference="cacheBlacklist", shapes=True
    )
    topic_prefix: str = setting("", PREFIX, "A topic's name is this and the cache's name", reference="topicPrefix", shapes=True)
    load_initial_data: bool = setting(
        True, BOOLEAN, "Send the entries that are in the caches at the start", reference="shallLoadInitialData", shapes=True
    )
    process_removals: bool = setting(
        False, BOOLEAN, "Send a record with a null value for a removed key", reference="shallProcessRemovals", shapes=True
    )
    failover_policy: str = setting(
        "NONE", choice("NONE", "FULL_SNAPSHOT", "BACKLOG"),
        "After a stop: NONE loses the changes of the meantime, FULL_SNAPSHOT sends all entries again, BACKLOG resumes",
        reference="failoverPolicy",
    )  # fmt: skip

    # What records look like
    enum_policy: str = setting(
        "SHORT_NAME", choice("ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME"),
        "Form of enums: ordinal, BAR, Foo.BAR or org.acme.Foo.BAR", reference="enumPolicy", shapes=True,
    )  # fmt: skip
    field_nullability_policy: str = setting(
        "LAZY", choice("LAZY", "EAGER"),
        "Whether fields get their schema before their first value that is not null. The reference leaves null fields out under LAZY, its "
        "default; this version writes them as null under LAZY, too",
        reference="fieldNullabilityPolicy", later=("EAGER",), shapes=True,
    )  # fmt: skip
    coinciding_keys: str = setting(
        "EVENT", choice("EVENT", "REFUSE"),
        "What happens when keys of a cache are of two types that can give the same Kafka key, as byte 1 and long 1 both give 1 in JSON: "
        "event 15160, or the run stops. The reference writes such keys silently, so the default stops no run; docs/types.md says what is "
        "not noticed",
    )  # fmt: skip
    is_schemaless: bool = setting(False, BOOLEAN, "Make no schemas", reference="isSchemaless", idle=_SCHEMAS)
    is_schema_dynamic: bool = setting(False, BOOLEAN, "Detect that a schema changed", reference="isSchemaDynamic", idle="it is always done")
    enable_schema_cache: bool = setting(False, BOOLEAN, "Keep resolved schemas", reference="enableSchemaCache", idle=_SCHEMAS)
    schema_cache_max_size: int = setting(256, whole_number(1), "Most schemas that are kept", reference="schemaCacheMaxSize", idle=_SCHEMAS)
    schema_cache_ttl_ms: int = setting(
        -1,
        whole_number(0, besides=-1),
        "Time after which an unused schema is forgotten; -1: never",
        reference="schemaCacheTtl",
        idle=_SCHEMAS,
    )

    # Kafka
    topic_partitions: int = setting(
        -1, whole_number(1, 1_000_000, besides=-1), "Partitions of a topic that is made; -1: the broker's default (KIP-158)"
    )
    topic_config: Mapping[str, str] = setting({}, MAPPING, "Settings of a data topic that is made, such as cleanup.policy (KIP-158)")

    # How the work is done
    transaction_max_ms: int = setting(30_000, TIME, "A transaction is committed at the end of the unit that passes this time")
    transaction_max_records: int = setting(500_000, whole_number(1), "... this count of records")
    transaction_max_bytes: int = setting(256 << 20, whole_number(1), "... these bytes of keys and values")
    page_bytes: int = setting(4 << 20, whole_number(1 << 10, 256 << 20), "Bytes of a scan page that is aimed at")
    batch_size: int = setting(
        10_000, whole_number(1), "Most entries in one batch to Kafka", reference="batchSize", idle="the transaction_max_* settings bound it"
    )
    batch_bytes: int = setting(
        16 << 20, whole_number(1 << 10, 256 << 20),
        "Bytes of changes that a task sends in one batch, and beside them of entries that were there before", idle=setting_checks.STREAM,
    )  # fmt: skip
    max_records_per_second: int | None = setting(
        None, whole_number(1, optional=True),
        "Most records that all tasks of a stream send in a second; entries that were there before count, too", idle=setting_checks.STREAM,
    )  # fmt: skip
    poll_interval_ms: int = setting(2_000, TIME, "Time between two reads of changes", reference="pollInterval", idle=setting_checks.STREAM)
    cache_list_poll_interval_ms: int = setting(
        5_000, TIME, "Time between two looks for new caches", reference="cacheListPollInterval", idle=setting_checks.STREAM
    )

    # Backlog
    backlog_cache_name: str = setting(
        "kafka-connect-backlog",
        text_like(r".+", "a cache name"),
        "Name of the backlog cache",
        reference="backlogCacheName",
        idle=setting_checks.STREAM,
    )
    backlog_cache_backups: int = setting(
        1, whole_number(0), "Backups of the backlog cache", reference="backlogCacheBackups", idle=setting_checks.STREAM
    )
    backlog_flush_freq_ms: int = setting(
        500,
        whole_number(0),
        "Time between two writes to the backlog cache; 0: at once",
        reference="backlogFlushFreq",
        idle=setting_checks.STREAM,
    )
    backlog_memory_region_name: str = setting(
        "kafka-connect", TEXT, "Data region of the backlog cache", reference="backlogMemoryRegionName", idle=setting_checks.STREAM
    )
    backlog_service_name: str = setting(
        "kafka-connect-backlog-service", TEXT, "Name of the backlog service", reference="backlogServiceName", idle=setting_checks.STREAM
    )

    @property
    def streams(self) -> bool:
        """Whether changes are captured and sent, not a snapshot alone."""
        return super().streams or self.failover_policy == "BACKLOG"

    def shape(self) -> dict[str, Any]:
        """The settings that decide which records are sent and what is in them: fixed under a snapshot id."""
        return {name: value for name, value in self.to_dict().items() if self.known()[name].shapes}

    def check_together(self, found: Findings) -> None:
        super().check_together(found)
        for name in ("cache_whitelist", "cache_blacklist"):
            for pattern in getattr(self, name):
                with found.check():
                    setting_checks.check_pattern(self, name, pattern)
        with found.check("transaction_max_ms", "transaction_timeout_ms"):
            self._check_transactions()

    def _check_transactions(self) -> None:
        if self.transaction_max_ms >= self.transaction_timeout_ms:
            remedy = f"It must be below transaction_timeout_ms, which is {self.transaction_timeout_ms}"
            raise setting_checks.wrong(self, "transaction_max_ms", "every transaction would time out", remedy)

    def notices(self) -> list[tuple[Event, dict[str, Any]]]:
        found = super().notices()
        if self.failover_policy == "NONE":
            found.append((UPDATES_NOT_CAPTURED, {"reason": "failover_policy is NONE", "setting": "failover_policy"}))
        if not self.process_removals:
            found.append((REMOVALS_NOT_SENT, {"reason": "process_removals is false", "setting": "process_removals"}))
        if not self.streams and not self.load_initial_data:
            reason = "run_mode is once and load_initial_data is false"
            found.append((NOTHING_TO_SEND, {"reason": reason, "setting": "load_initial_data"}))
        return found
