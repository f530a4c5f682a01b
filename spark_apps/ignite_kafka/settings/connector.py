"""Settings that source and sink share.

Names and defaults are those of the GridGain connector; names are in snake_case and have units. docs/settings.md is
generated from the classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ..events import Event
from ..ignite.endpoint import MAX_FRAME_BYTES, IgniteEndpoint, TlsSettings
from ..sql.parser import parse_columns, parse_condition
from ..sql.tokens import Refused
from . import converters
from .base import setting
from .client_config import CLIENT_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from .error_policies import DEAD_LETTER, POLICY, POLICY_OR_NONE, STOP
from .fields import BOOLEAN, BROKERS, LINE, MAPPING, TEXT, TEXTS, TIME_ZONE, Setting, choice, text_like, whole_number
from .findings import Findings
from .ignite_addresses import ADDRESS_MAP, why_wrong
from .metrics import METRICS_HOST, METRICS_OTLP, METRICS_PORT
from .overrides import OVERRIDES, NamedSettings
from .start_warnings import warnings_of
from .topic_groups import COPIES
from .topic_names import DEFAULT_PREFIX, check_data_topic
from .transforms import PROPERTIES_BY_ALIAS, check_transforms

T = TypeVar("T")

_TLS_FILES = ("ignite_tls_ca_file", "ignite_tls_cert_file", "ignite_tls_key_file")
NAME = text_like(
    r"[a-zA-Z0-9._-]{1,180}",
    "1 to 180 of the characters a-z A-Z 0-9 . _ -, because topics and transactional ids bear it",
)
PREFIX = text_like(r"[a-zA-Z0-9._-]{0,200}", "at most 200 of the characters a-z A-Z 0-9 . _ -")
TIME = whole_number(1, 2_147_483_647)


@dataclass(frozen=True, kw_only=True)
class ConnectorSettings(NamedSettings):
    """Settings that source and sink share; for the errors see :class:`~ignite_kafka.settings.base.Settings`."""

    reads_records: ClassVar[bool] = False
    """Whether the connector is a sink, which reads records."""

    name: str = dataclasses.field(
        metadata={"setting": Setting(NAME, "Name of the connector; its offsets are stored under this name")}
    )
    run_mode: str = setting(
        "once", choice("once", "continuous"),
        "once: the run ends after the snapshot; with failover_policy BACKLOG, once every change made before its start "
        "is sent; a sink ends at the topics' end offsets of its start. continuous: the run lasts until it is stopped",
    )  # fmt: skip

    # What is copied
    cache_filter: str = setting(
        "", LINE, "Filter of entries, a Java class", reference="cacheFilter", unsupported=None,
        fixed_in_snapshot=True, overridable=True,
        instead=
            "Write its condition in Spark SQL (where), or name a Python function (filter): no Java class runs in "
            "Python workers",
    )  # fmt: skip
    where: str = setting(
        "", TEXT,
        "Condition in Spark SQL: only entries that meet it are sent or stored. Its columns are those of data source "
        "ignite: _key, fields of values, _value, _type; docs/filter.md has the supported SQL. Empty: all entries",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    filter: str = setting(
        "", text_like(r"([A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*)?", "package.module:function"),
        "Python function that gets an Arrow batch of the entries selected by where and returns a boolean for each: "
        "true sends or stores the entry. Its module must be installed, or given to Spark, on the driver and each "
        "executor",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    select: str = setting(
        "", TEXT,
        "Comma-separated fields of values to send or to store, in this order; AS renames a field, backticks quote "
        "names as in Spark SQL. A source does not decode other fields, a sink does not store them. Empty: all",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    transforms: tuple[str, ...] = setting(
        (), TEXTS,
        "Aliases of single message transforms, in the order of application; their properties are in transform_config. "
        "A source transforms before the converters write, a sink after they have read",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    transform_config: Mapping[str, Mapping[str, str]] = setting(
        {}, PROPERTIES_BY_ALIAS,
        "Properties of each transform, by their names in Kafka Connect without transforms.<alias>.: type (a class of "
        "Kafka Connect, or package.module:function), predicate, negate, and those of the class",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    predicates: tuple[str, ...] = setting(
        (), TEXTS, "Aliases of the predicates that transforms can name; their properties are in predicate_config",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    predicate_config: Mapping[str, Mapping[str, str]] = setting(
        {}, PROPERTIES_BY_ALIAS,
        "Properties of each predicate, by their names in Kafka Connect without predicates.<alias>.: type, and those of "
        "the class",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    overrides: Mapping[str, Mapping[str, Any]] = setting(
        {}, OVERRIDES,
        "Settings of single caches of a source, or topics of a sink, by regular expressions (Java's) of their whole "
        "names: the first matching expression applies. It may set what is marked in column overrides, and the other "
        "side's name: topic for a source, cache for a sink. An overridden converter starts without the properties of "
        "the other one",
        fixed_in_snapshot=True,
    )  # fmt: skip

    # Form of records
    key_converter: str = setting(
        "json", converters.CONVERTER,
        "Serialization of keys; Kafka Connect's class names are accepted. Protobuf is not available",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    value_converter: str = setting(
        "json", converters.CONVERTER,
        "Serialization of values; Kafka Connect's class names are accepted. Protobuf is not available",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    key_converter_config: Mapping[str, str] = setting(
        {}, MAPPING, "Properties of key_converter, by their names in Kafka Connect without key.converter.",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    value_converter_config: Mapping[str, str] = setting(
        {}, MAPPING, "Properties of value_converter, by their names in Kafka Connect without value.converter.",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    header_converter: str = setting(
        converters.SIMPLE, choice(*converters.HEADER_NAMES, aliases=converters.HEADER_CLASSES),
        "Serialization of headers; Kafka Connect's class names are accepted. simple reads 12 as a number, string reads "
        "every value as text",
        fixed_in_snapshot=True,
    )  # fmt: skip
    header_converter_config: Mapping[str, str] = setting(
        {}, MAPPING, "Properties of header_converter, by their names in Kafka Connect without header.converter.",
        fixed_in_snapshot=True,
    )  # fmt: skip
    decimal_format: str = setting(
        "BASE64", choice("BASE64", "NUMERIC"),
        "Form of decimals in JSON, like decimal.format of Kafka's JsonConverter; a decimal.format among a converter's "
        "own properties takes precedence",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip
    date_time_zone: str = setting(
        "UTC", TIME_ZONE,
        "Time zone of java.sql.Date and java.sql.Time: a Date is a midnight and a Time a time of day in the zone of "
        "the program that created it. Ignite does not store that zone",
        fixed_in_snapshot=True, overridable=True,
    )  # fmt: skip

    # Ignite
    ignite_addresses: tuple[str, ...] = setting(
        ("127.0.0.1:10800",), TEXTS, "host:port of the nodes' client connectors"
    )
    ignite_address_map: tuple[str, ...] = setting(
        (),
        ADDRESS_MAP,
        "Reachable addresses of nodes behind NAT or forwarded ports, as pairs announced=reachable (docs/nat.md)",
    )
    ignite_connect_timeout_ms: int = setting(5_000, TIME, "Timeout of a connection and its handshake, in milliseconds")
    ignite_request_timeout_ms: int = setting(60_000, TIME, "Timeout of a node's reply, in milliseconds")
    ignite_max_frame_bytes: int = setting(
        MAX_FRAME_BYTES, whole_number(1 << 20, 2_147_483_647),
        "Maximum size of a node's reply, in bytes; protects a worker's memory from other programs that answer on that "
        "port. The default is twice the largest page_bytes, because a page exceeds its target size if entries differ "
        "in size",
    )  # fmt: skip
    ignite_tls_enabled: bool = setting(False, BOOLEAN, "Use TLS for connections to Ignite")
    ignite_tls_ca_file: str = setting(
        "",
        LINE,
        "File of the trusted certificate authorities: PEM, or a JKS or PKCS#12 store; empty: those of the system",
    )
    ignite_tls_cert_file: str = setting(
        "", LINE, "File of the client's certificate: PEM, or a JKS or PKCS#12 store with certificate and key"
    )
    ignite_tls_key_file: str = setting(
        "", LINE, "PEM file of the client's private key; empty: the key is in ignite_tls_cert_file"
    )
    ignite_tls_verify: bool = setting(True, BOOLEAN, "Verify the node's certificate")
    ignite_tls_check_hostname: bool = setting(True, BOOLEAN, "Require that the node's certificate names its host")
    ignite_cfg: str = setting(
        "", LINE, "Spring XML file of a node", reference="igniteCfg",
        no_effect_because="the connector starts no node and reaches the cluster through ignite_addresses",
    )  # fmt: skip

    # Kafka
    bootstrap_servers: str = setting("127.0.0.1:9092", BROKERS, "host:port of the brokers")
    kafka_config: Mapping[str, str] = setting(
        {}, CLIENT_SETTINGS, "librdkafka properties of every Kafka client, such as security.protocol; no secrets"
    )
    producer_override: Mapping[str, str] = setting({}, PRODUCER_SETTINGS, "librdkafka or Kafka properties of producers")
    consumer_override: Mapping[str, str] = setting({}, CONSUMER_SETTINGS, "librdkafka or Kafka properties of consumers")
    replication_factor: int = setting(
        -1, COPIES,
        "Replication factor of topics that the connector creates, internal ones included; -1: the broker's default "
        "(KIP-158)",
        overridable=True,
    )  # fmt: skip
    internal_topic_prefix: str = setting(DEFAULT_PREFIX, NAME, "Prefix of the names of internal topics")

    allow_insecure_connections: bool = setting(
        False, BOOLEAN,
        "Allow connections to other hosts without verification by TLS, if they send no credential; event 15185 "
        "reports each. Off by default, because anyone on the network path could impersonate the cluster. Connections "
        "with credentials need --allow-insecure-connections, or the option of this name in Airflow's configuration",
    )  # fmt: skip

    # Errors
    error_handling_policy: str = setting(
        STOP, POLICY,
        "Action on an entry that cannot be sent or a record that cannot be stored. STOP_TASK: stop the run; LOG_ONLY: "
        "log and skip it; DEAD_LETTER: send it to dead_letter_topic. It also covers converters and transforms, unless "
        "conversion_error_policy is set",
        reference="errorHandlingPolicy",
    )  # fmt: skip
    conversion_error_policy: str = setting(
        "", POLICY_OR_NONE,
        "Action on entries and records that a converter or a transform refuses or that are too large, like "
        "errors.tolerance of Kafka Connect. error_handling_policy then covers only the connector's own errors: an "
        "entry without a Connect type, a record that fits no type of the cache, a missing key, a failed filter, a "
        "refused put. Empty: error_handling_policy covers all",
    )  # fmt: skip
    log_values: bool = setting(
        True, BOOLEAN,
        "Show keys and values of entries and records, or parts of them, in errors, events, headers of dead letters "
        "and the output of verify. false, for personal data: show positions only, such as cache and partition, or "
        "topic, partition and offset",
    )  # fmt: skip
    dead_letter_topic: str = setting(
        "", PREFIX,
        "Topic for entries that cannot be sent and records that cannot be stored; created with one partition if "
        "missing. A sink with policy STOP_TASK also sends the record that stops it",
    )  # fmt: skip
    dead_letter_replication_factor: int | None = setting(
        None, whole_number(1, 32_767, besides=-1, optional=True),
        "Replication factor of a dead-letter topic that the connector creates; -1: the broker's default; none: "
        "replication_factor",
    )  # fmt: skip
    events_topic: str = setting(
        "", PREFIX,
        "Topic that gets a JSON record for each event of the connector's runs, for programs that alert or archive; "
        "created with one partition if missing. No topics_regex of another sink may match it. Empty: none",
    )  # fmt: skip

    # Resources
    slots: int | None = setting(
        None, whole_number(1, 10_000, optional=True),
        "Number of transactional ids and of partitions of the offsets topic; upper limit of concurrent tasks. Fixed "
        "for the connector's life. none: two per Spark core of the first run, from 4 to 64",
    )  # fmt: skip
    tasks_max: int | None = setting(
        None, whole_number(1, optional=True), "Maximum number of Spark tasks; none: one per Spark core"
    )
    transaction_timeout_ms: int = setting(
        600_000, whole_number(1_000, 2_147_483_647),
        "Time after which the broker aborts an open transaction, in milliseconds",
    )  # fmt: skip
    retry_timeout_ms: int = setting(
        300_000, TIME,
        "Maximum time of retries of transient failures without any progress, and of waiting for brokers at a start, "
        "in milliseconds. A task without a sign of life for this time plus transaction_timeout_ms plus two minutes "
        "has failed",
    )  # fmt: skip
    runs_kept: int = setting(
        100, whole_number(1, 100_000),
        "Number of runs kept in the status topic, and of ended snapshots kept in the configs topic; older ones are "
        "removed. A run with the id of a removed snapshot begins a new snapshot. The default, 100, covers a day of "
        "runs every quarter of an hour; it is limited because each start reads the ended snapshots",
    )  # fmt: skip
    progress_interval_ms: int = setting(
        10_000, whole_number(100, 2_147_483_647), "Interval of progress reports, in milliseconds"
    )
    metrics_port: int | None = METRICS_PORT
    metrics_host: str = METRICS_HOST
    metrics_otlp: bool = METRICS_OTLP

    def check_together(self, findings: Findings) -> None:
        """Check settings that depend on one another; source and sink add their own checks."""
        for side in ("key", "value", "header"):
            with findings.check(f"{side}_converter", f"{side}_converter_config"):
                self.converter_properties(side)
        with findings.check("where"):
            self.parsed_text("where", parse_condition)
        with findings.check("select"):
            self.parsed_text("select", parse_columns)
        check_transforms(self, findings)
        with findings.check("ignite_addresses"):
            are_set = "ignite_addresses" in self.origin or self.ignite_addresses != self.defaults()["ignite_addresses"]
            if wrong := why_wrong(self.ignite_addresses, self.ignite_cfg, are_set=are_set):
                raise self.wrong("ignite_addresses", *wrong)
        for name in _TLS_FILES:
            with findings.check(name, "ignite_tls_enabled"):
                if getattr(self, name) and not self.ignite_tls_enabled:
                    raise self.wrong(
                        name, "it has no effect without TLS", "Set ignite_tls_enabled to true, or leave it out"
                    )
        with findings.check(*_TLS_FILES):
            if self.ignite_tls_key_file and not self.ignite_tls_cert_file:
                raise self.wrong(
                    "ignite_tls_key_file", "it is a key without a certificate", "Set ignite_tls_cert_file too"
                )
        with findings.check("dead_letter_topic", "error_handling_policy", "conversion_error_policy"):
            policies = {self.error_handling_policy, self.conversion_policy}
            takes_one = DEAD_LETTER in policies or (STOP in policies and self.reads_records)
            if not takes_one if self.dead_letter_topic else DEAD_LETTER in policies:
                reason = f"error_handling_policy is {self.error_handling_policy}"
                if self.conversion_error_policy:
                    reason += f" and conversion_error_policy is {self.conversion_error_policy}"
                raise self.wrong(
                    "dead_letter_topic", reason, "Set both: policy DEAD_LETTER and the topic, or none of them"
                )
        for name, topic in self.own_topics.items():
            with findings.check(name):
                check_data_topic(name, topic, self.internal_topic_prefix)
        with findings.check("dead_letter_topic", "events_topic"):
            if self.events_topic and self.events_topic == self.dead_letter_topic:
                raise self.wrong("events_topic", "it is the dead-letter topic", "Choose another topic")

    @property
    def own_topics(self) -> dict[str, str]:
        """Topics of dead letters and of events, as far as the settings name them, by setting."""
        return {name: topic for name in ("dead_letter_topic", "events_topic") if (topic := getattr(self, name))}

    def parsed_text(self, name: str, parse: Callable[[str], T]) -> T | None:
        """Parse a setting in Spark SQL; return None if the setting is empty.

        :raises SettingsError: the parser refuses the text.
        """
        try:
            return parse(getattr(self, name)) if getattr(self, name) else None
        except Refused as refused:
            raise self.wrong(name, str(refused), refused.remedy, allowed=None) from refused

    @property
    def conversion_policy(self) -> str:
        """Error policy for entries and records that a converter, a transform or Kafka's client refuses."""
        return self.conversion_error_policy or self.error_handling_policy

    @property
    def always_stops(self) -> bool:
        """Whether the first error of any kind stops the run."""
        return self.error_handling_policy == self.conversion_policy == STOP

    @property
    def streams(self) -> bool:
        """Whether the run copies changes until it is stopped."""
        return self.run_mode == "continuous"

    @property
    def ignite_endpoint(self) -> IgniteEndpoint:
        """Addresses, TLS settings and timeouts for connections to the Ignite cluster, without credentials."""
        tls = TlsSettings(
            enabled=self.ignite_tls_enabled,
            ca_file=self.ignite_tls_ca_file or None,
            cert_file=self.ignite_tls_cert_file or None,
            key_file=self.ignite_tls_key_file or None,
            verify=self.ignite_tls_verify,
            check_hostname=self.ignite_tls_check_hostname,
        )
        times = self.ignite_connect_timeout_ms, self.ignite_request_timeout_ms, self.retry_timeout_ms
        return IgniteEndpoint(self.ignite_addresses, tls, *times, self.ignite_max_frame_bytes, self.ignite_address_map)

    @property
    def kafka_common(self) -> dict[str, str]:
        """Properties of librdkafka for every Kafka client of the connector, without secrets."""
        return {**self.kafka_config, "bootstrap.servers": self.bootstrap_servers}

    @property
    def dead_letter_copies(self) -> int:
        """Replication factor of a new dead-letter topic; -1: the broker's default."""
        copies = self.dead_letter_replication_factor
        return self.replication_factor if copies is None else copies

    def warnings(self) -> list[tuple[Event, dict[str, Any]]]:
        """Return the events to log at a start: settings without effect, and choices that can lose data."""
        return warnings_of(self)

    def converter_properties(self, side: str) -> dict[str, Any]:
        """Return every property of the converter of ``key``, ``value`` or ``header`` with its canonical value.

        :raises SettingsError: a property is unknown or has a wrong value.
        :raises NotAvailableYet: a value needs a feature that this version does not have.
        """
        setting = f"{side}_converter_config"
        name = getattr(self, f"{side}_converter")
        properties = converters.parse_properties(
            setting, name, getattr(self, setting), self.origin.get(setting), sink=self.reads_records
        )
        if "decimal.format" in properties:
            properties["decimal.format"] = properties["decimal.format"] or self.decimal_format
        return properties
