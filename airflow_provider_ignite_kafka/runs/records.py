"""Records in Kafka about the runs of a connector: status, owner, requests to stop, and a sink's offsets."""

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
    """Records in Kafka about the runs of one connector; each call reads them again.

    :raises IgniteKafkaError: from every method, if Kafka does not answer.
    """

    def __init__(self, clients: KafkaClients, internal_topic_prefix: str, connector: str) -> None:
        self._clients = clients
        self._prefix = internal_topic_prefix
        self._connector = connector

    def run(self, run_id: str) -> tuple[RunStatus | None, int]:
        """Return a run's status record and its time in milliseconds since 1970; (None, 0) without a record."""
        return read_run_written(self._clients, self._prefix, self._connector, run_id)

    def runs(self) -> Mapping[str, RunStatus]:
        """Return the status records of all runs of the connector, by run id."""
        return read_runs(self._clients, self._prefix, self._connector)

    def owner(self) -> ConnectorRecord | None:
        """Return the record of the run that has the connector now; None without such a run."""
        from ignite_kafka.state.configs import read_connector  # imports pyarrow, which a Dag file must not load

        return read_connector(self._clients, Topics(self._clients), self._prefix, self._connector).connector

    def request_stop(self, generation: int) -> None:
        """Set the connector's target state to STOPPED for one generation of its runs."""
        from ignite_kafka.state.target_state import STOPPED, write_target

        write_target(
            self._clients, Topics(self._clients), self._prefix, self._connector, STOPPED, generation=generation
        )

    def stopped_generation(self) -> int:
        """Return the generation last requested to stop by :meth:`request_stop`; 0 without a request."""
        from ignite_kafka.state.target_state import read_stopped_generation

        return read_stopped_generation(self._clients, Topics(self._clients), self._prefix, self._connector)

    def sink_lag(self, topics: Iterable[str]) -> Mapping[str, int]:
        """Return, by topic, the number of records behind the offsets committed by the connector, a sink."""
        from ignite_kafka.admin.lag_by_name import sink_lag

        record = self.owner()
        group = group_of(self._connector, record.settings if record else {})
        return sink_lag(Topics(self._clients), group, topics)
