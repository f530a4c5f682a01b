"""Tables of the options of each Spark data source, with type, default and help.

docs/options.md is generated from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SettingsError
from ..ignite.endpoint import MAX_FRAME_BYTES
from ..settings.client_properties import CONSUMER, PRODUCER
from ..settings.converters import CONVERTER
from ..settings.fields import BOOLEAN, LINE, TEXTS, SettingType, choice, text_like, whole_number
from ..settings.ignite_addresses import ADDRESS_MAP
from ..settings.secrets import is_secret
from ..settings.source import SourceSettings
from ..settings.suggestions import nearest
from ..settings.topic_names import DEFAULT_PREFIX
from ..settings.transport_security import ALLOW

KAFKA_PREFIX = "kafka."
CONVERTER_PREFIXES = ("key.converter.", "value.converter.")


@dataclass(frozen=True)
class Option:
    """Definition of one option of a Spark data source.

    :param default: parsed default; None: no default, which ``help`` explains.
    """

    type: SettingType
    help: str
    default: object = None
    required: bool = False


@dataclass(frozen=True)
class OptionTable:
    """Table of all options of one data source, for reading or for writing.

    :param use: ``reading`` or ``writing``.
    :param kafka: librdkafka settings that ``kafka.<name>`` may set; None: the data source has no such options.
    :param converters: whether properties of converters are options, such as ``value.converter.schemas.enable``.
    """

    source: str
    use: str
    options: Mapping[str, Option]
    kafka: frozenset[str] | None = None
    converters: bool = False

    @property
    def title(self) -> str:
        """Heading of the table: the data source's name and its use."""
        return f"{self.source}, {self.use}"

    def read(self, options: Mapping[str, str]) -> dict[str, Any]:
        """Parse and check the options that a user gave, and fill in defaults.

        :func:`.options.parse_kafka_options` reads ``kafka.…``.

        :param options: options as Spark passes them: text values under names in lower case.
        :raises SettingsError: an option is unknown, missing, has a value that is not allowed, or is a secret.
        """
        refuse_secrets(options)
        for name in options:
            if name not in self.options and not name.startswith(self._prefixes):
                raise self._unknown_error(name)
        return {name: self._read_value(name, option, options) for name, option in self.options.items()}

    @property
    def _prefixes(self) -> tuple[str, ...]:
        """Prefixes of options that are not in the table, because other modules parse them."""
        return (KAFKA_PREFIX,) * (self.kafka is not None) + CONVERTER_PREFIXES * self.converters

    def _read_value(self, name: str, option: Option, options: Mapping[str, str]) -> object:
        if option.required and not options.get(name):
            what = f"option {name!r} of {self.source} is missing"
            raise SettingsError(what, f'Give it with .option("{name}", …).', option=name)
        if name not in options:
            return option.default
        try:
            return option.type.parse(options[name])
        except ValueError as error:
            what = f"option {name!r} of {self.source} is {options[name]!r}: {error}"
            raise SettingsError(what, f"Allowed: {option.type.allowed}.", option=name) from error

    def _unknown_error(self, name: str) -> SettingsError:
        other = next((table for table in TABLES if table.source == self.source and name in table.options), None)
        if other is not None:
            return SettingsError(
                f"{name!r} is an option of {other.title}, not of {self.use}", "Leave it out.", option=name
            )
        close = nearest(name, self.options)
        if close is None and self.kafka is not None and name in self.kafka:
            close = KAFKA_PREFIX + name
        remedy = f"Did you mean {close}?" if close else f"Its options: {', '.join(self.options)}."
        return SettingsError(f"{self.source} has no option {name!r} for {self.use}", remedy, option=name)


def refuse_secrets(options: Mapping[str, str]) -> None:
    """Refuse options with secrets, which Spark would show in plans, UI and event log.

    :raises SettingsError: an option is a secret; the message does not show its value.
    """
    for name in options:
        if name != "secrets_file" and is_secret(name.lower().removeprefix(KAFKA_PREFIX)):
            raise SettingsError(
                f"option {name!r} would show a secret in Spark's UI and event log",
                "Put it into a file (docs/security.md has its form) and name that in the option secrets_file.",
                option=name,
            )


