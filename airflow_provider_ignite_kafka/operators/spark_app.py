"""Mixin of the operators that submit a Spark app.

It has the app's arguments, the app's private folder with request and secrets, and ends the app with the task.
"""

from __future__ import annotations

import inspect
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.request import Connections, Request, build_request
from airflow_provider_ignite_kafka.runs.result import AppExit
from airflow_provider_ignite_kafka.spark.hook import SparkAppHook
from airflow_provider_ignite_kafka.spark.packaging import app_path
from airflow_provider_ignite_kafka.spark.submission import SparkMaster, build_submission
from ignite_kafka.common.local_disk import disk_errors
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings

# with the last two, spark-submit ends before the app, which then could not be distinguished from a lost app
_OURS = frozenset(
    {"self", "conn_id", "conf", "application_args", "java_class", "yarn_track_via_rm_api", "track_driver_via_k8s_api"}
)


class SparkAppTask:
    """Operator mixin that runs one of our Spark apps; :class:`.CopyArguments` describes the operators' parameters."""

    app_name: ClassVar[str]
    settings: Mapping[str, Any] | str
    ignite_conn_id: str
    kafka_conn_id: str
    registry_conn_id: str | None
    secrets_file: str | None
    conn_id: str
    conf: Mapping[str, Any] | None
    application: str | None
    spark_submit: Mapping[str, Any] | None
    ship_secrets_unprotected: bool
    stop_timeout_ms: int
    _hook: SparkAppHook | None = None

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


def check_arguments(spark_submit: object) -> None:
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
