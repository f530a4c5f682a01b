"""What settings of both directions are: frozen, checked once when they are built, read from texts or JSON values.

Names are the reference's in snake_case, with units where it has none; defaults are the reference's. docs/settings.md is made from the
classes. Secrets are no settings: see `secrets.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

from ..errors import IgniteKafkaError, SettingsError
from ..events import BAD_RECORDS_SKIPPED, Event, emit
from ..ignite.connection import MAX_FRAME_BYTES, IgniteEndpoint, TlsSettings
from . import validation as setting_checks
from .client_config import CLIENT_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from .fields import BOOLEAN, BROKERS, OBJECTS, TEXT, TEXTS, Kind, Setting, choice, text_like, whole_number
from .findings import Findings
from .secrets import is_secret
from .suggestions import did_you_mean

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
NAME = text_like(r"[a-zA-Z0-9._-]{1,180}", "1 to 180 of the characters a-z A-Z 0-9 . _ -, because topics and transactional ids bear it")
PREFIX = text_like(r"[a-zA-Z0-9._-]{0,200}", "at most 200 of the characters a-z A-Z 0-9 . _ -")
TIME = whole_number(1, 2_147_483_647)
_COPIES = whole_number(1, 32_767, besides=-1)
STOP, LOG_ONLY, DEAD_LETTER = "STOP_TASK", "LOG_ONLY", "DEAD_LETTER"


def setting(default: object, kind: Kind, help: str, **more: Any) -> Any:
    """A field that is a setting."""
    metadata = {"setting": Setting(kind, help, **more)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _default(item: dataclasses.Field[Any]) -> Any:
    """A field's default; a setting that must be given has an empty one."""
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return "" if item.default is dataclasses.MISSING else item.default


@cache
def _known(settings: type[Any]) -> Mapping[str, Setting]:
    return {item.name: item.metadata["setting"] for item in dataclasses.fields(settings) if "setting" in item.metadata}


@cache
def _defaults(settings: type[Any]) -> Mapping[str, Any]:
    return {item.name: _default(item) for item in dataclasses.fields(settings) if "setting" in item.metadata}


