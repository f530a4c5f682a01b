"""What the operators that copy have in common: one Spark app, its request and secrets as files, its end as the status topic tells it."""

from __future__ import annotations

import hashlib
import inspect
import shutil
import string
import tempfile
import unicodedata
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from airflow_provider_ignite_kafka.hooks.spark_app import AppExit, SparkAppHook, spark_master
from airflow_provider_ignite_kafka.run_status import ask_run, await_end, check_clusters, has_ended, overtaken_by, read_status
from airflow_provider_ignite_kafka.spark import run_result as outcome
from airflow_provider_ignite_kafka.spark.packaging import app_path
from airflow_provider_ignite_kafka.spark.request import Request
from airflow_provider_ignite_kafka.spark.submission import SparkMaster, build_submission
from airflow_provider_ignite_kafka.templates import TypedTemplates
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.settings.connector import NAME

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from ignite_kafka.state.status import RunStatus

_NAME_LETTERS, _NAME_KEPT = frozenset(string.ascii_letters + string.digits + "._-"), 160
# the last two let spark-submit go before the app has ended, which it is then not told from one that was lost
_OURS = frozenset({"self", "conn_id", "conf", "application_args", "java_class", "yarn_track_via_rm_api", "track_driver_via_k8s_api"})


class SparkCopyOperator(TypedTemplates, BaseOperator):
    """Run one of our Spark apps to its end and return its counts; an error that no retry cures fails the task without one.

    In client mode (``local[*]``, ``spark://``) the app runs beside the task and ends with it; with ``deploy-mode`` cluster (YARN,
    Kubernetes) the cluster runs it and spark-submit waits for its end.

    :param settings: settings of the connector by name, or the path of a ``.properties`` file on the worker. Templated.
    :param run_mode: ``once`` or ``continuous``; takes the place of that setting. Templated.
    :param ignite_conn_id: connection of type `ignite`.
    :param kafka_conn_id: connection of the Kafka provider; its extra holds librdkafka settings.
    :param conn_id: connection of the Spark provider.
    :param secrets_file: file with the secrets, at this path on worker, driver and executors (a mount). Without it the operator writes one
        from the connections, readable by its user alone, and removes it when the app has ended. Templated.
    :param ship_secrets_unprotected: without `secrets_file` Spark hands the secrets to executors. On a cluster whose Spark does not
        authenticate (``spark.authenticate``) that is refused, because whoever reaches the driver's port can have them; True accepts it.
    :param conf: Spark properties. Templated.
    :param num_executors: executors to start (YARN, Kubernetes).
    :param executor_cores: cores of an executor.
    :param executor_memory: memory of an executor, such as ``4g``.
    :param total_executor_cores: cores of all executors together (standalone).
    :param driver_memory: memory of the driver.
    :param application: the app, if not the installed one, such as ``local:///opt/app/ignite_to_kafka.py`` in an image. Templated.
    :param spark_submit: other arguments of the Spark provider's SparkSubmitHook by name: ``archives``, ``deploy_mode``, ``env_vars``,
        ``files``, ``keytab``, ``principal``, ``properties_file``, ``py_files``, ``spark_binary``, ``yarn_queue`` and so on. Templated.
    :param stop_timeout_ms: time that the app is given to end after its batch in hand, when the task is killed or runs out of time.

    ``max_active_tis_per_dag`` is 1 where it is not given and the connector's name is the same in each Dag run: runs of one connector wait
    for each other, also those of a backfill.
    """

    app_name: ClassVar[str]
    template_fields: Sequence[str] = (
        "settings",
        "run_mode",
        "ignite_conn_id",
        "kafka_conn_id",
        "conn_id",
        "secrets_file",
        "conf",
        "application",
        "spark_submit",
    )
    template_fields_renderers = {"settings": "json", "conf": "json", "spark_submit": "json"}

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | str,
        run_mode: str | None = None,
        ignite_conn_id: str = IgniteHook.default_conn_name,
        kafka_conn_id: str = "kafka_default",
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
        stop_timeout_ms: int = 30_000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if self.max_active_tis_per_dag is None and _one_connector(settings):
            self.max_active_tis_per_dag = 1  # of two runs of one connector the newer ends the older, as a backfill's would
        self.settings = settings
        self.run_mode = run_mode
        self.ignite_conn_id = ignite_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.conn_id = conn_id
        self.secrets_file = secrets_file
        self.ship_secrets_unprotected = ship_secrets_unprotected
        self.conf = conf
        self.num_executors = num_executors
        self.executor_cores = executor_cores
        self.executor_memory = executor_memory
        self.total_executor_cores = total_executor_cores
        self.driver_memory = driver_memory
        self.application = application
        self.spark_submit = spark_submit
        if not isinstance(spark_submit, str) and (wrong := _wrong_arguments(spark_submit)):
            raise ValueError(wrong)
        self.stop_timeout_ms = stop_timeout_ms
        self._hook: SparkAppHook | None = None
        self._killed = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the app to its end.

        :return: ``state``, ``connector``, ``snapshot_id``, ``run_id``, ``generation``, ``already_complete``, ``seconds``, ``records`` and
            ``caches``: by name ``topic``, ``entries``, ``records``, ``bytes``, ``units``, ``units_done``, ``seconds``, ``bad``.
        :raises AirflowFailException: the run failed and no retry cures it.
        :raises AirflowException: the run failed; a retry goes on where it ended.
        """
        folder = Path(tempfile.mkdtemp(prefix="ignite-kafka-"))
        try:
            names = RunNames.of(context)
            request = self._request(names)
            arguments = self._spark_arguments()
            master = spark_master(arguments)
            hook = self._hook = self._submit_hook(request, folder, master, arguments)
            check_clusters(request, ignite=not master.cluster_mode)
            if context["ti"].try_number > 1 and (other := overtaken_by(request, f"{names.snapshot_id}/")) is not None:
                raise outcome.overtaken(other)
            if self._killed:
                raise outcome.killed()
            ended = hook.run(self.application or str(app_path(self.app_name)))
            return self._settle(request, ended)
        except IgniteKafkaError as error:
            raise outcome.raised(error) from error
        finally:
            try:
                if self._hook is not None:
                    self._hook.close()
            finally:  # the secrets file is in there
                shutil.rmtree(folder, ignore_errors=True)

    def on_kill(self) -> None:
        """Ask the app to end after its batch in hand; kill it after `stop_timeout_ms`."""
        self._killed = True
        if self._hook is not None:
            self._hook.stop()

    @abstractmethod
    def _request(self, names: RunNames) -> Request:
        """What the app is asked to do.

        :raises SettingsError: a setting or a connection is wrong; nothing was started.
        """

    def _spark_arguments(self) -> dict[str, Any]:
        """Arguments of SparkSubmitHook, before those of the submission.

        :raises SettingsError: `spark_submit` was rendered to an argument that does not exist or cannot be set.
        """
        if wrong := _wrong_arguments(self.spark_submit):
            raise SettingsError(wrong, "See the parameter spark_submit of the operator", setting="spark_submit")
        return {
            "conn_id": self.conn_id,
            "num_executors": self.num_executors,
            "executor_cores": self.executor_cores,
            "executor_memory": self.executor_memory,
            "total_executor_cores": self.total_executor_cores,
            "driver_memory": self.driver_memory,
            "conf": dict(self.conf or {}),
            **(self.spark_submit or {}),
        }

    def _submit_hook(self, request: Request, folder: Path, master: SparkMaster, arguments: Mapping[str, Any]) -> SparkAppHook:
        return SparkAppHook(
            submission=build_submission(request, folder, master, arguments, ship_secrets_unprotected=self.ship_secrets_unprotected),
            folder=folder,
            stop_timeout_s=self.stop_timeout_ms / 1000,
            ask_run=lambda: ask_run(request),
            has_ended=lambda: has_ended(request),
            **arguments,
        )

    def _settle(self, request: Request, ended: AppExit) -> dict[str, Any]:
        try:
            status = read_status(request) if ended.reported else self._follow(request)
        except IgniteKafkaError as error:
            if ended.exit_code == 0:
                raise
            self.log.warning("The status topic could not be read: %s", error)
            status = None
        # a killed task is not done, however well its app ended: Airflow may try it again
        continuous = request.settings.run_mode == "continuous" and not self._killed
        if status is None or not outcome.succeeded(status, continuous=continuous):
            raise outcome.killed() if self._killed else outcome.failure(status, ended)
        result = outcome.result(status)
        what = "stopped" if continuous else f"snapshot {result['snapshot_id']}" if result["snapshot_id"] else "done"
        self.log.info("Connector %s, %s: %d records in %.1f s", result["connector"], what, result["records"], result["seconds"])
        return result

    def _follow(self, request: Request) -> RunStatus | None:
        """The last record of a run that spark-submit has left in the cluster; the hook is told where nothing is left to be stopped."""
        assert self._hook is not None
        self.log.warning("spark-submit has ended without word of the app's end; the status topic is followed until the run has ended.")
        status = await_end(request, stopped=lambda: self._killed)
        if (status is None and not self._hook.submitted) or (status is not None and status.ended_ms is not None):
            self._hook.settle()
        return status


def _one_connector(settings: object) -> bool:
    """Whether every Dag run has the same connector: its name is no template, and the settings are known when the Dag is read."""
    if isinstance(settings, Mapping):
        name = settings.get("name", "")
        return isinstance(name, str) and "{{" not in name
    return isinstance(settings, str) and "{{" not in settings


def _wrong_arguments(spark_submit: object) -> str | None:
    """What is wrong with the arguments for spark-submit: asked when a Dag is read, and again of what its templates were rendered to."""
    if not isinstance(spark_submit, Mapping):
        return None if spark_submit is None else f"spark_submit is no mapping of names to values, but {type(spark_submit).__name__}"
    known = inspect.signature(SparkSubmitHook.__init__).parameters
    unknown = [name for name in spark_submit if name not in known or name in _OURS]
    return f"spark_submit has {unknown[0]!r}, which SparkSubmitHook has not or which cannot be set here" if unknown else None


@dataclass(frozen=True)
class RunNames:
    """Names of a task's run: connector and snapshot are the same for every try, the run id names one try alone."""

    connector: str
    snapshot_id: str
    run_id: str

    @staticmethod
    def of(context: Context) -> RunNames:
        task = context["ti"]
        mapped = [str(task.map_index)] if task.map_index is not None and task.map_index >= 0 else []
        snapshot_id = "/".join([task.dag_id, task.task_id, task.run_id, *mapped])
        return RunNames(connector_name(".".join([task.dag_id, task.task_id, *mapped])), snapshot_id, f"{snapshot_id}/{uuid.uuid4()}")


def connector_name(name: str) -> str:
    """A default name that every connector may have, as Dag and task ids may hold letters beyond ASCII and be longer.

    A name that is allowed stays as it is. Of another one, letters lose their accents, what is still not allowed becomes ``_``, and a digest
    of the whole name keeps two such names apart: ``größe.kopie`` is ``gro_e.kopie-315b967c``.
    """
    try:
        return str(NAME.parse(name))
    except ValueError:
        plain = unicodedata.normalize("NFKD", name)
        kept = "".join(letter if letter in _NAME_LETTERS else "_" for letter in plain if not unicodedata.combining(letter))
        return f"{kept[:_NAME_KEPT]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
