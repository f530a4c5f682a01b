"""Kafka clients made from an Airflow connection, to watch a connector without its settings."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ignite_kafka.hooks.kafka_config import kafka_config
from airflow_provider_ignite_kafka.options import allow_insecure_connections
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from airflow_provider_ignite_kafka.runs.records import RunRecords
from airflow_provider_ignite_kafka.runs.request import Connections, mask_secrets, resolve_secrets
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.client_config import one_name
from ignite_kafka.settings.transport_security import check, kafka_weaknesses


def connection_clients(
    kafka_conn_id: str, secrets_file: str | None, own: Mapping[str, str] | None = None, *, allow_insecure: bool = False
) -> KafkaClients:
    """Make Kafka clients from an Airflow connection and an optional secrets file.

    :param own: settings of clients; the connection overrides them.
    :param allow_insecure: whether the connector's settings accept an unprotected connection, if it sends no credential.
    :raises SettingsError: the file cannot be read, or lacks a value that only the connection has, or the connection is
        not protected.
    """
    config = kafka_config(kafka_conn_id)
    connections = Connections(IgniteEndpoint(), IgniteCredentials(), config, {})
    mask_secrets(connections.secrets)
    names = {one_name(name) for name in config.plain}
    kept = {name: value for name, value in (own or {}).items() if one_name(name) not in names}
    common = {**kept, **config.plain, **resolve_secrets(secrets_file, connections).kafka}
    check(kafka_weaknesses(common), allow_insecure, allow_insecure_connections())
    return KafkaClients(common, config.producer, config.consumer)


def monitor_of_run(run: FollowedRun) -> RunMonitor:
    """Make the monitor of a run submitted by another process. Blocks while the connection is looked up.

    :raises SettingsError: see :func:`connection_clients`.
    """
    clients = connection_clients(
        run.kafka_conn_id, run.secrets_file, run.kafka_config, allow_insecure=run.allow_insecure_connections
    )
    return RunMonitor(run, RunRecords(clients, run.internal_topic_prefix, run.connector))
