"""Follower of a task's run in a cluster: classifies the run's end, and stops the run with the task."""

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
"""Judgements of a run: a successful end; stopped by a killed task, so that a new run resumes it; an end without
success; no end in its record."""
_KILL_S = 30.0  # time limit for calls of Kafka and of the cluster


def judge_end(monitor: RunMonitor, status: RunStatus | None, *, killed: bool = False) -> str:
    """Classify a run by its last status record: succeeded, interrupted, failed or unfinished.

    A stop is the success of a continuous run, unless a task has asked for the stop, because Airflow may retry that
    task. If the time of the run (`run_for`) is over, the stop is a success although a task has asked for it.

    :param status: the run's record; None: no record.
    :param killed: whether the task that follows the run was killed.
    :raises IgniteKafkaError: Kafka did not answer.
    """
    if status is None or status.ended_ms is None:
        return UNFINISHED
    if status.state == STOPPED and (killed or _is_stopped_by_task(monitor, status)):
        return INTERRUPTED
    return SUCCEEDED if run_result.succeeded(status, continuous=monitor.run.continuous) else FAILED


def _is_stopped_by_task(monitor: RunMonitor, status: RunStatus) -> bool:
    """Return whether a task requested the run's stop before `run_for` was over, not a person."""
    return monitor.stop_requested(status.generation) and not monitor.run.time_is_up(status.ended_ms or 0)


class RunFollower:
    """Follower of a task's run in a cluster; stops the run if the task is killed or ends first.

    :param log: logger of the task.
    :param stop_timeout_s: seconds within which a run must end, after its current batch.
    """

    def __init__(self, log: Any, stop_timeout_s: float) -> None:
        self.killed = False
        self.cluster: ClusterRun | None = None
        self._log = log
        self._stop_timeout_s = stop_timeout_s
        self._unlogged: list[str] = []

    def follow(self, cluster: ClusterRun) -> str | None:
        """Poll a run until it ends or the task is killed.

        :return: reason (of :mod:`.watch`) why the run is no longer followed; None: the task was killed.
        """
        self.cluster = cluster
        return cluster.follow(lambda: self.killed)

    def release(self) -> None:
        """Let go of a run that has ended or is followed by a trigger; :meth:`stop` then does nothing."""
        self.cluster = None

    def kill(self) -> None:
        """Stop the run because its task is killed, and end :meth:`follow`."""
        self.killed = True
        self.stop()

    def stop(self) -> None:
        """Stop the followed run, if there is one, keeping the lines about it for :meth:`log_stop`.

        The run is stopped in a thread, because the caller may be a signal handler that holds the log's lock.
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
        """Log the lines that :meth:`stop` could not log, because it may run in a signal handler."""
        while self._unlogged:
            self._log.info("%s", self._unlogged.pop(0))
