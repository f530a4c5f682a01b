"""A run of a connector, monitored through Kafka: its clusters are checked, its end is awaited, its stop is requested."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from airflow_provider_ignite_kafka.spark.request import Request
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.status import PAUSED, RunStatus, read_run, read_runs, written_ms

if TYPE_CHECKING:
    from ignite_kafka.state.configs import ConnectorRecord

_CHECK_S = 10.0
_POLL_S = 5.0  # each poll reads the status topic
_MISSED_REPORTS = 6


class RunRecords(Protocol):
    """Records that Kafka keeps for the runs of one connector; each call reads them again.

    :raises IgniteKafkaError: from every method, if Kafka does not answer.
    """

    def run(self, run_id: str) -> RunStatus | None:
        """The status record of a run; None if it wrote none."""

    def runs(self) -> Mapping[str, RunStatus]:
        """Status records of all runs of the connector, by run id."""

    def written_ms(self, run_id: str) -> int:
        """Time at which a run wrote last, in milliseconds since 1970."""

    def owner(self) -> ConnectorRecord | None:
        """The run that has the connector now; None if there is none."""

    def request_stop(self, generation: int) -> None:
        """Set the connector's target state to STOPPED for one generation of its runs."""


class KafkaRunRecords:
    """:class:`RunRecords` of the connector of a request."""

    def __init__(self, request: Request) -> None:
        self._clients = KafkaClients.of(request.settings, request.secrets)
        self._prefix, self._connector = request.settings.internal_topic_prefix, request.settings.name

    def run(self, run_id: str) -> RunStatus | None:
        """See :meth:`RunRecords.run`."""
        return read_run(self._clients, self._prefix, self._connector, run_id)

    def runs(self) -> Mapping[str, RunStatus]:
        """See :meth:`RunRecords.runs`."""
        return read_runs(self._clients, self._prefix, self._connector)

    def written_ms(self, run_id: str) -> int:
        """See :meth:`RunRecords.written_ms`."""
        return written_ms(self._clients, self._prefix, self._connector, run_id)

    def owner(self) -> ConnectorRecord | None:
        """See :meth:`RunRecords.owner`."""
        from ignite_kafka.state.configs import read_connector  # imports pyarrow, which a Dag file must not load

        return read_connector(self._clients, Topics(self._clients), self._prefix, self._connector).connector

    def request_stop(self, generation: int) -> None:
        """See :meth:`RunRecords.request_stop`."""
        from ignite_kafka.state.target_state import STOPPED, write_target

        write_target(self._clients, Topics(self._clients), self._prefix, self._connector, STOPPED, generation=generation)


class RunMonitor:
    """Monitors the run of one request.

    :param records: default: those in Kafka.
    :raises IgniteKafkaError: from every method but :meth:`await_end`, if a cluster does not answer.
    """

    def __init__(self, request: Request, records: RunRecords | None = None) -> None:
        self._request = request
        self._records = records or KafkaRunRecords(request)

    def check_clusters(self, *, ignite: bool, timeout_s: float = _CHECK_S) -> None:
        """Send one request to Kafka and, if `ignite`, to Ignite; each is given about `timeout_s` seconds.

        A wrong address, password or certificate is found in seconds, before a Spark app starts.
        """
        KafkaClients.of(self._request.settings, self._request.secrets).check(timeout_s)
        if ignite:
            from ignite_kafka.ignite.cluster import Cluster

            with Cluster(self._request.settings.ignite_endpoint.bounded(timeout_s), self._request.secrets.ignite) as cluster:
                cluster.active()

    def status(self) -> RunStatus | None:
        """The run's record in the status topic; None if the app wrote none."""
        return self._records.run(self._request.run_id)

    def has_ended(self) -> bool:
        """Whether the run's record has an end."""
        status = self.status()
        return status is not None and status.ended_ms is not None

    def await_end(self, *, stopped: Callable[[], bool], poll_s: float = _POLL_S) -> RunStatus | None:
        """Poll until the run's record has an end; return the last record, None if there is no record at all.

        Returns a record without an end if `stopped` is true, or if a run that is not paused wrote nothing for as long as its own retries
        may take. A Kafka that does not answer counts as such a silence.
        """
        settings = self._request.settings
        silence_s = max(settings.retry_timeout_ms, _MISSED_REPORTS * settings.progress_interval_ms) / 1000
        deadline = Deadline.after(silence_s)
        last: tuple[RunStatus | None, int] = (None, 0)
        while True:
            try:
                status = self.status()
                if status is None or status.ended_ms is not None:
                    return status
                now = (status, self._records.written_ms(self._request.run_id))
                if now != last or status.state == PAUSED:
                    last, deadline = now, Deadline.after(silence_s)
            except IgniteKafkaError:  # bounded by the deadline, too
                pass
            if stopped() or deadline.expired:
                return last[0]
            time.sleep(poll_s)

    def request_stop(self) -> bool:
        """Request that a continuous run ends after its current batch, by the connector's target state.

        The target state names the run's generation, so a newer run of the connector ignores it.

        :return: False if the run is not active, is not continuous, or has lost the connector to another run.
        """
        if not self._request.settings.streams or (status := self.status()) is None or status.ended_ms is not None:
            return False
        owner = self._records.owner()
        if owner is None or owner.run_id != self._request.run_id:
            return False
        self._records.request_stop(owner.generation)
        return True

    def superseded_by(self, own_runs: str) -> RunStatus | None:
        """The active run that took the connector after an earlier try of this task; None if there is none.

        :param own_runs: prefix of the run ids of all tries of this task.
        """
        runs = self._records.runs()
        tries = [run.started_ms for run_id, run in runs.items() if run_id.startswith(own_runs)]
        owner = self._records.owner()
        other = runs.get(owner.run_id) if owner is not None and not owner.run_id.startswith(own_runs) else None
        supersedes = other is not None and other.ended_ms is None and tries and other.started_ms >= max(tries)
        return other if supersedes else None
