"""Connectors and lags for the page, read from Kafka and Ignite; each function blocks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.plugins.connections import connector_access, kafka_clients
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from ignite_kafka.admin import backlog
from ignite_kafka.admin.comparison_history import ConnectorComparisons, read_comparisons
from ignite_kafka.admin.lag_by_name import sink_lag, source_lag
from ignite_kafka.admin.overview import SINK, SOURCE, ConnectorOverview, read_overview
from ignite_kafka.errors import BacklogMissing, BacklogRefused, IgniteKafkaError, SettingsError
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.sink import group_of

log = logging.getLogger(__name__)
_CONNECT_S = 4.0


@dataclass(frozen=True)
class ClusterReading:
    """Connectors of a monitored cluster, or the error that prevented reading them.

    :param lags: number of records or changes not copied yet, by connector, and by topic of a sink or cache of a source.
    """

    cluster: MonitoredCluster
    connectors: Mapping[str, ConnectorOverview] = field(default_factory=dict)
    lags: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    error: IgniteKafkaError | None = None
    lag_errors: Mapping[str, IgniteKafkaError] = field(default_factory=dict)


def read_cluster(cluster: MonitoredCluster) -> ClusterReading:
    """Read all connectors of a cluster from Kafka, and the lag of each sink and each stream with a backlog.

    Any error about a connector's lag affects this connector only: its records must not hide other connectors.
    """
    try:
        clients = kafka_clients(cluster)
        clients.check(_CONNECT_S)
        topics = Topics(clients)
        connectors = read_overview(clients, topics, cluster.internal_topic_prefix)
    except IgniteKafkaError as error:
        return ClusterReading(cluster, error=error)
    except AirflowException as error:  # for example, the connection does not exist
        return ClusterReading(cluster, error=SettingsError(str(error), "Create the connection: Admin > Connections."))
    lags: dict[str, Mapping[str, int]] = {}
    errors: dict[str, IgniteKafkaError] = {}
    unreachable: IgniteKafkaError | None = None
    for name, connector in connectors.items():
        try:
            if connector.direction == SINK:
                lags[name] = sink_lag(topics, _group_of(connector), _topics_of(connector))
            elif has_backlog(connector):
                if unreachable is not None:
                    raise unreachable
                lags[name] = _source_lag(cluster, name)
        except BacklogMissing as error:
            if needs_backlog(connector):
                errors[name] = error  # without a backlog, the stream uses continuous queries, and its lag is unknown
        except BacklogRefused as error:
            errors[name] = error
        except IgniteKafkaError as error:
            errors[name] = error
            unreachable = error if connector.direction == SOURCE else unreachable
        except Exception as error:
            log.exception("The lag of connector %r cannot be read.", name)
            errors[name] = unexpected(error)
    return ClusterReading(cluster, connectors, lags, None, errors)


def read_history(cluster: MonitoredCluster, connector: str) -> ConnectorComparisons:
    """Read the last comparisons of a connector from Kafka.

    :raises IgniteKafkaError: Kafka did not answer, or refused, or the connection cannot be used.
    """
    try:
        return read_comparisons(kafka_clients(cluster), cluster.internal_topic_prefix, connector)
    except AirflowException as error:
        raise SettingsError(str(error), "Create the connection: Admin > Connections.") from error


def unexpected(error: Exception) -> IgniteKafkaError:
    """Turn an unexpected exception into an error that the page can show."""
    return IgniteKafkaError(
        f"an internal error: {type(error).__name__}", "The log of the API server has its cause. Report it."
    )


def has_backlog(connector: ConnectorOverview) -> bool:
    """Return whether a source may have a backlog on the Ignite nodes, by its newest run's settings."""
    record = connector.state.connector
    if record is None or not record.is_source:
        return False
    return record.settings.get("failover_policy") == "BACKLOG" or record.settings.get("run_mode") == "continuous"


def needs_backlog(connector: ConnectorOverview) -> bool:
    """Return whether a source cannot run without the backlog service, by its newest run's settings."""
    record = connector.state.connector
    return record is not None and record.settings.get("failover_policy") == "BACKLOG"


def _source_lag(cluster: MonitoredCluster, name: str) -> Mapping[str, int]:
    access = connector_access(cluster, name, ignite=True)
    return source_lag(backlog.status(access.settings, access.secrets))


def _group_of(connector: ConnectorOverview) -> str:
    record = connector.state.connector
    return group_of(connector.name, record.settings if record else {})


def _topics_of(connector: ConnectorOverview) -> set[str]:
    run = connector.newest.run
    return set() if run is None else {cache.topic for cache in run.caches.values()}
