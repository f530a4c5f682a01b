"""Base of the operators that copy.

Submit one Spark app with request and secrets as files, return its result from the status topic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import BaseOperator
from airflow.providers.common.compat.sdk import conf as airflow_conf

from airflow_provider_ignite_kafka.allowed_caches import check_allowed_caches
from airflow_provider_ignite_kafka.assets.copied import copied_of
from airflow_provider_ignite_kafka.assets.events import emit_asset_events, report_hook_lineage
from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID
from airflow_provider_ignite_kafka.lineage.copy import CopyLineage, injects_parent_job, with_parent_job
from airflow_provider_ignite_kafka.links.copy import ConnectorLink, SparkLink, TopicLink, push
from airflow_provider_ignite_kafka.operators.resumable_copy import ResumableCopy
from airflow_provider_ignite_kafka.operators.spark_app import SparkAppTask, check_arguments
from airflow_provider_ignite_kafka.parse_check import check_settings, is_mapped
from airflow_provider_ignite_kafka.runs import duration as run_for
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.lag import RunLag
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor, check_clusters
from airflow_provider_ignite_kafka.runs.names import RunNames, connector_name
from airflow_provider_ignite_kafka.runs.report import RunReport
from airflow_provider_ignite_kafka.runs.request import Request
from airflow_provider_ignite_kafka.runs.result import AppExit
from airflow_provider_ignite_kafka.spark.hook import SparkAppHook, spark_master
from airflow_provider_ignite_kafka.templates import TypedTemplates
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.state.status import now_ms

if TYPE_CHECKING:
    from datetime import timedelta

    from airflow.providers.common.compat.sdk import Context

    from ignite_kafka.state.status import RunStatus

_NOT_DEFERRED = (
    "deferrable has no effect: with master %s in client mode the Spark app is a child of this task and ends with it. "
    "Set deploy-mode cluster in connection %s (YARN, Kubernetes)."
)


class SparkCopyOperator(SparkAppTask, ResumableCopy, CopyLineage, TypedTemplates, BaseOperator):
    """Run one of our Spark apps to its end and return its counts.

    An error that no retry cures fails the task without retries.

    In client mode (``local[*]``, ``spark://``) the app runs on the worker and ends with the task. With ``deploy-mode``
    cluster (YARN, Kubernetes) the cluster runs it, and the task, or with `deferrable` a trigger, follows it by the
    connector's status topic. A retried task follows the run of an earlier try that goes on; ``durable=False`` replaces
    that run.

    :param settings: settings of the connector by name, or the path of a ``.properties`` file on the worker. Templated.
    :param run_mode: ``once`` or ``continuous``; overrides the setting. Templated.
    :param allowed_caches: regular expressions of the caches that a run may reach, whatever a form, a template or
        another task gives. Default: any cache.
    :param ignite_conn_id: connection of type `ignite`.
    :param kafka_conn_id: connection of the Kafka provider; its extra holds librdkafka settings.
    :param registry_conn_id: connection of type `http` of the schema registry, for converters that have one; its extra
        holds Confluent's properties. Templated.
    :param conn_id: connection of the Spark provider.
    :param secrets_file: file with the secrets, mounted at this path on worker, driver and executors. Default: the
        operator writes one from the connections, readable only by its user, and removes it when the app has ended.
        Templated.
    :param ship_secrets_unprotected: without `secrets_file` Spark sends the secrets to executors. If Spark does not
        authenticate (``spark.authenticate``), that is refused, because everybody who reaches the driver's port can read
        them; True allows it.
    :param conf: Spark properties. Templated.
    :param num_executors: executors to start (YARN, Kubernetes).
    :param executor_cores: cores of an executor.
    :param executor_memory: memory of an executor, such as ``4g``.
    :param total_executor_cores: cores of all executors together (standalone).
    :param driver_memory: memory of the driver.
    :param application: path of the app, such as ``local:///opt/app/ignite_to_kafka.py`` in an image. Default: the
        installed one. Templated.
    :param spark_submit: other arguments of the Spark provider's SparkSubmitHook by name: ``archives``, ``deploy_mode``,
        ``env_vars``, ``files``, ``keytab``, ``principal``, ``properties_file``, ``py_files``, ``spark_binary``,
        ``yarn_queue`` and so on. Templated.
    :param deferrable: follow the app from the triggerer, so that it holds no worker slot; in cluster mode only.
        Default: ``[operators] default_deferrable``.
    :param run_for: how long a stream runs from its first try on, before it is ended gracefully, which is a success: a
        timedelta, seconds, or text such as ``8:00:00`` or ``PT8H``. Templated.
    :param start_timeout_ms: milliseconds from the submission to the app's first record, in cluster mode.
    :param stop_timeout_ms: milliseconds that the app has to end after its current batch, when the task is killed or
        times out.
    :param openlineage_inject_parent_job_info: add the Spark properties by which OpenLineage's Spark listener names this
        task as parent. Default: option ``spark_inject_parent_job_info`` of section ``[openlineage]`` in Airflow's
        configuration.

    ``max_active_tis_per_dag`` defaults to 1 if the connector's name is the same in each Dag run: runs of one connector
    wait for each other, also those of a backfill.
    """

    direction: ClassVar[type[ConnectorSettings]]
    check_clusters: Callable[..., None] = staticmethod(check_clusters)
    template_fields: Sequence[str] = (
        "settings",
        "run_mode",
        "ignite_conn_id",
        "kafka_conn_id",
        "registry_conn_id",
        "conn_id",
        "secrets_file",
        "conf",
        "application",
        "spark_submit",
        "run_for",
    )
    template_fields_renderers = {"settings": "json", "conf": "json", "spark_submit": "json"}
    _run_request: Request | None = None
    _report: RunReport | None = None
    operator_extra_links = (ConnectorLink(), SparkLink(), TopicLink())

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | str,
        run_mode: str | None = None,
        allowed_caches: Sequence[str] | None = None,
        ignite_conn_id: str = DEFAULT_CONN_ID,
        kafka_conn_id: str = "kafka_default",
        registry_conn_id: str | None = None,
        conn_id: str = "spark_default",
        secrets_file: str | None = None,
        ship_secrets_unprotected: bool = False,
        conf: Mapping[str, Any] | None = None,
        num_executors: int | None = None,
        executor_cores: int | None = None,
        executor_memory: str | None = None,
        total_executor_cores: int | None = None,
        driver_memory: str | None = None,
        application: str | None = None,
        spark_submit: Mapping[str, Any] | None = None,
        deferrable: bool = airflow_conf.getboolean("operators", "default_deferrable", fallback=False),
        run_for: timedelta | float | str | None = None,
        start_timeout_ms: int = 1_800_000,
        stop_timeout_ms: int = 30_000,
        openlineage_inject_parent_job_info: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if self.max_active_tis_per_dag is None and _one_connector(settings):
            self.max_active_tis_per_dag = 1  # a newer run of a connector ends the older one
        self.settings = settings
        self.run_mode = run_mode
        self.allowed_caches = allowed_caches
        self.ignite_conn_id = ignite_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.registry_conn_id = registry_conn_id
        self.conn_id = conn_id
        self.secrets_file = secrets_file
        self.ship_secrets_unprotected = ship_secrets_unprotected
        self.conf = conf
        self.application = application
        self.spark_submit = spark_submit
        self.num_executors = num_executors
        self.total_executor_cores = total_executor_cores
        self.executor_cores = executor_cores
        self.executor_memory = executor_memory
        self.driver_memory = driver_memory
        check_arguments(spark_submit)
        self.deferrable = deferrable
        self.run_for = run_for
        self.start_timeout_ms = start_timeout_ms
        self.stop_timeout_ms = stop_timeout_ms
        self.openlineage_inject_parent_job_info = injects_parent_job(openlineage_inject_parent_job_info)

    def check_settings(self) -> None:
        """Check settings that are no templates, so that a wrong one is an import error of the Dag.

        :raises SettingsError: a setting is unknown or wrong.
        """
        if not is_mapped(self):
            arguments = {name: getattr(self, name, None) for name in ("run_mode", "failover_policy")}
            check_settings(self.settings, self.direction, arguments, dag=self.dag_id, task=self.task_id)

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the app to its end.

        :return: ``state``, ``connector``, ``snapshot_id``, ``run_id``, ``generation``, ``already_complete``,
            ``seconds``, ``records`` and ``caches``: by name ``topic``, ``entries``, ``records``, ``bytes``, ``units``,
            ``units_done``, ``seconds``, ``bad``.
        :raises AirflowFailException: the run failed and no retry can help.
        :raises AirflowException: the run failed; a retry resumes where it ended.
        """
        return self._copy(context)

    def _copy(self, context: Context) -> dict[str, Any]:
        self._exported = False
        with self._app_folder() as folder:
            names = RunNames.of(context)
            request = self._run_request = self._allowed_request(names)
            arguments = self._spark_arguments()
            arguments["conf"] = with_parent_job(
                arguments["conf"], context, inject=self.openlineage_inject_parent_job_info
            )
            master = spark_master(arguments)
            self._hook = self._submit_hook(request, folder, master, arguments)
            self.check_clusters(request, ignite=not master.cluster_mode)
            over = self._begin_try(context, request, f"{names.snapshot_id}/")
            if over is not None:
                self._exported = True  # by the try of that record
                self._report_end(context, self._try.monitor, over, succeeded=True)
                return run_result.to_xcom(over)
            self._report = self._report_of(context, self._try.monitor, request)
            self._report.started()
            if master.cluster_mode:
                return dict(self.execute_resumable(context))
            if self.deferrable:
                self.log.warning(_NOT_DEFERRED, master.url, self.conn_id)
            return self._run_beside_task(context, self._hook, self._try.monitor)

    def on_kill(self) -> None:
        """Request that the app ends after its current batch; kill it after `stop_timeout_ms`."""
        self._killed = True
        super().on_kill()
        self._stop_followed()

    def _close_app(self) -> None:
        super()._close_app()
        self._stop_followed()
        self._log_stop()

    def _lineage_request(self) -> Request:
        return self._allowed_request(RunNames(connector_name(f"{self.dag_id}.{self.task_id}"), "", ""))

    def _allowed_request(self, names: RunNames) -> Request:
        request = self._request(names)
        if self.allowed_caches is not None:
            check_allowed_caches(request.settings, self.allowed_caches)
        return request

    @abstractmethod
    def _request(self, names: RunNames) -> Request:
        """The request for the app.

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

    def _progressed(self, status: RunStatus) -> None:
        assert self._report is not None
        self._report.progressed(status)

    def _report_of(self, context: Context, monitor: RunMonitor, request: Request) -> RunReport:
        return RunReport(monitor, partial(push, context), RunLag.of(monitor, request))

    def _report_end(self, context: Context, monitor: RunMonitor, status: RunStatus | None, *, succeeded: bool) -> None:
        # a task that is resumed in another process has no request yet
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
        """Run the app as a child of the task."""
        with run_for.at(monitor.run.until_ms, hook.request_end):
            ended = self._run_hook()
        try:
            status = monitor.status()
        except IgniteKafkaError as error:
            if ended.exit_code == 0:
                raise
            self.log.warning("The status topic could not be read: %s", error)
            status = None
        continuous = (
            monitor.run.continuous and not self._killed
        )  # Airflow may retry a killed task, so its stop is no success
        succeeded = run_result.succeeded(status, continuous=continuous)
        self._report_end(context, monitor, status, succeeded=succeeded)
        if status is None or not succeeded:
            raise run_result.killed_exception() if self._killed else run_result.to_exception(status, ended)
        result = run_result.to_xcom(status)
        run_result.log_result(self.log, result)
        return result


def _one_connector(settings: object) -> bool:
    """Whether every Dag run has the same connector: name and settings are no templates."""
    if isinstance(settings, Mapping):
        name = settings.get("name", "")
        return isinstance(name, str) and "{{" not in name
    return isinstance(settings, str) and "{{" not in settings
