"""Kafka clients, settings and secrets for a monitored cluster, made from its Airflow connections."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ignite_kafka.hooks.kafka_config import kafka_config
from airflow_provider_ignite_kafka.options import allow_insecure_connections
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.runs.request import Connections, mask_secrets, merge_settings, resolve_secrets
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.transport_security import check, kafka_weaknesses

_PATIENCE_S = 10.0
_IGNITE_CONNECT_MS = 2_000
_IGNITE_REQUEST_MS = 8_000


@dataclass(frozen=True)
class Access:
    """Settings and secrets for calls of :mod:`ignite_kafka.admin` about one connector."""

    settings: SourceSettings
    secrets: Secrets


def kafka_clients(cluster: MonitoredCluster) -> KafkaClients:
    """Make Kafka clients for a cluster, with short timeouts, because a user waits for the page.

    :raises SettingsError: the connection cannot be used.
    :raises AirflowNotFoundException: the connection does not exist.
    """
    config = kafka_config(cluster.kafka_conn_id)
    connections = Connections(IgniteEndpoint(), IgniteCredentials(), config, {})
    mask_secrets(connections.secrets)
    common = {**config.plain, **resolve_secrets(cluster.secrets_file, connections).kafka}
    check(kafka_weaknesses(common), by_settings=False, permitted=allow_insecure_connections())
    return KafkaClients(common, config.producer, config.consumer, patience_s=_PATIENCE_S)


def connector_access(cluster: MonitoredCluster, connector: str, *, ignite: bool = False) -> Access:
    """Build the settings and secrets with which :mod:`ignite_kafka.admin` reaches a connector's clusters.

    :param ignite: whether the call needs the Ignite cluster.
    :raises SettingsError: a connection cannot be used, or the cluster has no Ignite connection.
    :raises AirflowNotFoundException: a connection does not exist.
    """
    if ignite and not cluster.ignite_conn_id:
        raise SettingsError(
            "this needs the Ignite cluster, and the page has no connection for it",
            "Add ignite_conn_id to the entry of this cluster in option monitored_clusters of section [ignite_kafka].",
            kafka_conn_id=cluster.kafka_conn_id,
        )
    if ignite and cluster.ignite_conn_id:
        connections = Connections.of(cluster.ignite_conn_id, cluster.kafka_conn_id)
    else:
        connections = Connections(IgniteEndpoint(), IgniteCredentials(), kafka_config(cluster.kafka_conn_id), {})
        mask_secrets(connections.secrets)
    names = {"name": connector, "internal_topic_prefix": cluster.internal_topic_prefix}
    brief = {"ignite_connect_timeout_ms": _IGNITE_CONNECT_MS, "ignite_request_timeout_ms": _IGNITE_REQUEST_MS}
    return Access(
        merge_settings(brief, SourceSettings, connections, names), resolve_secrets(cluster.secrets_file, connections)
    )
