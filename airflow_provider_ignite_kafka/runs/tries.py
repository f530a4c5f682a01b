"""Tries of a task: each follows, replaces or stops the run submitted by an earlier try.

A run in a cluster outlives the process of its task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_ignite_kafka.runs import duration
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.cluster_app import ClusterApp
from airflow_provider_ignite_kafka.runs.follower import SUCCEEDED, judge_end
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from ignite_kafka.state.status import RunStatus, now_ms

ACTIVE = "active"
GONE = "gone"
"""States of a run submitted by an earlier try, besides :data:`.follower.SUCCEEDED`: an active run is followed by a new
try; a gone run is replaced by a new run."""


@dataclass(frozen=True)
class EarlierRun:
    """Run submitted by an earlier try of the task, to be followed, replaced or stopped by the new try.

    :param state: ACTIVE, SUCCEEDED or GONE.
    :param must_stop: whether the run must be stopped before a new run replaces it, because a user has cleared the task.
    """

    run: FollowedRun
    state: str
    must_stop: bool = False


@dataclass(frozen=True)
class TaskTry:
    """Start of a task's try: finds an earlier try's run before it submits its own.

    :param monitor: monitor of the run that this try would submit.
    :param own_runs: prefix of the run ids of all tries of the task.
    :param retried: whether there were tries before.
    :param over: record of the last try, if the time of the stream is over, so that no run is started.
    """

    monitor: RunMonitor
    own_runs: str
    retried: bool = False
    over: RunStatus | None = None

    @staticmethod
    def begin(monitor: RunMonitor, own_runs: str, run_for_ms: int | None, *, retried: bool) -> TaskTry:
        """Begin a try, and compute by `run_for_ms` when its stream must end.

        :param run_for_ms: total time of the stream over all tries, in milliseconds; None: no limit.
        :raises AirflowException: a newer run, of another task, has the connector.
        """
        if retried and (other := monitor.superseded_by(own_runs)) is not None:
            raise run_result.superseded_exception(other)
        if run_for_ms is None:
            return TaskTry(monitor, own_runs, retried)
        tries = monitor.tries(own_runs) if retried else []
        run = replace(monitor.run, until_ms=duration.until_ms(tries, run_for_ms, now_ms()))
        is_over = run.time_is_up(now_ms()) and monitor.active_try(own_runs) is None
        return TaskTry(monitor.following(run), own_runs, retried, tries[-1] if is_over else None)

    def active_run(self) -> FollowedRun | None:
        """Find the run of an earlier try that is still active, to follow it instead of a new run."""
        run_id = self.monitor.active_try(self.own_runs)
        return None if run_id is None else replace(self.monitor.run, run_id=run_id)

    def earlier_run(self, stored: FollowedRun) -> EarlierRun:
        """Decide whether to follow or replace the run kept in Airflow's task state store.

        The store keeps a run from its submission on. The connector's own records name the run from its start on, and
        may name a later run.
        """
        is_cleared = 0 <= stored.max_tries < self.monitor.run.max_tries
        if (active := self.active_run()) is not None:
            run = stored if stored.run_id == active.run_id else active
            return EarlierRun(run, GONE if is_cleared else ACTIVE, must_stop=is_cleared)
        monitor = self.monitor.following(stored)
        status = monitor.status()
        if is_cleared:
            has_not_ended = self._begins(stored) if status is None else status.ended_ms is None
            return EarlierRun(stored, GONE, must_stop=has_not_ended)
        if status is None:
            return EarlierRun(stored, ACTIVE if self._begins(stored) else GONE)
        return EarlierRun(stored, SUCCEEDED if judge_end(monitor, status) == SUCCEEDED else GONE)

    def _begins(self, run: FollowedRun) -> bool:
        """Return whether a submitted run without a status record may still be starting."""
        return now_ms() - run.submitted_ms < run.start_s * 1000 and not ClusterApp(run).has_ended()
