"""Lag of a run or connector, and conditions on the lag that sensors and triggers wait for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID, IgniteConnection
from airflow_provider_ignite_kafka.runs.kafka_access import connection_clients
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings

if TYPE_CHECKING:
    from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
    from airflow_provider_ignite_kafka.runs.request import Request
    from ignite_kafka.admin.connector_lag import ConnectorLag
    from ignite_kafka.ignite.cluster import Cluster
    from ignite_kafka.state.status import RunStatus

log = logging.getLogger(__name__)
TIMEOUT_S = 60.0
_OF_METRICS_S = 5.0


class RunLag:
    """Reader of a followed run's lag: of a sink by topic, of a stream with a backlog by cache.

    :param monitor: monitor of the run.
    :param connect: opens the Ignite cluster; called for a stream with a backlog only.
    """

    def __init__(self, monitor: RunMonitor, connect: Callable[[], Cluster]) -> None:
        self._monitor = monitor
        self._connect = connect
        self._last: Mapping[str, int] = {}

    @staticmethod
    def by_connection(monitor: RunMonitor) -> RunLag:
        """Make the reader for a run submitted by another process, looking up its Ignite connection once."""
        run = monitor.run
        connections: list[IgniteConnection] = []

        def connect() -> Cluster:
            if not connections:
                connections.append(IgniteConnection.read(run.ignite_conn_id))
            return connections[0].cluster(run.secrets_file, _OF_METRICS_S)

        return RunLag(monitor, connect)

    @staticmethod
    def of(monitor: RunMonitor, request: Request) -> RunLag:
        """Make the reader for the run of a request, with the request's secrets."""
        return RunLag(monitor, lambda: request.cluster(_OF_METRICS_S))

    def read(self, status: RunStatus) -> Mapping[str, int]:
        """Read the number of records or changes left to copy, by topic or cache; empty if a cluster is down.

        A name that was behind before, and no longer is, has 0.
        """
        try:
            counts = self._counts(status)
        except (IgniteKafkaError, OSError, AirflowException, AirflowRuntimeError) as error:
            log.info("The lag is not known: %s", error)
            return {}
        self._last = {**dict.fromkeys(self._last, 0), **counts}
        return self._last

    def _counts(self, status: RunStatus) -> Mapping[str, int]:
        run = self._monitor.run
        if run.sink:
            return self._monitor.sink_lag(status)
        if not run.streams or not run.has_backlog or not run.ignite_conn_id:
            return {}
        from ignite_kafka.admin import lag_by_name  # numpy, which a Dag file must not load

        with self._connect() as cluster:
            return lag_by_name.backlog_lag(cluster, run.connector).counts()


@dataclass(frozen=True)
class LagReader:
    """Reader of a connector's lag with Airflow connections, for sensors and triggers.

    :param kafka_conn_id: connection of the Kafka provider.
    :param ignite_conn_id: connection of type `ignite`; read for streams from Ignite only, whose backlog is on the
        nodes.
    :param secrets_file: path of a secrets file, whose parts replace the secrets of the connections.
    """

    connector: str
    kafka_conn_id: str = "kafka_default"
    ignite_conn_id: str = DEFAULT_CONN_ID
    internal_topic_prefix: str = ConnectorSettings.internal_topic_prefix
    secrets_file: str | None = None

    def read(self, timeout_s: float = TIMEOUT_S) -> ConnectorLag:
        """Read the connector's current lag from Kafka and Ignite. Blocks.

        :param timeout_s: seconds, to which the timeouts of the Ignite connection are shortened.
        :raises IgniteKafkaError: a cluster did not answer, or a connection cannot be used.
        """
        from ignite_kafka.admin.connector_lag import read_lag  # imports pyarrow, which a Dag file must not load

        clients = connection_clients(self.kafka_conn_id, self.secrets_file)

        def connect() -> Cluster:
            return IgniteConnection.read(self.ignite_conn_id).cluster(self.secrets_file, timeout_s)

        return read_lag(clients, self.internal_topic_prefix, self.connector, connect)


@dataclass(frozen=True)
class LagCondition:
    """Condition on a connector's lag for sensors: initial data copied, and at most `max_lag` left.

    :param max_lag: maximum number of records or changes left to copy, including those behind open transactions, of the
        whole connector, or by cache or topic. The condition is not met while the connector does not copy one of these.
    :param marks: positions to pass by ``name/partition``, instead of `max_lag`.
    """

    max_lag: int | Mapping[str, int] = 0
    marks: Mapping[str, int] | None = None

    def is_met(self, lag: ConnectorLag) -> bool:
        """Return whether a connector's lag meets the condition; False for an unknown lag."""
        from ignite_kafka.admin.connector_lag import ahead_of

        if not lag.is_readable or not lag.loaded:
            return False
        if self.marks is not None:
            return not ahead_of(lag, self.marks)
        counts = lag.counts()
        opened = lag.open_counts()
        if self._missing(lag):
            return False
        if isinstance(self.max_lag, Mapping):
            return all(counts.get(name, 0) + opened.get(name, 0) <= most for name, most in self.max_lag.items())
        return sum(counts.values()) + sum(opened.values()) <= self.max_lag

    def warning(self, lag: ConnectorLag) -> str:
        """Describe what may keep the condition from being met, for the task's log.

        The text names caches or topics that are not copied, and records behind open transactions; empty without them.
        """
        missing = self._missing(lag)
        opened = lag.open_counts()
        warnings = (
            [f"Connector {lag.connector} does not copy {', '.join(missing)}, which max_lag names"] if missing else []
        )
        if opened:
            counts = ", ".join(f"{name}: {count:,}" for name, count in sorted(opened.items()))
            warnings.append(f"Records of connector {lag.connector} wait behind transactions that are open ({counts})")
        return "; ".join(warnings)

    def _missing(self, lag: ConnectorLag) -> list[str]:
        """List names in `max_lag` that the connector does not copy: misspelt, or not created yet."""
        return sorted(self.max_lag.keys() - lag.names) if isinstance(self.max_lag, Mapping) and lag.is_readable else []

    def check(self) -> None:
        """Check that each value of `max_lag` is a whole number, 0 or more.

        :raises SettingsError: a value is no number of 0 or more.
        """
        several = self.max_lag.values() if isinstance(self.max_lag, Mapping) else [self.max_lag]
        if not all(_is_count(value) for value in several):
            raise SettingsError(
                f"max_lag is {self.max_lag!r}",
                "Give a whole number, 0 or more, or one for each cache or topic.",
                setting="max_lag",
            )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
