"""Base of the operators that submit a Spark app.

It has the app's arguments, the app's private folder with request and secrets, and ends the app with the task.
"""

from __future__ import annotations

import inspect
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.request import Connections, Request, build_request
from airflow_provider_ignite_kafka.runs.result import AppExit
from airflow_provider_ignite_kafka.spark.app_paths import app_path
from airflow_provider_ignite_kafka.spark.hook import SparkAppHook
from airflow_provider_ignite_kafka.spark.submission import SparkMaster, build_submission
from airflow_provider_ignite_kafka.templates import TypedTemplates
from ignite_kafka.common.local_disk import disk_errors
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings

# with the last two, spark-submit ends before the app, which then could not be distinguished from a lost app
_OURS = frozenset(
    {"self", "conn_id", "conf", "application_args", "java_class", "yarn_track_via_rm_api", "track_driver_via_k8s_api"}
)


class SparkAppOperator(TypedTemplates, BaseOperator):
    """Operator base that runs one of our Spark apps.

    :param settings: settings of the connector by name, or the path of a ``.properties`` file on the worker. Templated.
    :param ignite_conn_id: connection of type `ignite`. Templated.
    :param kafka_conn_id: connection of the Kafka provider; its extra holds librdkafka settings. Templated.
    :param registry_conn_id: connection of type `http` of the schema registry, for converters that have one; its extra
        holds Confluent's properties. Templated.
    :param conn_id: connection of the Spark provider. Templated.
    :param secrets_file: file with the secrets, mounted at this path on worker, driver and executors. Default: the
        operator writes one from the connections, readable only by its user, and removes it when the app has ended.
        Templated.
    :param ship_secrets_unprotected: without `secrets_file` Spark sends the secrets to executors. If Spark does not
        authenticate (``spark.authenticate``), this is refused, because everybody who reaches the driver's port could
        read the secrets; True allows it.
    :param conf: Spark properties. Templated.
    :param application: path of the app, such as ``local:///opt/app/ignite_to_kafka.py`` in an image. Default: the
        installed one. Templated.
    :param spark_submit: other arguments of the Spark provider's SparkSubmitHook by name: ``archives``, ``deploy_mode``,
        ``env_vars``, ``files``, ``keytab``, ``principal``, ``properties_file``, ``py_files``, ``spark_binary``,
        ``yarn_queue`` and so on. Templated.
    :param start_timeout_ms: milliseconds from the submission to the app's first record, in cluster mode.
    :param stop_timeout_ms: milliseconds within which the app must end, after its current batch, when the task is killed
        or times out.
    """

    app_name: ClassVar[str]
    template_fields: Sequence[str] = (
        "settings",
        "ignite_conn_id",
        "kafka_conn_id",
        "registry_conn_id",
        "conn_id",
        "secrets_file",
        "conf",
        "application",
        "spark_submit",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"settings": "json", "conf": "json", "spark_submit": "json"}
    _hook: SparkAppHook | None = None

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | str,
        ignite_conn_id: str = DEFAULT_CONN_ID,
        kafka_conn_id: str = "kafka_default",
        registry_conn_id: str | None = None,
        conn_id: str = "spark_default",
        secrets_file: str | None = None,
        ship_secrets_unprotected: bool = False,
        conf: Mapping[str, Any] | None = None,
        application: str | None = None,
        spark_submit: Mapping[str, Any] | None = None,
        start_timeout_ms: int = 1_800_000,
        stop_timeout_ms: int = 30_000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = settings
        self.ignite_conn_id = ignite_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.registry_conn_id = registry_conn_id
        self.conn_id = conn_id
        self.secrets_file = secrets_file
        self.ship_secrets_unprotected = ship_secrets_unprotected
        self.conf = conf
        self.application = application
        self.spark_submit = spark_submit
        self.start_timeout_ms = start_timeout_ms
        self.stop_timeout_ms = stop_timeout_ms
        _check_arguments(spark_submit)

    def on_kill(self) -> None:
        """Ask the app to end, and kill it after `stop_timeout_ms`."""
        if self._hook is not None:
            self._hook.stop()

    def _request_of(
        self,
        direction: type[ConnectorSettings],
        connector: str,
        run_id: str,
        snapshot_id: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        copies: bool = True,
    ) -> Request:
        """Return the request made of the operator's settings and connections; see :func:`.build_request`.

        :param connector: name of the connector if the settings have none.
        """
        return build_request(
            self.settings,
            direction,
            Connections.of(self.ignite_conn_id, self.kafka_conn_id, self.registry_conn_id),
            default_connector=connector,
            run_id=run_id,
            snapshot_id=snapshot_id,
            secrets_file=Path(self.secrets_file) if self.secrets_file else None,
            arguments=arguments,
            copies=copies,
        )

    @contextmanager
    def _app_folder(self) -> Iterator[Path]:
        """Create the app's private folder, and remove it when the task ends in any way.

        Errors of the library become exceptions of a task.
        """
        folder: Path | None = None
        try:
            with disk_errors():
                folder = Path(tempfile.mkdtemp(prefix="ignite-kafka-"))
                yield folder
        except IgniteKafkaError as error:
            raise run_result.error_to_exception(error) from error
        finally:
            try:
                self._close_app()
            finally:  # the folder holds the secrets file
                if folder is not None:
                    shutil.rmtree(folder, ignore_errors=True)

    def _close_app(self) -> None:
        if self._hook is not None:
            self._hook.close()

    def _spark_arguments(self) -> dict[str, Any]:
        """Return the first arguments of SparkSubmitHook, followed later by those of the submission.

        :raises SettingsError: `spark_submit` was rendered to an argument that does not exist or cannot be set.
        """
        if wrong := _wrong_arguments(self.spark_submit):
            raise SettingsError(wrong, "See the parameter spark_submit of the operator", setting="spark_submit")
        return {"conn_id": self.conn_id, "conf": dict(self.conf or {}), **(self.spark_submit or {})}

    def _submit_hook(
        self, request: Request, folder: Path, master: SparkMaster, arguments: Mapping[str, Any], *app_arguments: str
    ) -> SparkAppHook:
        """Return the hook that submits the app.

        :param app_arguments: the app's own arguments, after those common to all apps.
        """
        return SparkAppHook(
            submission=build_submission(
                request,
                folder,
                master,
                arguments,
                *app_arguments,
                ship_secrets_unprotected=self.ship_secrets_unprotected,
            ),
            folder=folder,
            stop_timeout_s=self.stop_timeout_ms / 1000,
            connection=master.connection,
            **arguments,
        )

    def _run_app(self, hook: SparkAppHook, on_line: Callable[[str], None]) -> AppExit:
        return hook.run(self.application or str(app_path(self.app_name)), on_line)


def _check_arguments(spark_submit: object) -> None:
    """Check arguments for spark-submit when the Dag is parsed, unless they are a template.

    :raises ValueError: an argument does not exist or cannot be set.
    """
    if not isinstance(spark_submit, str) and (wrong := _wrong_arguments(spark_submit)):
        raise ValueError(wrong)


def _wrong_arguments(spark_submit: object) -> str | None:
    """Return why arguments for spark-submit are invalid; None for valid arguments.

    The arguments are checked when the Dag is parsed, and again after rendering.
    """
    if not isinstance(spark_submit, Mapping):
        return (
            None
            if spark_submit is None
            else f"spark_submit must be a mapping of names to values, not {type(spark_submit).__name__}"
        )
    parameters = inspect.signature(SparkSubmitHook.__init__).parameters
    unknown = [name for name in spark_submit if name not in parameters or name in _OURS]
    return (
        f"spark_submit has {unknown[0]!r}, which is no argument of SparkSubmitHook or cannot be set here"
        if unknown
        else None
    )