_NAMES = text_like(r".+", "a name")
_SECRETS_FILE = Option(LINE, "Secrets file under this path on the driver and on every executor; none: no credentials")
_INSECURE = Option(
    BOOLEAN,
    "Connect to other hosts also where credentials travel without TLS or TLS does not verify the other side; event "
    "15185 reports each such connection. Off by default, because anyone on the network path could read the "
    "credentials or impersonate the cluster",
    False,
)
_IGNITE: Mapping[str, Option] = {
    "addresses": Option(TEXTS, "host:port of the nodes' client connectors, separated by commas", ("127.0.0.1:10800",)),
    "address_map": Option(
        ADDRESS_MAP, "announced=reachable pairs for nodes behind NAT, as ignite_address_map of a connector", ()
    ),
    "secrets_file": _SECRETS_FILE,
    "max_frame_bytes": Option(
        whole_number(1 << 20, 2_147_483_647), "Maximum size of a node's reply in bytes", MAX_FRAME_BYTES
    ),
    "tls": Option(BOOLEAN, "Use TLS", False),
    "tls_ca_file": Option(LINE, "PEM file, or JKS or PKCS#12 store, with the authorities to trust; none: the system's"),
    "tls_cert_file": Option(
        LINE, "PEM file with the client's certificate; or a JKS or PKCS#12 store with it and its key"
    ),
    "tls_key_file": Option(LINE, "PEM file with the client's key; none: it is in tls_cert_file"),
    "tls_verify": Option(BOOLEAN, "Verify the node's certificate", True),
    "tls_check_hostname": Option(BOOLEAN, "Require a certificate for the node's host name", True),
    ALLOW: _INSECURE,
}
_KAFKA: Mapping[str, Option] = {
    "bootstrap.servers": Option(
        text_like(r"\S+", "host:port, with commas between"), "host:port of brokers", required=True
    ),
    "secrets_file": _SECRETS_FILE,
    ALLOW: _INSECURE,
}
_CONVERTERS: Mapping[str, Option] = {
    f"{side}.converter": Option(
        CONVERTER,
        f"Converter of column `{side}`, by our name or Kafka Connect's class: the column is typed. None: binary, or "
        f"text that is written as it is. Its properties are options, too, such as `{side}.converter.schemas.enable`",
    )
    for side in ("key", "value")
}
_CACHE: Mapping[str, Option] = {"cache": Option(_NAMES, "Name of the cache", required=True)}
_SCAN: Mapping[str, Option] = {
    "num_partitions": Option(
        whole_number(1, 100_000), "Maximum Spark partitions; each reads several Ignite partitions", 8
    ),
    "page_bytes": Option(whole_number(1 << 10, 256 << 20), "Target scan page size in bytes", 4 << 20),
    "sample_rows": Option(
        whole_number(1, 1_000_000),
        "Entries that are sampled for the schema, where query entities do not give it",
        1_000,
    ),
}

