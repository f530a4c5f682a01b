"""Connectors and lags for the page, read from Kafka and Ignite; each function blocks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.plugins.connections import connector_access, kafka_clients
from airflow_provider_ignite_kafka.plugins.lags import WAIT_S, Lag, LagReader, Read
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from ignite_kafka.admin.lag_by_name import sink_lag, source_lag
from ignite_kafka.admin.overview import SINK, ConnectorOverview, OverviewReader
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


class ClusterReader:
    """Reader of the monitored clusters, with a memory of each; threads may share it.

    :param wait_s: time to wait for the lags, in seconds.
    """

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._wait_s = wait_s
        self._overviews: dict[MonitoredCluster, OverviewReader] = {}
        self._lags: dict[MonitoredCluster, LagReader] = {}

    def read(self, cluster: MonitoredCluster, needed: str | None = None) -> ClusterReading:
        """Read all connectors of a cluster from Kafka, and the lag of each sink and each stream with a backlog.

        Any error about a connector's lag affects this connector only: its records must not hide other connectors.

        :param needed: connector whose lag is read in any case; the lags of others are read as far as time allows.
        """
        try:
            clients = kafka_clients(cluster)
            clients.check(_CONNECT_S)
            topics = Topics(clients)
            overview = self._overviews.setdefault(cluster, OverviewReader(cluster.internal_topic_prefix))
            connectors = overview.read(clients, topics)
        except IgniteKafkaError as error:
            return ClusterReading(cluster, error=error)
        except AirflowException as error:  # for example, the connection does not exist
            return ClusterReading(
                cluster, error=SettingsError(str(error), "Create the connection: Admin > Connections.")
            )
        reads = _lag_reads(cluster, topics, connectors)
        lags = self._lags.setdefault(cluster, LagReader()).read(*reads, self._wait_s, needed)
        return ClusterReading(
            cluster,
            connectors,
            {name: lag for name, lag in lags.items() if lag is not None and not isinstance(lag, IgniteKafkaError)},
            None,
            {name: lag for name, lag in lags.items() if isinstance(lag, IgniteKafkaError)},
        )


def _lag_reads(
    cluster: MonitoredCluster, topics: Topics, connectors: Mapping[str, ConnectorOverview]
) -> tuple[dict[str, Read], dict[str, Read]]:
    """Return how to read the lag of each sink, and of each source that may have a backlog."""
    unreachable: list[IgniteKafkaError] = []

    def of_sink(connector: ConnectorOverview) -> Lag:
        try:
            return sink_lag(topics, _group_of(connector), _topics_of(connector))
        except IgniteKafkaError as error:
            return error
        except Exception as error:
            log.exception("The lag of connector %r cannot be read.", connector.name)
            return unexpected(error)

    def of_source(connector: ConnectorOverview) -> Lag:
        if unreachable:
            return unreachable[0]  # the nodes would not answer about another connector either
        try:
            return _source_lag(cluster, connector.name)
        except BacklogMissing as error:
            # without a backlog, the stream uses continuous queries, and its lag is unknown
            return error if needs_backlog(connector) else None
        except BacklogRefused as error:
            return error
        except IgniteKafkaError as error:
            unreachable.append(error)
            return error
        except Exception as error:
            log.exception("The lag of connector %r cannot be read.", connector.name)
            return unexpected(error)

    sinks: dict[str, Read] = {
        name: partial(of_sink, each) for name, each in connectors.items() if each.direction == SINK
    }
    sources: dict[str, Read] = {
        name: partial(of_source, each) for name, each in connectors.items() if has_backlog(each)
    }
    return sinks, sources


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
    return source_lag(access.settings, access.secrets)


def _group_of(connector: ConnectorOverview) -> str:
    record = connector.state.connector
    return group_of(connector.name, record.settings if record else {})


def _topics_of(connector: ConnectorOverview) -> set[str]:
    run = connector.newest.run
    return set() if run is None else {cache.topic for cache in run.caches.values()}
