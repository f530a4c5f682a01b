"""Connections to the clusters that the options of a Spark data source name.

The options themselves are in :mod:`~ignite_kafka.datasources.option_tables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import SettingsError
from ..ignite.cluster import Cluster
from ..ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ..kafka.clients import KafkaClients
from ..settings.client_config import librdkafka_settings
from ..settings.secrets_file import SecretsFile
from ..settings.transport_security import check, ignite_weaknesses, kafka_weaknesses
from .option_tables import KAFKA_PREFIX, OptionTable


def kafka_options(options: Mapping[str, str], table: OptionTable) -> dict[str, str]:
    """Settings of librdkafka among the options: ``bootstrap.servers``, and options that begin with ``kafka.``.

    :raises SettingsError: one is no setting of librdkafka, or may not be an option; the message shows no value.
    """
    assert table.kafka is not None
    given = {name.removeprefix(KAFKA_PREFIX): value for name, value in options.items() if name.startswith(KAFKA_PREFIX)}
    try:
        settings = librdkafka_settings(given, table.kafka)
    except ValueError as error:
        raise SettingsError(f"an option {KAFKA_PREFIX}… of {table.source} is wrong: {error}", "Correct it, or leave it out.") from error
    return {**settings, "bootstrap.servers": options["bootstrap.servers"]}


def ignite_endpoint(values: Mapping[str, Any]) -> IgniteEndpoint:
    """The nodes' addresses with TLS and frame limit, from the values of :meth:`OptionTable.read`."""
    tls = TlsSettings(values["tls"], *(values[f"tls_{name}"] for name in ("ca_file", "cert_file", "key_file", "verify", "check_hostname")))
    return IgniteEndpoint(values["addresses"], tls, max_frame_bytes=values["max_frame_bytes"])


def connected(endpoint: IgniteEndpoint, secrets_file: str | None, allow_insecure: bool) -> Cluster:
    """A connected cluster, with the credentials of the secrets file, if any.

    :param allow_insecure: accept a connection that is not protected, see :mod:`~ignite_kafka.settings.transport_security`.
    :raises SettingsError: the connection is not protected, and that is not allowed.
    """
    credentials = SecretsFile(secrets_file).load().ignite if secrets_file else IgniteCredentials()
    check(ignite_weaknesses(endpoint, credentials), allow_insecure)
    return Cluster(endpoint, credentials)


def clients(kafka: Mapping[str, str], secrets_file: str | None, allow_insecure: bool) -> KafkaClients:
    """Kafka clients, with the secrets of the secrets file, if any; see :func:`connected`."""
    config = {**kafka, **(SecretsFile(secrets_file).load().kafka if secrets_file else {})}
    check(kafka_weaknesses(config), allow_insecure)
    return KafkaClients(config)
