"""Lookup of a connector's newest run, for tasks that monitor the connector."""

from __future__ import annotations

from airflow_provider_ignite_kafka.runs.kafka_access import connection_clients
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.state.status import RunStatus


def connector_status(
    connector: str,
    *,
    kafka_conn_id: str = "kafka_default",
    internal_topic_prefix: str = ConnectorSettings.internal_topic_prefix,
    secrets_file: str | None = None,
) -> RunStatus | None:
    """Read the status of a connector's newest run, with state and counts by cache; None if it never ran.

    :param kafka_conn_id: connection of the Kafka provider.
    :param secrets_file: path of a secrets file on the worker, whose part `kafka` replaces the connection's secrets.
        Event 15001 names the unused secrets of the connection.
    :raises SettingsError: the file cannot be read, or lacks a value that only the connection has, or the connection
        is not protected.
    :raises IgniteKafkaError: Kafka did not answer.
    """
    return newest_status(connection_clients(kafka_conn_id, secrets_file), connector, internal_topic_prefix)


def newest_status(clients: KafkaClients, connector: str, internal_topic_prefix: str) -> RunStatus | None:
    """Read the status of a connector's newest run by Kafka clients that exist already; None if it never ran.

    :raises IgniteKafkaError: Kafka did not answer.
    """
    from ignite_kafka.admin.target_state import newest_run

    return newest_run(clients, Topics(clients), internal_topic_prefix, connector).run
