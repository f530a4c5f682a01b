"""Monitor of a connector's run through Kafka.

It reads the run's records, and can request the run's stop. :func:`check_clusters` checks the run's clusters before.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.records import RunRecords
from airflow_provider_ignite_kafka.runs.watch import active_try
from ignite_kafka.errors import IgniteUnreachable
from ignite_kafka.ignite.endpoint import IgniteEndpoint, split_address
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.status import RunStatus, now_ms

if TYPE_CHECKING:
    from airflow_provider_ignite_kafka.runs.request import Request

log = logging.getLogger(__name__)
_CHECK_S = 10.0


class RunMonitor:
    """Reader of one run's records in Kafka, for the process that follows it; it can also stop the run.

    :raises IgniteKafkaError: from every method, if Kafka does not answer.
    """

    def __init__(self, run: FollowedRun, records: RunRecords) -> None:
        self.run = run
        self._records = records

    @staticmethod
    def of(request: Request, run: FollowedRun) -> RunMonitor:
        """Make the monitor of a run that this process submits, with the request's settings and secrets."""
        clients = KafkaClients.of(request.settings, request.secrets)
        return RunMonitor(run, RunRecords(clients, request.settings.internal_topic_prefix, request.settings.name))

    def following(self, run: FollowedRun) -> RunMonitor:
        """Make the monitor of another run of the same connector, with the same Kafka clients."""
        return type(self)(run, self._records)

    def poll(self) -> tuple[RunStatus | None, int]:
        """Read the run's status record and its time in milliseconds since 1970; (None, 0) without a record."""
        return self._records.run(self.run.run_id)

    def status(self) -> RunStatus | None:
        """Read the run's record in the status topic; None if the app has written no record."""
        return self.poll()[0]

    def has_ended(self) -> bool:
        """Return whether the app has reported the run's end in the status topic."""
        status = self.status()
        return status is not None and status.ended_ms is not None

    def request_stop(self) -> bool:
        """Ask a continuous run to end after its current batch, through the connector's target state.

        The target state names the run's generation, so a newer run of the connector ignores it.

        :return: False if the run is not active, is not continuous, or has lost the connector to another run.
        """
        if not self.run.streams or (status := self.status()) is None or status.ended_ms is not None:
            return False
        owner = self._records.owner()
        if owner is None or owner.run_id != self.run.run_id:
            return False
        self._records.request_stop(owner.generation)
        return True

    def sink_lag(self, status: RunStatus) -> Mapping[str, int]:
        """Read a sink's number of records left to store, by topic; empty for a source."""
        return self._records.sink_lag({cache.topic for cache in status.caches.values()}) if self.run.sink else {}

    def stop_requested(self, generation: int) -> bool:
        """Return whether an Airflow task, not a person, has requested the stop of this generation's run."""
        return bool(generation) and self._records.stopped_generation() == generation

    def tries(self, own_runs: str) -> list[RunStatus]:
        """Read the status records of the runs of a task's earlier tries, oldest first.

        :param own_runs: prefix of the run ids of all tries of this task.
        """
        return sorted(
            (run for run_id, run in self._records.runs().items() if run_id.startswith(own_runs)),
            key=lambda run: run.started_ms,
        )

    def earlier_run(self, status: RunStatus) -> RunStatus | None:
        """Find the run before the given one that copied the same snapshot; None for the first run."""
        if not status.snapshot_id:
            return None
        runs = self._records.runs().values()
        same = [run for run in runs if run.snapshot_id == status.snapshot_id and run.run_id != status.run_id]
        return max(same, key=lambda run: run.started_ms, default=None)

    def active_try(self, own_runs: str) -> str | None:
        """Find the run id of an earlier try of this task that is still active; see :func:`.watch.active_try`."""
        owner = self._records.owner()
        if owner is None or not owner.run_id.startswith(own_runs):
            return None
        status, written_ms = self._records.run(owner.run_id)
        stop_requested = self.stop_requested(owner.generation)
        is_active = active_try(
            own_runs, owner.run_id, status, written_ms, now_ms(), self.run.silence_s, stop_requested=stop_requested
        )
        return owner.run_id if is_active else None

    def superseded_by(self, own_runs: str) -> RunStatus | None:
        """Find another task's active run, begun after this task's last try; a retry must not end it.

        :param own_runs: prefix of the run ids of all tries of this task.
        """
        runs = self._records.runs()
        tries = [run.started_ms for run_id, run in runs.items() if run_id.startswith(own_runs)]
        owner = self._records.owner()
        other = runs.get(owner.run_id) if owner is not None and not owner.run_id.startswith(own_runs) else None
        supersedes = other is not None and other.ended_ms is None and tries and other.started_ms >= max(tries)
        return other if supersedes else None


def check_clusters(request: Request, *, ignite: bool, timeout_s: float = _CHECK_S) -> None:
    """Send a request to Kafka and to Ignite before a Spark app starts, each limited to `timeout_s` seconds.

    So a wrong address, password or certificate is detected in seconds.

    :param ignite: whether this worker must reach Ignite. In cluster mode only the driver must: if no node answers the
        worker, this is only logged, but a refused certificate or password, or an unusable file, is an error.
    :raises IgniteKafkaError: a cluster does not answer.
    """
    KafkaClients.of(request.settings, request.secrets).check(timeout_s)
    try:
        with request.cluster(timeout_s) as cluster:
            cluster.active()
    except IgniteUnreachable as error:
        if ignite or _reachable(request.settings.ignite_endpoint.bounded(timeout_s)):
            raise
        log.warning("This worker cannot check the connection to Ignite, the driver will: %s", error)


def _reachable(endpoint: IgniteEndpoint) -> bool:
    """Return whether any Ignite address accepts TCP connections from this worker."""
    for address in endpoint.addresses:
        with suppress(OSError), socket.create_connection(split_address(address), endpoint.connect_timeout_ms / 1000):
            return True
    return False
