"""Connections to Ignite and Kafka from the options of a Spark data source.

The options themselves are in :mod:`~ignite_kafka.datasources.option_tables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SettingsError
from ..ignite.cluster import Cluster
from ..ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ..kafka.clients import KafkaClients
from ..settings.client_config import librdkafka_settings
from ..settings.secrets import Secrets
from ..settings.secrets_file import SecretsFile
from ..settings.transport_security import ALLOW, check, ignite_weaknesses, kafka_weaknesses
from .option_tables import KAFKA_PREFIX, OptionTable


def parse_kafka_options(options: Mapping[str, str], table: OptionTable) -> dict[str, str]:
    """Extract librdkafka settings from the options: ``bootstrap.servers`` and those with prefix ``kafka.``.

    :raises SettingsError: a name is no setting of librdkafka, or may not be an option; the message shows no value.
    """
    assert table.kafka is not None
    properties = {
        name.removeprefix(KAFKA_PREFIX): value for name, value in options.items() if name.startswith(KAFKA_PREFIX)
    }
    try:
        settings = librdkafka_settings(properties, table.kafka)
    except ValueError as error:
        raise SettingsError(
            f"an option {KAFKA_PREFIX}… of {table.source} is wrong: {error}", "Correct it, or leave it out."
        ) from error
    return {**settings, "bootstrap.servers": options["bootstrap.servers"]}


@dataclass(frozen=True)
class IgniteOptions:
    """Base class of options that include a connection to Ignite.

    :param allow_insecure: accept an unprotected connection, see
        :mod:`~ignite_kafka.settings.transport_security`.
    """

    endpoint: IgniteEndpoint
    secrets_file: str | None
    allow_insecure: bool

    def connect(self) -> Cluster:
        """Connect to Ignite, with the credentials of the secrets file if there is one.

        :raises SettingsError: the connection is not protected, and the options do not allow this.
        """
        credentials = SecretsFile(self.secrets_file).load().ignite if self.secrets_file else IgniteCredentials()
        check(ignite_weaknesses(self.endpoint, credentials), self.allow_insecure, self.allow_insecure)
        return Cluster(self.endpoint, credentials)


def read_ignite_fields(values: Mapping[str, Any]) -> tuple[IgniteEndpoint, str | None, bool]:
    """Make the fields of `IgniteOptions` from the values of :meth:`OptionTable.read`."""
    tls = TlsSettings(
        values["tls"],
        *(values[f"tls_{name}"] for name in ("ca_file", "cert_file", "key_file", "verify", "check_hostname")),
    )
    limits = {"max_frame_bytes": values["max_frame_bytes"], "address_map": values["address_map"]}
    endpoint = IgniteEndpoint(values["addresses"], tls, **limits)
    return endpoint, values["secrets_file"], values[ALLOW]


@dataclass(frozen=True)
class KafkaOptions:
    """Base class of options that include a connection to Kafka; see :class:`IgniteOptions`.

    :param kafka: settings of librdkafka.
    """

    kafka: Mapping[str, str]
    secrets_file: str | None
    allow_insecure: bool

    def clients(self) -> KafkaClients:
        """Make Kafka clients, with the credentials of the secrets file if there is one.

        :raises SettingsError: the connection is not protected, and the options do not allow this.
        """
        config = {**self.kafka, **self.secrets().kafka}
        check(kafka_weaknesses(config), self.allow_insecure, self.allow_insecure)
        return KafkaClients(config)

    def secrets(self) -> Secrets:
        """Read the secrets in the secrets file; none without a file."""
        return SecretsFile(self.secrets_file).load() if self.secrets_file else Secrets()


def read_kafka_fields(
    options: Mapping[str, str], table: OptionTable, values: Mapping[str, Any]
) -> tuple[dict[str, str], str | None, bool]:
    """Make the fields of `KafkaOptions` from the options and their values of :meth:`OptionTable.read`.

    :raises SettingsError: see :func:`parse_kafka_options`.
    """
    return parse_kafka_options(options, table), values["secrets_file"], values[ALLOW]
