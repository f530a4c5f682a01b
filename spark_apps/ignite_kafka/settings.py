"""Settings of a source connector (Ignite to Kafka): frozen, and checked once when they are built.

Names are the reference's in snake_case, with units where it has none; defaults are the reference's. docs/settings.md is made from this
class. Secrets are no settings: see `secrets.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import setting_checks
from .errors import SettingsError
from .events import emit
from .kafka_names import CLIENT_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from .secrets import is_secret
from .setting_kinds import BOOLEAN, MAPPING, OBJECTS, TEXT, TEXTS, Kind, Setting, choice, text_like, whole_number
from .thin.connection import IgniteEndpoint, TlsSettings
from .unknown import did_you_mean

_JAVA_CONVERTERS = {
    "org.apache.kafka.connect.json.JsonConverter": "json",
    "JsonConverter": "json",
    "org.gridgain.kafka.IgniteBinaryConverter": "ignite-binary",
    "IgniteBinaryConverter": "ignite-binary",
    "io.confluent.connect.avro.AvroConverter": "avro",
    "org.apache.kafka.connect.storage.StringConverter": "string",
    "org.apache.kafka.connect.converters.ByteArrayConverter": "bytes",
}
_CONVERTER = choice("json", "ignite-binary", "avro", "string", "bytes", aliases=_JAVA_CONVERTERS)
_LATER_CONVERTERS = ("avro", "string", "bytes")
_NAME = text_like(r"[a-zA-Z0-9._-]{1,180}", "1 to 180 of the characters a-z A-Z 0-9 . _ -, because topics and transactional ids bear it")
_PREFIX = text_like(r"[a-zA-Z0-9._-]{0,200}", "at most 200 of the characters a-z A-Z 0-9 . _ -")
_TIME = whole_number(1, 2_147_483_647)
_COPIES = whole_number(1, 32_767, besides=-1)
_SCHEMAS = "schemas are not written, and are resolved once a type"


def _of(default: object, kind: Kind, help: str, **more: Any) -> Any:
    metadata = {"setting": Setting(kind, help, **more)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _default(item: dataclasses.Field[Any]) -> Any:
    """A field's default; a setting that must be given has an empty one."""
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return "" if item.default is dataclasses.MISSING else item.default


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """All settings of one source connector.

    :param origin: where settings were set (name -> "file, line 3", "command line"), for messages; not part of the settings' value.
    :raises SettingsError: a value is not allowed or contradicts another; it names setting, value, what is allowed and where it was set.
    :raises NotAvailableYet: a value whose feature this version does not have.
    """

    name: str = dataclasses.field(metadata={"setting": Setting(_NAME, "Name of the connector: its offsets, slots and snapshots go by it")})

    # What is copied
    cache_whitelist: tuple[str, ...] = _of(
        (), TEXTS, "Regular expressions; caches whose whole name matches one are copied, all when empty. Analysed before the blacklist",
        reference="cacheWhitelist", shapes=True,
    )  # fmt: skip
    cache_blacklist: tuple[str, ...] = _of(
        (), TEXTS, "Regular expressions; caches whose whole name matches one are left out", reference="cacheBlacklist", shapes=True
    )
    topic_prefix: str = _of("", _PREFIX, "A topic's name is this and the cache's name", reference="topicPrefix", shapes=True)
    load_initial_data: bool = _of(
        True, BOOLEAN, "Send the entries that are in the caches at the start", reference="shallLoadInitialData", shapes=True
    )
    process_removals: bool = _of(
        False, BOOLEAN, "Send a record with a null value for a removed key", reference="shallProcessRemovals", shapes=True
    )
    failover_policy: str = _of(
        "NONE", choice("NONE", "FULL_SNAPSHOT", "BACKLOG"),
        "After a stop: NONE loses the changes of the meantime, FULL_SNAPSHOT sends all entries again, BACKLOG resumes",
        reference="failoverPolicy",
    )  # fmt: skip
    run_mode: str = _of(
        "once", choice("once", "continuous"),
        "once ends after the snapshot, or with failover_policy BACKLOG once all is sent that had changed before; continuous goes on",
    )  # fmt: skip
    cache_filter: str = _of("", TEXT, "A filter of entries", reference="cacheFilter", later=None, shapes=True)
    where: str = _of("", TEXT, "A condition in Spark SQL that entries must meet", later=None, shapes=True)
    select: str = _of("", TEXT, "Columns in Spark SQL that records get", later=None, shapes=True)
    transforms: tuple[str, ...] = _of((), TEXTS, "Single message transforms", later=None, shapes=True)
    overrides: Mapping[str, Any] = _of({}, OBJECTS, "Settings for caches or topics whose name matches", later=None, shapes=True)

    # What records look like
    key_converter: str = _of(
        "json", _CONVERTER, "How keys become bytes; Connect's class names are understood", later=_LATER_CONVERTERS, shapes=True
    )
    value_converter: str = _of(
        "json", _CONVERTER, "How values become bytes; must be that of the keys", later=_LATER_CONVERTERS, shapes=True
    )
    key_converter_schemas_enable: bool = _of(False, BOOLEAN, "Keys carry their schema", later=(True,), shapes=True)
    value_converter_schemas_enable: bool = _of(False, BOOLEAN, "Values carry their schema", later=(True,), shapes=True)
    decimal_format: str = _of(
        "BASE64", choice("BASE64", "NUMERIC"), "Form of decimals in JSON, as decimal.format of Kafka's JsonConverter", shapes=True
    )
    enum_policy: str = _of(
        "SHORT_NAME", choice("ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME"),
        "Form of enums: ordinal, BAR, Foo.BAR or org.acme.Foo.BAR", reference="enumPolicy", shapes=True,
    )  # fmt: skip
    field_nullability_policy: str = _of(
        "LAZY", choice("LAZY", "EAGER"), "Schema of fields that are null", reference="fieldNullabilityPolicy", later=("EAGER",), shapes=True
    )
    is_schemaless: bool = _of(False, BOOLEAN, "Make no schemas", reference="isSchemaless", idle=_SCHEMAS)
    is_schema_dynamic: bool = _of(False, BOOLEAN, "Detect that a schema changed", reference="isSchemaDynamic", idle="it is always done")
    enable_schema_cache: bool = _of(False, BOOLEAN, "Keep resolved schemas", reference="enableSchemaCache", idle=_SCHEMAS)
    schema_cache_max_size: int = _of(256, whole_number(1), "Most schemas that are kept", reference="schemaCacheMaxSize", idle=_SCHEMAS)
    schema_cache_ttl_ms: int = _of(
        -1,
        whole_number(0, besides=-1),
        "Time after which an unused schema is forgotten; -1: never",
        reference="schemaCacheTtl",
        idle=_SCHEMAS,
    )

    # Errors
    error_handling_policy: str = _of(
        "STOP_TASK", choice("LOG_ONLY", "STOP_TASK"), "Whether an entry that cannot be sent is skipped or stops the run",
        reference="errorHandlingPolicy", later=("LOG_ONLY",),
    )  # fmt: skip
    dead_letter_topic: str = _of("", _PREFIX, "Topic for entries that cannot be sent", later=None)
    retry_timeout_ms: int = _of(300_000, _TIME, "How long failures that may pass are tried again without any progress")

    # Ignite
    ignite_addresses: tuple[str, ...] = _of(("127.0.0.1:10800",), TEXTS, "host:port of the nodes' client connectors")
    ignite_connect_timeout_ms: int = _of(5_000, _TIME, "How long to wait for a connection and its handshake")
    ignite_request_timeout_ms: int = _of(60_000, _TIME, "How long to wait for a node's reply")
    ignite_tls_enabled: bool = _of(False, BOOLEAN, "Use TLS")
    ignite_tls_ca_file: str = _of("", TEXT, "PEM file with the authorities to trust; the system's when empty")
    ignite_tls_cert_file: str = _of("", TEXT, "PEM file with the client's certificate")
    ignite_tls_key_file: str = _of("", TEXT, "PEM file with the client's key; in ignite_tls_cert_file when empty")
    ignite_tls_verify: bool = _of(True, BOOLEAN, "Verify the node's certificate")
    ignite_tls_check_hostname: bool = _of(True, BOOLEAN, "The certificate must be for the node's host name")
    ignite_cfg: str = _of(
        "", TEXT, "The Spring XML file of a node", reference="igniteCfg",
        idle="no node is started here, so the file is not read: the cluster is reached through ignite_addresses",
    )  # fmt: skip

    # Kafka
    bootstrap_servers: str = _of("127.0.0.1:9092", text_like(r"\S+", "host:port, with commas between"), "host:port of brokers")
    kafka_config: Mapping[str, str] = _of(
        {}, CLIENT_SETTINGS, "librdkafka settings of every Kafka client, such as security.protocol; no secrets"
    )
    producer_override: Mapping[str, str] = _of({}, PRODUCER_SETTINGS, "librdkafka or Kafka settings of producers")
    consumer_override: Mapping[str, str] = _of({}, CONSUMER_SETTINGS, "librdkafka or Kafka settings of consumers")
    topic_partitions: int = _of(
        -1, whole_number(1, 1_000_000, besides=-1), "Partitions of a topic that is made; -1: the broker's default (KIP-158)"
    )
    replication_factor: int = _of(-1, _COPIES, "Replicas of a topic that is made, internal ones too; -1: the broker's default (KIP-158)")
    topic_config: Mapping[str, str] = _of({}, MAPPING, "Settings of a data topic that is made, such as cleanup.policy (KIP-158)")
    internal_topic_prefix: str = _of("ignite-kafka", _NAME, "Names of the internal topics begin with it")

    # How the work is done
    slots: int = _of(16, whole_number(1, 10_000), "Transactional ids, and partitions of the offsets topic; fixed for a connector's life")
    tasks_max: int | None = _of(None, whole_number(1, optional=True), "Most Spark tasks; none: as many as Spark has cores")
    transaction_timeout_ms: int = _of(600_000, whole_number(1_000, 2_147_483_647), "The broker aborts a transaction that is open longer")
    transaction_max_ms: int = _of(30_000, _TIME, "A transaction is committed at the end of the unit that passes this time")
    transaction_max_records: int = _of(500_000, whole_number(1), "... this count of records")
    transaction_max_bytes: int = _of(256 << 20, whole_number(1), "... these bytes of keys and values")
    page_bytes: int = _of(4 << 20, whole_number(1 << 10, 1 << 30), "Bytes of a scan page that is aimed at")
    progress_interval_ms: int = _of(10_000, whole_number(100, 2_147_483_647), "Time between two reports of progress")
    batch_size: int = _of(
        10_000, whole_number(1), "Most entries in one batch to Kafka", reference="batchSize", idle="the transaction_max_* settings bound it"
    )
    batch_bytes: int = _of(
        16 << 20, whole_number(1 << 10, 1 << 30),
        "Bytes of changes that a task sends in one batch, and beside them of entries that were there before", idle=setting_checks.STREAM,
    )  # fmt: skip
    poll_interval_ms: int = _of(2_000, _TIME, "Time between two reads of changes", reference="pollInterval", idle=setting_checks.STREAM)
    cache_list_poll_interval_ms: int = _of(
        5_000, _TIME, "Time between two looks for new caches", reference="cacheListPollInterval", idle=setting_checks.STREAM
    )

    # Backlog
    backlog_cache_name: str = _of(
        "kafka-connect-backlog",
        text_like(r".+", "a cache name"),
        "Name of the backlog cache",
        reference="backlogCacheName",
        idle=setting_checks.STREAM,
    )
    backlog_cache_backups: int = _of(
        1, whole_number(0), "Backups of the backlog cache", reference="backlogCacheBackups", idle=setting_checks.STREAM
    )
    backlog_flush_freq_ms: int = _of(
        500,
        whole_number(0),
        "Time between two writes to the backlog cache; 0: at once",
        reference="backlogFlushFreq",
        idle=setting_checks.STREAM,
    )
    backlog_memory_region_name: str = _of(
        "kafka-connect", TEXT, "Data region of the backlog cache", reference="backlogMemoryRegionName", idle=setting_checks.STREAM
    )
    backlog_service_name: str = _of(
        "kafka-connect-backlog-service", TEXT, "Name of the backlog service", reference="backlogServiceName", idle=setting_checks.STREAM
    )

    origin: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        setting_checks.check(self, SETTINGS, DEFAULTS)

    @staticmethod
    def kind_of(name: str) -> Kind:
        """What a setting's value may be."""
        return SETTINGS[name].kind

    @property
    def streams(self) -> bool:
        """Whether changes are captured and sent, not a snapshot alone."""
        return self.run_mode == "continuous" or self.failover_policy == "BACKLOG"

    @property
    def ignite_endpoint(self) -> IgniteEndpoint:
        """Where the cluster is; without user and password."""
        tls = TlsSettings(
            enabled=self.ignite_tls_enabled,
            ca_file=self.ignite_tls_ca_file or None,
            cert_file=self.ignite_tls_cert_file or None,
            key_file=self.ignite_tls_key_file or None,
            verify=self.ignite_tls_verify,
            check_hostname=self.ignite_tls_check_hostname,
        )
        return IgniteEndpoint(self.ignite_addresses, tls, self.ignite_connect_timeout_ms, self.ignite_request_timeout_ms)

    @property
    def kafka_common(self) -> dict[str, str]:
        """librdkafka settings of every client; without secrets."""
        return {**self.kafka_config, "bootstrap.servers": self.bootstrap_servers}

    def to_dict(self) -> dict[str, Any]:
        """Every setting, JSON-ready; :meth:`from_dict` reads it back."""
        return {name: list(value) if isinstance(value := getattr(self, name), tuple) else _copied(value) for name in SETTINGS}

    @staticmethod
    def from_dict(values: Mapping[str, Any], origin: str | Mapping[str, str] = "settings") -> SourceSettings:
        """Settings from JSON values or texts.

        :param origin: where they were set: one place for all, or a place by name.
        :raises SettingsError: see the class; also an unknown name, with the closest known one, and a secret, with its place.
        """
        places = dict.fromkeys(values, origin) if isinstance(origin, str) else dict(origin)
        for name in values:
            refuse_secret(name, places.get(name))
            if name not in SETTINGS:
                hint = did_you_mean(name, SETTINGS)
                raise SettingsError("there is no such setting", hint or "See docs/settings.md", setting=name, set_in=places.get(name))
        if "name" not in values:
            raise SettingsError("name is missing", "Give the connector a name: its offsets and snapshots go by it", setting="name")
        return SourceSettings(**{name: _parsed(name, value, places) for name, value in values.items()}, origin=places)

    def shape(self) -> dict[str, Any]:
        """The settings that decide which records are sent and what is in them: fixed under a snapshot id."""
        return {name: value for name, value in self.to_dict().items() if SETTINGS[name].shapes}

    def emit_notices(self) -> None:
        """Log what a start should say: settings without effect, and choices that can lose data, with what prevents it."""
        for event, fields in setting_checks.notices(self, SETTINGS, DEFAULTS):
            emit(event, **fields)


SETTINGS: dict[str, Setting] = {
    item.name: item.metadata["setting"] for item in dataclasses.fields(SourceSettings) if "setting" in item.metadata
}
DEFAULTS: dict[str, Any] = {item.name: _default(item) for item in dataclasses.fields(SourceSettings) if item.name in SETTINGS}


def refuse_secret(name: str, origin: str | None) -> None:
    """Raise SettingsError where a setting's name is that of a secret; its value is not shown."""
    if name not in SETTINGS and is_secret(name):
        raise SettingsError(
            "a secret is no setting",
            "Put it into the secrets file (--secrets) or into the Airflow connection, where no plan, log or command line shows it",
            setting=name,
            set_in=origin,
        )


def _parsed(name: str, value: object, places: Mapping[str, str]) -> Any:
    kind = SETTINGS[name].kind
    try:
        return kind.parse(value)
    except ValueError as error:
        shown = setting_checks.shown(value) if kind.shown else None
        raise SettingsError(
            f"{name} is wrong: {error}", setting=name, value=shown, allowed=kind.allowed, set_in=places.get(name)
        ) from error


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