IGNITE_READ = OptionTable(
    "ignite",
    "reading",
    {
        **_CACHE,
        "partitions": Option(
            text_like(r"[0-9, -]+", "numbers and ranges, such as 0-63,100"), "Ignite partitions to read; none: all"
        ),
        **_SCAN,
        **_IGNITE,
    },
)
IGNITE_WRITE = OptionTable(
    "ignite",
    "writing",
    {
        **_CACHE,
        "key": Option(
            _NAMES, "Column of the key; several columns, separated by commas, are the fields of a key object", "_key"
        ),
        "overwrite": Option(BOOLEAN, "Replace existing entries; false: keep them", True),
        "create": Option(
            BOOLEAN,
            "Create a missing cache, with a query entity from the DataFrame's schema; its table has the name of the "
            "value type without package, else that of the cache",
            False,
        ),
        "backups": Option(whole_number(0, 1_000), "Backups of a cache that is created; none: the cluster's default"),
        "key_type": Option(
            LINE,
            "Binary type of the keys of a cache without query entity; with several query entities, chooses one; none: "
            "`<cache>.Key`",
        ),
        "value_type": Option(
            LINE,
            "Binary type of the values of a cache without query entity; with several query entities, chooses one; "
            "none: `<cache>.Value`",
        ),
        **_IGNITE,
    },
)
KAFKA_READ = OptionTable(
    "kafka-tx",
    "reading",
    {
        "topic": Option(_NAMES, "Topic to read", required=True),
        "starting_offsets": Option(
            LINE,
            'First offset by partition as JSON, such as `{"0": 120}`; other partitions, or with earliest all, begin at '
            "their first record",
            "earliest",
        ),
        "include_headers": Option(
            BOOLEAN,
            "Read headers, as column `headers`: array<struct<key: string, value: binary>>, null for a record without "
            "any",
            False,
        ),
        "num_partitions": Option(
            whole_number(1, 100_000),
            "Maximum Spark partitions; each reads several partitions of the topic; none: one for each",
        ),
        **_CONVERTERS,
        **_KAFKA,
    },
    CONSUMER,
    converters=True,
)
KAFKA_WRITE = OptionTable(
    "kafka-tx",
    "writing",
    {
        "name": Option(
            _NAMES,
            "Connector name: transactional ids are `<name>-<slot>`, offsets are in `<prefix>-offsets-<name>`",
            required=True,
        ),
        "topic": Option(
            LINE, "Topic of every row; none: the column `topic` names the topic of each row. A missing topic is created"
        ),
        "write_id": Option(
            LINE,
            "A write that is repeated under its id sends nothing twice, also over driver restarts, if the DataFrame "
            "and its partitions are the same. It is refused if it was unfinished when another write of the name "
            "began, or if its `topic` was deleted. The last 1,000 ids are remembered. None: each call is another write",
        ),
        "slots": Option(whole_number(1, 10_000), "Transactional ids; the DataFrame may not have more partitions", 16),
        "internal_topic_prefix": Option(LINE, "Prefix of the internal topics' names", DEFAULT_PREFIX),
        "transaction_timeout_ms": Option(
            whole_number(1_000, 86_400_000), "Time after which the broker aborts an open transaction", 600_000
        ),
        **_CONVERTERS,
        **_KAFKA,
    },
    PRODUCER,
    converters=True,
)
_PIPELINE = SourceSettings.definitions(), SourceSettings.defaults()


def _make_setting_option(name: str, value_type: SettingType | None = None) -> Option:
    """Make an option with the help and default of the connector setting of the same name."""
    definitions, defaults = _PIPELINE
    return Option(value_type or definitions[name].type, definitions[name].help, defaults[name])


BACKLOG = OptionTable(
    "ignite-backlog",
    "reading",
    {
        **_CACHE,
        "connector": Option(
            _NAMES,
            "Name under which the nodes capture for this query alone; one query or pipeline at a time may use it",
            required=True,
        ),
        "on_loss": Option(
            choice("fail", "reload"),
            "What to do where changes of partitions were lost: fail ends the query with an error that names the "
            "partitions; reload gives their present entries with `_change` loaded, and does not report keys that were "
            "removed meanwhile",
            "fail",
        ),
        "max_bytes": Option(whole_number(1 << 10, 256 << 20), "Target size of a batch's changes in bytes", 8 << 20),
        "poll_interval_ms": Option(
            whole_number(1, 3_600_000), "Time between two polls while there are no changes", 500
        ),
        "backlog_cache_name": _make_setting_option("backlog_cache_name"),
        "backlog_service_name": _make_setting_option("backlog_service_name"),
        "backlog_memory_region_name": _make_setting_option("backlog_memory_region_name"),
        "backlog_cache_backups": _make_setting_option("backlog_cache_backups"),
        "backlog_flush_freq_ms": _make_setting_option("backlog_flush_freq_ms"),
        **_SCAN,
        **_IGNITE,
    },
)
TABLES = (IGNITE_READ, IGNITE_WRITE, KAFKA_READ, KAFKA_WRITE, BACKLOG)
