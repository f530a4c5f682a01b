"""Access to a connector's records in Kafka: status of runs, owner, requests to stop, and a sink's offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.sink import group_of
from ignite_kafka.state.status import RunStatus, read_run_written, read_runs

if TYPE_CHECKING:
    from ignite_kafka.state.configs import ConnectorRecord


class RunRecords:
    """Access to the records in Kafka about a connector's runs; each call reads them again.

    :raises IgniteKafkaError: from every method, if Kafka does not answer.
    """

    def __init__(self, clients: KafkaClients, internal_topic_prefix: str, connector: str) -> None:
        self._clients = clients
        self._prefix = internal_topic_prefix
        self._connector = connector

    def run(self, run_id: str) -> tuple[RunStatus | None, int]:
        """Read a run's status record and its time in milliseconds since 1970; (None, 0) without a record."""
        return read_run_written(self._clients, self._prefix, self._connector, run_id)

    def runs(self) -> Mapping[str, RunStatus]:
        """Read the status records of all runs of the connector, by run id."""
        return read_runs(self._clients, self._prefix, self._connector)

    def owner(self) -> ConnectorRecord | None:
        """Read the record of the run that owns the connector now; None if the connector never ran."""
        from ignite_kafka.state.configs import read_connector  # imports pyarrow, which a Dag file must not load

        return read_connector(self._clients, Topics(self._clients), self._prefix, self._connector).connector

    def request_stop(self, generation: int) -> None:
        """Request the stop of the run with the given generation, through the connector's target state."""
        from ignite_kafka.state.target_state import STOPPED, write_target

        write_target(
            self._clients, Topics(self._clients), self._prefix, self._connector, STOPPED, generation=generation
        )

    def stopped_generation(self) -> int:
        """Read the generation whose stop :meth:`request_stop` last requested; 0 without a request."""
        from ignite_kafka.state.target_state import read_stopped_generation

        return read_stopped_generation(self._clients, Topics(self._clients), self._prefix, self._connector)

    def sink_lag(self, topics: Iterable[str]) -> Mapping[str, int]:
        """Compute, by topic, the records behind a sink's committed offsets, those not stored yet."""
        from ignite_kafka.admin.lag_by_name import sink_lag

        record = self.owner()
        group = group_of(self._connector, record.settings if record else {})
        return sink_lag(Topics(self._clients), group, topics)
