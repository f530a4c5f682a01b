"""The run in a cluster that a task follows: how its end is judged, and how it is stopped with its task."""

from __future__ import annotations

import threading
from typing import Any

from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.cluster_run import ClusterRun
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from ignite_kafka.state.status import STOPPED, RunStatus

SUCCEEDED = "succeeded"
INTERRUPTED = "interrupted"
FAILED = "failed"
UNFINISHED = "unfinished"
"""Judgements of a run: its end is a success; a task that was killed has stopped it, so that a new run resumes it; its
end is no success; its record has no end."""
_KILL_S = 30.0  # for calls of Kafka and of the cluster that do not return


def judge_end(monitor: RunMonitor, status: RunStatus | None, *, killed: bool = False) -> str:
    """Judge a run by its last record.

    A stop is the success of a continuous run, unless a task has asked for it: Airflow may retry that task. The stop of
    a run whose time (`run_for`) is up is asked for by a task, too, and is a success.

    :param status: the run's record; None if there is none.
    :param killed: whether the task that follows the run was killed.
    :raises IgniteKafkaError: Kafka did not answer.
    """
    if status is None or status.ended_ms is None:
        return UNFINISHED
    if status.state == STOPPED and (killed or _is_stopped_by_task(monitor, status)):
        return INTERRUPTED
    return SUCCEEDED if run_result.succeeded(status, continuous=monitor.run.continuous) else FAILED


def _is_stopped_by_task(monitor: RunMonitor, status: RunStatus) -> bool:
    """Whether a task has asked the run to stop, and neither a person nor the end of `run_for`."""
    return monitor.stop_requested(status.generation) and not monitor.run.time_is_up(status.ended_ms or 0)


class RunFollower:
    """Follows a run for a task, and stops it if the task is killed or ends before it.

    :param log: logger of the task.
    :param stop_timeout_s: seconds that a run has to end after its current batch.
    """

    def __init__(self, log: Any, stop_timeout_s: float) -> None:
        self.killed = False
        self.cluster: ClusterRun | None = None
        self._log = log
        self._stop_timeout_s = stop_timeout_s
        self._unlogged: list[str] = []

    def follow(self, cluster: ClusterRun) -> str | None:
        """Follow a run to its end.

        :return: why it is followed no further: a reason of :mod:`.watch`; None: the task was killed.
        """
        self.cluster = cluster
        return cluster.follow(lambda: self.killed)

    def release(self) -> None:
        """Follow the run no further and leave it alone: it has ended, or a trigger follows it."""
        self.cluster = None

    def kill(self) -> None:
        """Note that the task is killed, and stop its run."""
        self.killed = True
        self.stop()

    def stop(self) -> None:
        """Stop the run that is followed, if any; the lines about it are logged by :meth:`log_stop`.

        In a thread: a signal handler, which may call this, may hold the log's lock.
        """
        cluster = self.cluster
        self.cluster = None
        if cluster is None:
            return
        arguments = (self._stop_timeout_s, self._unlogged.append)
        stopper = threading.Thread(target=cluster.stop, args=arguments, name="stop-run", daemon=True)
        stopper.start()
        stopper.join(self._stop_timeout_s + _KILL_S)

    def log_stop(self) -> None:
        """Log what was done to stop runs."""
        while self._unlogged:
            self._log.info("%s", self._unlogged.pop(0))
