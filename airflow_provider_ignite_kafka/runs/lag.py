"""Lag of a connector, and the conditions that sensors and triggers wait for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID, IgniteConnection
from airflow_provider_ignite_kafka.runs.kafka_access import connection_clients
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connector import ConnectorSettings

if TYPE_CHECKING:
    from ignite_kafka.admin.connector_lag import ConnectorLag
    from ignite_kafka.ignite.cluster import Cluster

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class LagReader:
    """Reads the lag of one connector.

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
        """The lag now; blocks.

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
    """What a sensor waits for; the initial data must be copied, too.

    :param max_lag: most records or changes left to copy, those behind open transactions included, of the whole
        connector, or by cache or topic. While one of these is not copied by the connector, the condition is not met.
    :param marks: positions to pass by ``name/partition``, instead of `max_lag`.
    """

    max_lag: int | Mapping[str, int] = 0
    marks: Mapping[str, int] | None = None

    def met(self, lag: ConnectorLag) -> bool:
        """Whether a lag meets the condition; an unknown one does not."""
        from ignite_kafka.admin.connector_lag import ahead_of

        if not lag.known or not lag.loaded:
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
        """What to warn of while the condition is not met.

        Names that are not copied, records behind open transactions; or empty.
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
        """Names in `max_lag` that are no cache or topic of the connector: perhaps misspelt, or not created yet."""
        return sorted(self.max_lag.keys() - lag.names) if isinstance(self.max_lag, Mapping) and lag.known else []

    def check(self) -> None:
        """Check the values.

        :raises SettingsError: one is no number of 0 or more.
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
