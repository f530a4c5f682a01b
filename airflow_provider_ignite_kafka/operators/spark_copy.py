"""Base of the copying operators.

They submit one Spark app with request and secrets as files, and return its result from the status topic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowTaskTimeout

from airflow_provider_ignite_kafka.airflow_api import ResumableJobMixin, task_store
from airflow_provider_ignite_kafka.allowed_caches import check_allowed_caches
from airflow_provider_ignite_kafka.assets.copied import copied_of
from airflow_provider_ignite_kafka.assets.events import emit_asset_events, report_hook_lineage
from airflow_provider_ignite_kafka.lineage.copy import CopyLineage, with_parent_job
from airflow_provider_ignite_kafka.links.copy import ConnectorLink, SparkLink, TopicLink, push
from airflow_provider_ignite_kafka.operators.copy_arguments import CopyArguments
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.cluster_app import ClusterApp
from airflow_provider_ignite_kafka.runs.cluster_run import ClusterRun
from airflow_provider_ignite_kafka.runs.duration import call_at, duration_ms
from airflow_provider_ignite_kafka.runs.follower import INTERRUPTED, SUCCEEDED, RunFollower, judge_end
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.kafka_access import monitor_of_run
from airflow_provider_ignite_kafka.runs.lag import RunLag
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor, check_clusters
from airflow_provider_ignite_kafka.runs.names import RunNames, connector_name
from airflow_provider_ignite_kafka.runs.progress import ProgressLog
from airflow_provider_ignite_kafka.runs.report import RunReport
from airflow_provider_ignite_kafka.runs.request import Request
from airflow_provider_ignite_kafka.runs.result import AppExit
from airflow_provider_ignite_kafka.runs.tries import ACTIVE, TaskTry
from airflow_provider_ignite_kafka.runs.watch import ENDED, TIMED_OUT
from airflow_provider_ignite_kafka.spark.hook import SparkAppHook, spark_master
from airflow_provider_ignite_kafka.triggers.connector_run import ConnectorRunTrigger
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import now_ms

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from ignite_kafka.state.status import RunStatus

_NOT_DEFERRED = (
    "deferrable has no effect: with master %s in client mode the Spark app is a child of this task and ends with it. "
    "Set deploy-mode cluster in connection %s (YARN, Kubernetes)."
)


class SparkCopyOperator(ResumableJobMixin, CopyLineage, CopyArguments):
    """Operator base that runs one of our Spark apps to its end, and returns its counts.

    An error that a retry would have, too, fails the task without retries.

    In client mode (``local[*]``, ``spark://``) the app runs on the worker and ends with the task. With ``deploy-mode``
    cluster (YARN, Kubernetes) the cluster runs it, and the task, or with `deferrable` a trigger, follows it by the
    connector's status topic. A retried task follows a run of an earlier try that has not ended; ``durable=False``
    replaces that run.

    Parameters: :class:`.CopyArguments` and :class:`.SparkAppOperator`.
    """

    check_clusters: Callable[..., None] = staticmethod(check_clusters)
    operator_extra_links = (ConnectorLink(), SparkLink(), TopicLink())
    external_id_key = "ignite_kafka_run"
    monitor_of: Callable[[Request, FollowedRun], RunMonitor] = staticmethod(RunMonitor.of)
    monitor_of_run: Callable[[FollowedRun], RunMonitor] = staticmethod(monitor_of_run)
    _try: TaskTry
    _attached: FollowedRun | None = None
    _counts: dict[str, Any] | None = None
    _exported = False  # whether metrics have the counts of the run's last record
    _run_request: Request | None = None
    _report: RunReport | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the app to its end.

        :return: ``state``, ``connector``, ``snapshot_id``, ``run_id``, ``generation``, ``already_complete``,
            ``seconds``, ``records`` and ``caches``: by name ``topic``, ``entries``, ``records``, ``bytes``, ``units``,
            ``units_done``, ``seconds``, ``bad``.
        :raises AirflowFailException: the run failed and no retry can help.
        :raises AirflowException: the run failed; a retry resumes where it ended.
        """
        return self._run_try(context)

    def _run_try(self, context: Context) -> dict[str, Any]:
        """Run one try of the task to its end.

        1. Merge settings and connections into the request of the run.
        2. Check that the clusters answer, before Spark starts.
        3. Begin the try: check that no newer run has the connector, and that a stream's time is not over.
        4. In client mode, run the app as a child of the task to its end.
        5. In cluster mode, submit the app, or find the run of an earlier try; Airflow's ``execute_resumable`` calls
           the methods below for that.
        6. Follow the run by its records in Kafka, here or in the triggerer, to its end.
        7. Report what was copied, and return the counts or raise the error of the run.
        """
        self._exported = False
        with self._app_folder() as folder:
            # 1.
            names = RunNames.of(context)
            request = self._run_request = self._allowed_request(names)
            arguments = self._spark_arguments()
            inject = self.openlineage_inject_parent_job_info
            arguments["conf"] = with_parent_job(arguments["conf"], context, inject=inject)
            master = spark_master(arguments)
            self._hook = self._submit_hook(request, folder, master, arguments)
            # 2.
            self.check_clusters(request, ignite=not master.cluster_mode)
            # 3.
            current = self._try = self._begin_try(context, request, f"{names.snapshot_id}/")
            if current.over is not None:
                return self._returned_without_run(context, current.over)
            self._report = self._report_of(context, current.monitor, request)
            self._report.started()
            if master.cluster_mode:
                return dict(self.execute_resumable(context))  # 5. to 7.
            if self.deferrable:
                self.log.warning(_NOT_DEFERRED, master.url, self.conn_id)
            return self._run_beside_task(context, self._hook, current.monitor)  # 4. and 7.

    def _begin_try(self, context: Context, request: Request, own_runs: str) -> TaskTry:
        """Begin a try, before its run is submitted.

        :param own_runs: prefix of the run ids of all tries of the task.
        :raises AirflowException: a newer run has the connector, or the task was killed.
        """
        task = context["ti"]
        start_s = self.start_timeout_ms / 1000
        run = FollowedRun.of(request, self.kafka_conn_id, self.conn_id, start_s, self.ignite_conn_id)
        monitor = self.monitor_of(request, replace(run, max_tries=task.max_tries))
        run_for_ms = duration_ms(self.run_for, request.settings)
        current = TaskTry.begin(monitor, own_runs, run_for_ms, retried=task.try_number > 1)
        if self._follower.killed:
            raise run_result.killed_exception()
        return current

    def _returned_without_run(self, context: Context, last: RunStatus) -> dict[str, Any]:
        """Return the counts of the last try of a stream whose time is over."""
        self.log.warning("run_for is over, and no run was active at its end: nothing is started. The next run resumes.")
        self._exported = True  # by the try whose run wrote this record
        self._report_end(context, self._try.monitor, last, succeeded=True)
        return run_result.to_xcom(last)

    def submit_job(self, context: Context) -> Any:
        """Submit the app, or find a still active run of an earlier try.

        :return: the run, for Airflow's task state store.
        :raises AirflowException: spark-submit failed.
        """
        current = self._try
        if current.retried and self.durable and (active := current.active_run()) is not None:
            self._attached = active
            return active.to_dict()
        run, ended = self._submit()
        cluster = self._cluster_run(run)
        if self._follower.killed:
            cluster.stop(self.stop_timeout_ms / 1000, self.log.info)
            raise run_result.killed_exception()
        if ended.exit_code and not run.app_id:
            raise run_result.to_exception(cluster.monitor.status(), ended)
        if cluster.app.log_command:
            self.log.info("The cluster runs the app as %s. Log of its driver: %s", run.app_id, cluster.app.log_command)
        return run.to_dict()

    def get_job_status(self, external_id: Any, context: Context) -> str:
        """Return the state of the run submitted by an earlier try; stop the run if a user has cleared the task."""
        earlier = self._try.earlier_run(FollowedRun.from_dict(external_id))
        if earlier.state == ACTIVE:
            self._attached = earlier.run
        elif earlier.must_stop:
            # the settings may have changed since; the run's trigger may have stopped it already
            self.log.info(
                "The task was cleared; run %s of an earlier try is asked to stop, and a new one resumes it.",
                earlier.run.run_id,
            )
            self._follower.cluster = self._cluster_run(earlier.run)
            self._follower.stop()
        return earlier.state

    def is_job_active(self, status: str) -> bool:
        """Return whether the status means an active run of an earlier try, to be followed."""
        return status == ACTIVE

    def is_job_succeeded(self, status: str) -> bool:
        """Return whether the status means that an earlier try's run succeeded while no task followed it."""
        return status == SUCCEEDED

    def poll_until_complete(self, external_id: Any, context: Context) -> Any:
        """Follow the run to its end, here or in the triggerer."""
        attached = self._attached
        self._attached = None
        if attached is not None:
            self.log.info("Following run %s of an earlier try, which goes on.", attached.run_id)
        run = attached or FollowedRun.from_dict(external_id)
        if self.deferrable:
            self._defer(run, attached=attached is not None)
        cluster = self._cluster_run(run)
        reason = self._follower.follow(cluster)
        return self._concluded(context, cluster, reason, attached=attached is not None)

    def get_job_result(self, external_id: Any, context: Context) -> Any:
        """Return the counts of the run."""
        if self._counts is not None:
            return self._counts
        monitor = self._try.monitor.following(FollowedRun.from_dict(external_id))
        return self._succeeded(context, monitor, monitor.status())

    def _defer(self, run: FollowedRun, *, attached: bool) -> NoReturn:
        timeout = self.execution_timeout
        timeout_ms = None if timeout is None else now_ms() + int(timeout / timedelta(milliseconds=1))
        trigger = ConnectorRunTrigger(run=run.to_dict(), timeout_ms=timeout_ms, attached=attached)
        self.defer(trigger=trigger, method_name="execute_complete")

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Return the result of the run that the trigger has followed.

        :raises AirflowException: the run failed; a retry resumes where it ended.
        :raises AirflowFailException: no retry can help.
        """
        try:
            monitor = self.monitor_of_run(FollowedRun.from_dict(event["run"]))
            cluster = ClusterRun(monitor, ClusterApp(monitor.run), ProgressLog(self.log, monitor.sink_lag))
            self._follower.cluster = cluster
            self._exported = bool(event.get("reported"))
            if "error" in event:
                self._follower.stop()
                kind = AirflowFailException if event.get("final") else AirflowException
                raise kind(f"The trigger could not follow the run, which was asked to stop: {event['error']}")
            return self._concluded(context, cluster, event.get("reason"), attached=bool(event.get("attached")))
        except IgniteKafkaError as error:
            raise run_result.error_to_exception(error) from error
        finally:
            self._follower.stop()
            self._follower.log_stop()

    def _cluster_run(self, run: FollowedRun) -> ClusterRun:
        assert self._report is not None
        monitor = self._try.monitor.following(run)
        progress = ProgressLog(self.log, monitor.sink_lag)
        return ClusterRun(monitor, ClusterApp(run), progress, self._report.progressed)

    def _concluded(self, context: Context, cluster: ClusterRun, reason: str | None, *, attached: bool) -> Any:
        """Return the result of a run that is no longer followed.

        :param attached: whether an earlier try has submitted the run; if it is interrupted or lost, a new run resumes
            it.
        """
        if reason == ENDED:
            self._follower.release()
        else:
            self._follower.stop()
        if reason == TIMED_OUT:
            raise AirflowTaskTimeout(
                f"The task has timed out after {self.execution_timeout}, and its run was asked to stop."
            )
        monitor = cluster.monitor
        killed = self._follower.killed
        status = monitor.status()
        end = judge_end(monitor, status, killed=killed)
        if attached and not killed and (reason != ENDED or end == INTERRUPTED):
            run_id = monitor.run.run_id
            self.log.info(
                "Run %s of an earlier try was stopped, or reports nothing any more; a new run resumes it.", run_id
            )
            return self._run_try(context)
        if end == SUCCEEDED:
            return self._succeeded(context, monitor, status)
        self._report_end(context, monitor, status, succeeded=False)
        if killed:
            raise run_result.killed_exception()
        raise run_result.lost_exception(status, reason, cluster.app.log_command)

    def _succeeded(self, context: Context, monitor: RunMonitor, status: RunStatus | None) -> dict[str, Any]:
        assert status is not None
        if (store := task_store(context)) is not None:
            store.delete(self.external_id_key)  # a task cleared after its success must run again
        self._report_end(context, monitor, status, succeeded=True)
        self._counts = run_result.to_xcom(status)
        run_result.log_result(self.log, self._counts)
        return self._counts

    def on_kill(self) -> None:
        """Ask the app to end after its current batch, and kill it after `stop_timeout_ms`."""
        self._follower.killed = True
        super().on_kill()
        self._follower.stop()

    def _close_app(self) -> None:
        super()._close_app()
        self._follower.stop()
        self._follower.log_stop()

    @cached_property
    def _follower(self) -> RunFollower:
        return RunFollower(self.log, self.stop_timeout_ms / 1000)

    def _lineage_request(self) -> Request:
        return self._allowed_request(RunNames(connector_name(f"{self.dag_id}.{self.task_id}"), "", ""))

    def _allowed_request(self, names: RunNames) -> Request:
        request = self._request(names)
        if self.allowed_caches is not None:
            check_allowed_caches(request.settings, self.allowed_caches)
        return request

    @abstractmethod
    def _request(self, names: RunNames) -> Request:
        """Return the request for the app.

        :raises SettingsError: a setting or a connection is wrong; nothing was started.
        """

    def _spark_arguments(self) -> dict[str, Any]:
        own = {
            "num_executors": self.num_executors,
            "executor_cores": self.executor_cores,
            "executor_memory": self.executor_memory,
            "total_executor_cores": self.total_executor_cores,
            "driver_memory": self.driver_memory,
        }
        return {**own, **super()._spark_arguments()}

    def _report_of(self, context: Context, monitor: RunMonitor, request: Request) -> RunReport:
        return RunReport(monitor, partial(push, context), RunLag.of(monitor, request))

    def _report_end(self, context: Context, monitor: RunMonitor, status: RunStatus | None, *, succeeded: bool) -> None:
        # a task resumed in another process has no request yet
        request = self._run_request or self._request(RunNames.of(context))
        copied = copied_of(request.settings, status)
        self._copied = request, copied
        if succeeded:
            emit_asset_events(context, self.outlets, copied)
        report_hook_lineage(self, copied)
        if status is not None:
            report = self._report or self._report_of(context, monitor, request)
            report.ended(status, exported=self._exported)

    def _run_hook(self) -> AppExit:
        assert self._hook is not None
        assert self._report is not None
        return self._run_app(self._hook, self._report.printed)

    def _submit(self) -> tuple[FollowedRun, AppExit]:
        submitted_ms = now_ms()
        ended = self._run_hook()
        assert self._hook is not None
        run = self._try.monitor.run
        return replace(run, submitted_ms=submitted_ms, app_id=self._hook.app_id, namespace=self._hook.namespace), ended

    def _run_beside_task(self, context: Context, hook: SparkAppHook, monitor: RunMonitor) -> dict[str, Any]:
        """Run the app as a child process of the task."""
        with call_at(monitor.run.until_ms, hook.request_end):
            ended = self._run_hook()
        try:
            status = monitor.status()
        except IgniteKafkaError as error:
            if ended.exit_code == 0:
                raise
            self.log.warning("The status topic could not be read: %s", error)
            status = None
        killed = self._follower.killed
        # Airflow may retry a killed task, so the stop of its app is no success
        succeeded = run_result.succeeded(status, continuous=monitor.run.continuous and not killed)
        self._report_end(context, monitor, status, succeeded=succeeded)
        if status is None or not succeeded:
            raise run_result.killed_exception() if killed else run_result.to_exception(status, ended)
        result = run_result.to_xcom(status)
        run_result.log_result(self.log, result)
        return result
