"""Copy in a cluster: submitted once, followed by the status topic from the task or a trigger, and found again by the next try."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowTaskTimeout

from airflow_provider_ignite_kafka.airflow_api import ResumableJobMixin, task_store
from airflow_provider_ignite_kafka.runs import duration as run_for
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.cluster_app import ClusterApp
from airflow_provider_ignite_kafka.runs.cluster_run import ClusterRun
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.kafka_access import monitor_of_run
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from airflow_provider_ignite_kafka.runs.progress import ProgressLog
from airflow_provider_ignite_kafka.runs.result import AppExit
from airflow_provider_ignite_kafka.runs.watch import ENDED, TIMED_OUT
from airflow_provider_ignite_kafka.triggers.connector_run import ConnectorRunTrigger
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import STOPPED, RunStatus, now_ms

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from airflow_provider_ignite_kafka.runs.request import Request

ACTIVE = "active"
SUCCEEDED = "succeeded"
GONE = "gone"
"""States of a run that an earlier try has submitted."""
_KILL_S = 30.0  # for the cluster's own kill command, if the run has not ended


@dataclass(frozen=True)
class CopyTry:
    """One try of a task, before anything is submitted.

    :param monitor: of the run that this try would submit.
    :param own_runs: prefix of the run ids of all tries of the task.
    :param retried: whether there were tries before.
    """

    monitor: RunMonitor
    own_runs: str
    retried: bool = False


class ResumableCopy(ResumableJobMixin):
    """Operator mixin: a run in a cluster outlives the task's process, so the next try follows it instead of starting a second app.

    Airflow 3.3's task state store keeps the run from its submission on. Where it is missing, or lost the run, the
    connector's own records in Kafka name it from its start on.
    """

    external_id_key = "ignite_kafka_run"
    monitor_of_run: Callable[[FollowedRun], RunMonitor] = staticmethod(monitor_of_run)
    monitor_of: Callable[[Request, FollowedRun], RunMonitor] = staticmethod(RunMonitor.of)
    ignite_conn_id: str
    kafka_conn_id: str
    conn_id: str
    deferrable: bool
    run_for: timedelta | float | str | None
    start_timeout_ms: int
    stop_timeout_ms: int
    execution_timeout: timedelta | None
    _try: CopyTry
    _killed = False
    _followed: ClusterRun | None = None
    _attached: FollowedRun | None = None
    _counts: dict[str, Any] | None = None
    _exported = False  # whether metrics have the counts of the run's last record
    _unlogged: Sequence[str] = ()

    if TYPE_CHECKING:  # of Airflow's operator
        defer: Callable[..., NoReturn]

    @abstractmethod
    def _copy(self, context: Context) -> dict[str, Any]:
        """One try: submit the app or follow an earlier try's run to its end."""

    @abstractmethod
    def _submit(self) -> tuple[FollowedRun, AppExit]:
        """Run spark-submit until the cluster has accepted the app."""

    @abstractmethod
    def _progressed(self, status: RunStatus) -> None:
        """Tell Airflow about a status record of the run that goes on."""

    @abstractmethod
    def _report_end(self, context: Context, monitor: RunMonitor, status: RunStatus | None, *, succeeded: bool) -> None:
        """Tell Airflow what the run has copied."""

    def _begin_try(self, context: Context, request: Request, own_runs: str) -> RunStatus | None:
        """Check that this try may run, and set the time at which its stream ends.

        :param own_runs: prefix of the run ids of all tries of the task.
        :return: the last try's record if the time of the stream is up, so that nothing is started.
        :raises AirflowException: a newer run has the connector, or the task was killed.
        """
        task = context["ti"]
        duration_ms = run_for.duration_ms(self.run_for, request.settings)
        retried = task.try_number > 1
        run = FollowedRun.of(
            request, self.kafka_conn_id, self.conn_id, self.start_timeout_ms / 1000, self.ignite_conn_id
        )
        run = replace(run, max_tries=task.max_tries)
        monitor = self.monitor_of(request, run)
        if retried and (other := monitor.superseded_by(own_runs)) is not None:
            raise run_result.superseded_exception(other)
        if self._killed:
            raise run_result.killed_exception()
        tries = monitor.tries(own_runs) if retried and duration_ms is not None else []
        if duration_ms is not None:
            run = replace(run, until_ms=run_for.until_ms(tries, duration_ms, now_ms()))
        self._try = CopyTry(monitor.following(run), own_runs, retried)
        if run.time_is_up(now_ms()) and monitor.active_try(own_runs) is None:
            self.log.warning(
                "run_for is over, and no run was active at its end: nothing is started. The next run resumes."
            )
            return tries[-1]
        return None

    def submit_job(self, context: Context) -> Any:
        """Submit the app, or find the run of an earlier try that goes on.

        :raises AirflowException: spark-submit failed.
        """
        resumes = self._try.retried and self.durable
        if resumes and (run_id := self._try.monitor.active_try(self._try.own_runs)) is not None:
            self._attached = replace(self._try.monitor.run, run_id=run_id)
            return self._attached.to_dict()
        run, ended = self._submit()
        cluster = self._cluster_run(run)
        if self._killed:
            cluster.stop(self._stop_timeout_s, self.log.info)
            raise run_result.killed_exception()
        if ended.exit_code and not run.app_id:
            raise run_result.to_exception(cluster.monitor.status(), ended)
        if cluster.app.log_command:
            self.log.info("The cluster runs the app as %s. Log of its driver: %s", run.app_id, cluster.app.log_command)
        return run.to_dict()

    def get_job_status(self, external_id: Any, context: Context) -> str:
        """The state of the run that an earlier try has submitted."""
        monitor = self._try.monitor
        own_runs = self._try.own_runs
        run = FollowedRun.from_dict(external_id)
        cleared = 0 <= run.max_tries < monitor.run.max_tries
        if (run_id := monitor.active_try(own_runs)) is not None:
            active = run if run.run_id == run_id else replace(monitor.run, run_id=run_id)
            return self._stopped(active) if cleared else self._attach(active)
        status = monitor.following(run).status()
        begins = status is None and now_ms() - run.submitted_ms < run.start_s * 1000 and not ClusterApp(run).has_ended()
        if cleared:
            return self._stopped(run) if begins or (status is not None and status.ended_ms is None) else GONE
        if begins:
            return self._attach(run)
        if (
            status is None
            or not run_result.succeeded(status, continuous=run.continuous)
            or self._stopped_early(monitor, run, status)
        ):
            return GONE
        return SUCCEEDED

    def _attach(self, run: FollowedRun) -> str:
        self._attached = run
        return ACTIVE

    def _stopped(self, run: FollowedRun) -> str:
        """Stop the run of a task that a user has cleared, if its trigger has not done it yet.

        The settings may have changed.
        """
        self.log.info(
            "The task was cleared; run %s of an earlier try is asked to stop, and a new one resumes it.", run.run_id
        )
        self._followed = self._cluster_run(run)
        self._stop_followed()
        return GONE

    def is_job_active(self, status: str) -> bool:
        """Whether the run is followed."""
        return status == ACTIVE

    def is_job_succeeded(self, status: str) -> bool:
        """Whether the run has ended well while no task followed it."""
        return status == SUCCEEDED

    def poll_until_complete(self, external_id: Any, context: Context) -> Any:
        """Follow the run to its end, here or in the triggerer."""
        if self._attached is not None:
            self.log.info("Following run %s of an earlier try, which goes on.", self._attached.run_id)
        run = self._attached or FollowedRun.from_dict(external_id)
        attached = self._attached is not None
        self._attached = None
        if self.deferrable:
            self._defer(run, attached=attached)
        cluster = self._followed = self._cluster_run(run)
        reason = cluster.follow(lambda: self._killed)
        return self._concluded(context, cluster, reason, attached=attached)

    def get_job_result(self, external_id: Any, context: Context) -> Any:
        """The run's counts."""
        if self._counts is not None:
            return self._counts
        monitor = self._try.monitor.following(FollowedRun.from_dict(external_id))
        status = monitor.status()
        assert status is not None
        return self._succeeded(context, monitor, status)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Return the result of the run that the trigger has followed.

        :raises AirflowException: the run failed; a retry resumes where it ended.
        :raises AirflowFailException: no retry can help.
        """
        try:
            monitor = self.monitor_of_run(FollowedRun.from_dict(event["run"]))
            cluster = self._followed = ClusterRun(
                monitor, ClusterApp(monitor.run), ProgressLog(self.log, monitor.sink_lag)
            )
            self._exported = bool(event.get("reported"))
            if "error" in event:
                self._stop_followed()
                kind = AirflowFailException if event.get("final") else AirflowException
                raise kind(f"The trigger could not follow the run, which was asked to stop: {event['error']}")
            return self._concluded(context, cluster, event.get("reason"), attached=bool(event.get("attached")))
        except IgniteKafkaError as error:
            raise run_result.error_to_exception(error) from error
        finally:
            self._stop_followed()
            self._log_stop()

    def _defer(self, run: FollowedRun, *, attached: bool) -> NoReturn:
        timeout_ms = (
            None
            if self.execution_timeout is None
            else now_ms() + int(self.execution_timeout / timedelta(milliseconds=1))
        )
        trigger = ConnectorRunTrigger(run=run.to_dict(), timeout_ms=timeout_ms, attached=attached)
        self.defer(trigger=trigger, method_name="execute_complete")

    def _cluster_run(self, run: FollowedRun) -> ClusterRun:
        monitor = self._try.monitor.following(run)
        return ClusterRun(monitor, ClusterApp(run), ProgressLog(self.log, monitor.sink_lag), self._progressed)

    def _concluded(self, context: Context, cluster: ClusterRun, reason: str | None, *, attached: bool) -> Any:
        """The result of a run that is followed no further."""
        monitor = cluster.monitor
        if reason == ENDED:
            self._followed = None
        else:
            self._stop_followed()
        if reason == TIMED_OUT:
            raise AirflowTaskTimeout(
                f"The task has timed out after {self.execution_timeout}, and its run was asked to stop."
            )
        status = monitor.status()
        if (
            attached
            and not self._killed
            and (reason != ENDED or (status and self._stopped_early(monitor, monitor.run, status)))
        ):
            self.log.info(
                "Run %s of an earlier try was stopped, or reports nothing any more; a new run resumes it.",
                monitor.run.run_id,
            )
            return self._copy(context)
        continuous = (
            monitor.run.continuous and not self._killed
        )  # Airflow may retry a killed task, so its stop is no success
        if status is not None and run_result.succeeded(status, continuous=continuous):
            return self._succeeded(context, monitor, status)
        self._report_end(context, monitor, status, succeeded=False)
        raise (
            run_result.killed_exception()
            if self._killed
            else run_result.lost_exception(status, reason, cluster.app.log_command)
        )

    def _stopped_early(self, monitor: RunMonitor, run: FollowedRun, status: RunStatus) -> bool:
        """Whether a run has followed the request of a task that was killed, and not one of a person or of `run_for`."""
        return (
            status.state == STOPPED
            and monitor.stop_requested(status.generation)
            and not run.time_is_up(status.ended_ms or 0)
        )

    def _succeeded(self, context: Context, monitor: RunMonitor, status: RunStatus) -> dict[str, Any]:
        if (store := task_store(context)) is not None:
            store.delete(self.external_id_key)  # a task that is cleared after its success runs again
        self._report_end(context, monitor, status, succeeded=True)
        self._counts = run_result.to_xcom(status)
        run_result.log_result(self.log, self._counts)
        return self._counts

    @property
    def _stop_timeout_s(self) -> float:
        return self.stop_timeout_ms / 1000

    def _stop_followed(self) -> None:
        """Stop the run that is followed, in a thread: a signal handler, which calls this, may hold the log's lock."""
        cluster = self._followed
        self._followed = None
        if cluster is None:
            return
        timeout_s = self._stop_timeout_s
        lines = list(self._unlogged)
        self._unlogged = lines
        stopper = threading.Thread(target=cluster.stop, args=(timeout_s, lines.append), name="stop-run", daemon=True)
        stopper.start()
        stopper.join(timeout_s + _KILL_S)

    def _log_stop(self) -> None:
        lines = self._unlogged
        self._unlogged = ()
        for line in lines:
            self.log.info(line)