@dataclass(frozen=True, kw_only=True)
class ConnectorSettings:
    """The settings that both directions have.

    :param origin: where settings were set (name -> "file, line 3", "command line"), for messages; not part of the settings' value.
    :raises SettingsError: a value is not allowed or contradicts another; it names setting, value, what is allowed and where it was set.
    :raises NotAvailableYet: a value whose feature this version does not have.
    """

    all_when_absent: ClassVar[tuple[str, ...]] = ()
    """Lists that choose everything when they are not given."""

    name: str = dataclasses.field(metadata={"setting": Setting(NAME, "Name of the connector: its offsets and slots go by it")})
    run_mode: str = setting(
        "once",
        choice("once", "continuous"),
        "once ends by itself: after the snapshot, with failover_policy BACKLOG when all is sent that had changed before, and a sink where "
        "the topics ended when it began; continuous goes on until it is stopped",
    )

    # What is moved
    cache_filter: str = setting("", TEXT, "A filter of entries", reference="cacheFilter", later=None, shapes=True)
    where: str = setting("", TEXT, "A condition in Spark SQL that entries must meet", later=None, shapes=True)
    select: str = setting("", TEXT, "Columns in Spark SQL that records get", later=None, shapes=True)
    transforms: tuple[str, ...] = setting((), TEXTS, "Single message transforms", later=None, shapes=True)
    overrides: Mapping[str, Any] = setting({}, OBJECTS, "Settings for caches or topics whose name matches", later=None, shapes=True)

    # What records look like
    key_converter: str = setting(
        "json", _CONVERTER, "How keys become bytes; Connect's class names are understood", later=_LATER_CONVERTERS, shapes=True
    )
    value_converter: str = setting(
        "json", _CONVERTER, "How values become bytes; must be that of the keys", later=_LATER_CONVERTERS, shapes=True
    )
    key_converter_schemas_enable: bool = setting(False, BOOLEAN, "Keys carry their schema", later=(True,), shapes=True)
    value_converter_schemas_enable: bool = setting(False, BOOLEAN, "Values carry their schema", later=(True,), shapes=True)
    decimal_format: str = setting(
        "BASE64", choice("BASE64", "NUMERIC"), "Form of decimals in JSON, as decimal.format of Kafka's JsonConverter", shapes=True
    )

    # Ignite
    ignite_addresses: tuple[str, ...] = setting(("127.0.0.1:10800",), TEXTS, "host:port of the nodes' client connectors")
    ignite_connect_timeout_ms: int = setting(5_000, TIME, "How long to wait for a connection and its handshake")
    ignite_request_timeout_ms: int = setting(60_000, TIME, "How long to wait for a node's reply")
    ignite_max_frame_bytes: int = setting(
        MAX_FRAME_BYTES, whole_number(1 << 20, 2_147_483_647),
        "Bytes of the longest answer that is taken from a node, so that nothing that answers on its port can fill the memory of a worker. "
        "The default is twice the largest page_bytes: a page may be longer where entries differ in size",
    )  # fmt: skip
    ignite_tls_enabled: bool = setting(False, BOOLEAN, "Use TLS")
    ignite_tls_ca_file: str = setting("", TEXT, "PEM file with the authorities to trust; the system's when empty")
    ignite_tls_cert_file: str = setting("", TEXT, "PEM file with the client's certificate")
    ignite_tls_key_file: str = setting("", TEXT, "PEM file with the client's key; in ignite_tls_cert_file when empty")
    ignite_tls_verify: bool = setting(True, BOOLEAN, "Verify the node's certificate")
    ignite_tls_check_hostname: bool = setting(True, BOOLEAN, "The certificate must be for the node's host name")
    ignite_cfg: str = setting(
        "", TEXT, "The Spring XML file of a node", reference="igniteCfg",
        idle="no node is started here, so the file is not read: the cluster is reached through ignite_addresses",
    )  # fmt: skip

    # Kafka
    bootstrap_servers: str = setting("127.0.0.1:9092", BROKERS, "host:port of brokers")
    kafka_config: Mapping[str, str] = setting(
        {}, CLIENT_SETTINGS, "librdkafka settings of every Kafka client, such as security.protocol; no secrets"
    )
    producer_override: Mapping[str, str] = setting({}, PRODUCER_SETTINGS, "librdkafka or Kafka settings of producers")
    consumer_override: Mapping[str, str] = setting({}, CONSUMER_SETTINGS, "librdkafka or Kafka settings of consumers")
    replication_factor: int = setting(
        -1, _COPIES, "Replicas of a topic that is made, internal ones too; -1: the broker's default (KIP-158)"
    )
    internal_topic_prefix: str = setting("ignite-kafka", NAME, "Names of the internal topics begin with it")

    allow_insecure_connections: bool = setting(
        False,
        BOOLEAN,
        "Connect to other hosts also where credentials travel without TLS, or TLS does not verify the other side; event 15185 reports "
        "each. Refused by default, because whoever is between could read the credentials or answer in the cluster's place",
    )

    # Errors
    error_handling_policy: str = setting(
        STOP, choice(STOP, LOG_ONLY, DEAD_LETTER, aliases={"STOP": STOP}),
        "What an entry that cannot be sent, or a record that cannot be stored, does: stop the run, be passed over, or go to "
        "dead_letter_topic",
        reference="errorHandlingPolicy",
    )  # fmt: skip
    log_values: bool = setting(
        True,
        BOOLEAN,
        "Errors, events, headers of dead letters and the output of verify show keys and values of entries and records, or parts of them. "
        "False shows only where they are, such as cache and partition, or topic, partition and offset: for personal data",
    )
    dead_letter_topic: str = setting("", PREFIX, "Topic for what cannot be sent or stored; made with one partition where it is missing")

    # How the work is done
    slots: int | None = setting(
        None,
        whole_number(1, 10_000, optional=True),
        "Transactional ids, and partitions of the offsets topic; more tasks than slots never run. Fixed for a connector's life; none: "
        "two a Spark core of its first run, from 4 to 64",
    )
    tasks_max: int | None = setting(None, whole_number(1, optional=True), "Most Spark tasks; none: as many as Spark has cores")
    transaction_timeout_ms: int = setting(
        600_000, whole_number(1_000, 2_147_483_647), "The broker aborts a transaction that is open longer"
    )
    retry_timeout_ms: int = setting(
        300_000, TIME, "How long failures that may pass are tried again without any progress; also how long a start waits for brokers"
    )
    runs_kept: int = setting(
        100, whole_number(1, 100_000),
        "Runs in the status topic, and ended snapshots in the configs topic, that are kept of the connector; older ones are removed. An id "
        "that is forgotten begins a new snapshot. 100: a day of runs every quarter of an hour, and each start reads the ended snapshots",
    )  # fmt: skip
    progress_interval_ms: int = setting(10_000, whole_number(100, 2_147_483_647), "Time between two reports of progress")

    origin: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        found = Findings()
        self.check(found)
        found.raise_all()

    def check(self, found: Findings) -> None:
        """Check each setting, then what they must hold together."""
        setting_checks.check(self, found)
        self.check_together(found)

    def check_together(self, found: Findings) -> None:
        """Check what settings must hold together; a direction adds its own."""
        with found.check("dead_letter_topic", "error_handling_policy"):
            self._check_dead_letters()

    def _check_dead_letters(self) -> None:
        if (self.error_handling_policy == DEAD_LETTER) != bool(self.dead_letter_topic):
            reason = f"error_handling_policy is {self.error_handling_policy}"
            raise setting_checks.wrong(self, "dead_letter_topic", reason, "Set both: policy DEAD_LETTER and the topic, or none of them")

    @classmethod
    def known(cls) -> Mapping[str, Setting]:
        """What is known of each setting, by name, in the order of the fields."""
        return _known(cls)  # type: ignore[arg-type]  # mypy takes the __hash__ of instances for the class's

    @classmethod
    def defaults(cls) -> Mapping[str, Any]:
        """The default of each setting."""
        return _defaults(cls)  # type: ignore[arg-type]

    @classmethod
    def kind_of(cls, name: str) -> Kind:
        """What a setting's value may be."""
        return cls.known()[name].kind

    @property
    def streams(self) -> bool:
        """Whether a run goes on until it is stopped, or catches up with changes: SIGTERM ends it after the batch in hand."""
        return self.run_mode == "continuous"

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
        times = self.ignite_connect_timeout_ms, self.ignite_request_timeout_ms, self.retry_timeout_ms
        return IgniteEndpoint(self.ignite_addresses, tls, *times, self.ignite_max_frame_bytes)

    @property
    def kafka_common(self) -> dict[str, str]:
        """librdkafka settings of every client; without secrets."""
        return {**self.kafka_config, "bootstrap.servers": self.bootstrap_servers}

    def to_dict(self) -> dict[str, Any]:
        """Every setting, JSON-ready; :meth:`from_dict` reads it back."""
        return {name: list(value) if isinstance(value := getattr(self, name), tuple) else _copied(value) for name in self.known()}

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], origin: str | Mapping[str, str] = "settings", before: Iterable[IgniteKafkaError] = ()
    ) -> Self:
        """Settings from JSON values or texts.

        :param origin: where they were set: one place for all, or a place by name.
        :param before: what was found wrong where they come from; it is raised with what is found here.
        :raises SettingsError: see the class; also an unknown name, with the closest known one, and a secret, with its place.
        """
        places = dict.fromkeys(values, origin) if isinstance(origin, str) else dict(origin)
        found = Findings(before)
        parsed: dict[str, Any] = {}
        for name, value in values.items():
            with found.check():
                cls.refuse_secret(name, places.get(name))
                if name not in cls.known():
                    hint = did_you_mean(name, cls.known())
                    raise SettingsError("there is no such setting", hint or "See docs/settings.md", setting=name, set_in=places.get(name))
                parsed[name] = cls.parsed(name, value, places)
        if "name" not in values:
            with found.check():
                raise SettingsError("name is missing", "Give the connector a name: its offsets go by it", setting="name")
        if found.errors:
            cls._unchecked(parsed, places).check(found)
        found.raise_all()
        return cls(**parsed, origin=places)

    @classmethod
    def _unchecked(cls, parsed: Mapping[str, Any], places: Mapping[str, str]) -> Self:
        """Settings that are only looked at, for what else is wrong with them: those that are wrong have their defaults."""
        made = object.__new__(cls)
        for name, value in {**cls.defaults(), **parsed, "origin": places}.items():
            object.__setattr__(made, name, value)
        return made

    @classmethod
    def refuse_empty(cls, values: Mapping[str, Any], places: Mapping[str, str]) -> None:
        """Raise SettingsError where a list that chooses everything when it is left out was given and is empty.

        Such a list often comes from a form, a template or another task, and nothing was meant by it.
        """
        for name in cls.all_when_absent:
            value = values.get(name, ...)
            if (isinstance(value, str) and not value.strip()) or (isinstance(value, (list, tuple)) and not value) or value is None:
                raise SettingsError(
                    f"{name} was given and is empty: nothing is chosen",
                    f"Name at least one pattern; `.*`, or leaving {name} out, chooses all.",
                    setting=name,
                    set_in=places.get(name),
                )

    @classmethod
    def refuse_secret(cls, name: str, origin: str | None) -> None:
        """Raise SettingsError where a setting's name is that of a secret; its value is not shown."""
        if name not in cls.known() and is_secret(name):
            raise SettingsError(
                "a secret is no setting",
                "Put it into the secrets file (--secrets) or into the Airflow connection, where no plan, log or command line shows it",
                setting=name,
                set_in=origin,
            )

    @classmethod
    def parsed(cls, name: str, value: object, places: Mapping[str, str]) -> Any:
        """The canonical value of one setting.

        :param places: where settings were set, by name.
        :raises SettingsError: it is not allowed.
        """
        kind = cls.kind_of(name)
        try:
            return kind.parse(value)
        except ValueError as error:
            shown = setting_checks.shown(value) if kind.shown else None
            raise SettingsError(
                f"{name} is wrong: {error}", setting=name, value=shown, allowed=kind.allowed, set_in=places.get(name)
            ) from error

    def notices(self) -> list[tuple[Event, dict[str, Any]]]:
        """Events that a start should log: settings without effect, and choices that can lose data, with the setting that prevents it."""
        found = setting_checks.notices(self)
        if self.error_handling_policy == LOG_ONLY:
            found.append((BAD_RECORDS_SKIPPED, {"reason": "error_handling_policy is LOG_ONLY", "setting": "error_handling_policy"}))
        return found

    def emit_notices(self) -> None:
        """Log :meth:`notices`."""
        for event, fields in self.notices():
            emit(event, **fields)


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
