"""Hook that runs a Spark app of this project by spark-submit, and stops it gracefully with its task."""

from __future__ import annotations

import importlib.util
import os
import select
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY, SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException, BaseHook

from airflow_provider_ignite_kafka.runs.result import AppExit
from airflow_provider_ignite_kafka.spark.process_watchdog import (
    ProcessWatchdog,
    signal_group,
    start_watchdog,
    terminate_app,
)
from airflow_provider_ignite_kafka.spark.submission import SparkMaster, Submission
from ignite_kafka.errors import SettingsError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

APP_LINE = "ignite-kafka: "
_TAIL_LINES = 20
_READ_BYTES = 65536
_PYSPARK = "pyspark", "pyspark-client"
_WATCHDOG_END_S = 30.0


class SparkAppHook(SparkSubmitHook):
    """Hook that extends the Spark provider's to stop the app gracefully and to report its error.

    In client mode the app is a child of spark-submit and ends with the task. In cluster mode spark-submit ends once the
    cluster has accepted the app, which :class:`.ClusterRun` then follows.

    :param submission: arguments of spark-submit; they override arguments of the same name.
    :param folder: private folder of the task, removed by the watchdog if the task is killed.
    :param stop_timeout_s: seconds between the request to stop and the kill.
    :param connection: the Spark connection that :func:`spark_master` has looked up.
    :param arguments: arguments of the base class, the same as for :func:`spark_master`.
    """

    def __init__(
        self,
        *,
        submission: Submission,
        folder: Path,
        stop_timeout_s: float,
        connection: Connection | None = None,
        **arguments: Any,
    ) -> None:
        self._known_connection = connection
        submitted = {
            "application_args": list(submission.application_args),
            "py_files": ",".join(submission.py_files),
            "files": ",".join(submission.files) or None,
            "conf": dict(submission.conf),
            "env_vars": None,  # part of the environment below
            "name": submission.name,
        }
        super().__init__(**{**_with_binary(arguments), **submitted})
        self._environment = dict(submission.environment)
        self._folder = folder
        self._stop_timeout_s = stop_timeout_s
        self._watchdog: ProcessWatchdog | None = None
        self._stop_requested = False
        self._app_error: str | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._unlogged: deque[str] = deque()

    def get_connection(self, conn_id: str) -> Connection:  # type: ignore[override]  # only called on objects here
        """Return the Spark connection given to the hook, to look it up only once for a run."""
        return self._known_connection or super().get_connection(conn_id)

    @property
    def app_id(self) -> str:
        """Id of the YARN application or name of the driver pod, printed by spark-submit.

        It is empty before the cluster has accepted the app.
        """
        return str(self._yarn_application_id or self._kubernetes_driver_pod or "")

    @property
    def namespace(self) -> str:
        """Kubernetes namespace of the driver pod; empty without a pod."""
        return str(self._connection["namespace"] or "")

    def run(self, application: str, on_line: Callable[[str], None] = lambda _line: None) -> AppExit:
        """Run spark-submit to its end, and return its exit code and last output, also if the app failed.

        :param on_line: called with each line of output.
        :raises AirflowException: the app could not be started.
        """
        self._on_line = on_line
        try:
            self.submit(application, start_new_session=True, errors="replace", env=self._environment)
        except AirflowException:
            if self._submit_sp is None or self._submit_sp.poll() is None:
                raise
        assert self._submit_sp is not None
        return AppExit(int(self._submit_sp.returncode), self._app_error, tuple(self._tail))

    def request_end(self) -> None:
        """Send SIGTERM to the app once, so that a stream ends with its current batch.

        A second SIGTERM would interrupt the batch.
        """
        process = self._submit_sp
        if process is None or process.poll() is not None or self._stop_requested:
            return
        self._stop_requested = True
        terminate_app(process.pid, self._folder)
        if self._watchdog is not None:
            self._watchdog.note_stop_requested()

    def stop(self) -> None:
        """Stop spark-submit; in client mode, first let the app end after its current batch.

        Airflow calls this in a signal handler, often while the interrupted thread writes the app's output to the log
        and holds the log's lock. So nothing is logged here; :meth:`close` logs the lines.
        """
        process = self._submit_sp
        if process is None or process.poll() is not None:
            return
        if self._cluster_mode:
            self._unlogged.append(f"Stopping spark-submit, process group {process.pid}")
        else:
            self._unlogged.append(
                f"Stopping the Spark app, process group {process.pid}, for at most {self._stop_timeout_s:g} s"
            )
            self.request_end()
            self._drain(process.stdout.fileno(), time.monotonic() + self._stop_timeout_s)
        signal_group(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop spark-submit, log buffered lines and release the watchdog; call this at the task's end."""
        process = self._submit_sp
        if process is not None:
            if process.poll() is None:
                self.stop()
            process.wait()
            process.stdout.close()
        while self._unlogged:
            self.log.info(self._unlogged.popleft())
        if self._watchdog is not None:
            self._watchdog.release()
            self._watchdog.wait(_WATCHDOG_END_S)

    @property
    def _cluster_mode(self) -> bool:
        return str(self._connection["deploy_mode"]) == "cluster"

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        assert self._submit_sp is not None
        self._watchdog = start_watchdog(self._submit_sp.pid, self._folder, self._stop_timeout_s)
        super()._process_spark_submit_log(self._remembered(itr))

    def _remembered(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self._remember(line)
            self._on_line(line.rstrip())
            yield line

    def _remember(self, line: str) -> None:
        line = line.strip()
        if line:
            self._tail.append(line)
        if line.startswith(APP_LINE):
            self._app_error = line.removeprefix(APP_LINE)

    def _drain(self, output: int, deadline: float) -> None:
        """Read the output to its end, because an app that blocks on a full pipe cannot stop.

        The interrupted reader stays as it is.
        """
        rest = b""
        while (remaining := deadline - time.monotonic()) > 0:
            if select.select([output], [], [], remaining)[0]:
                data = os.read(output, _READ_BYTES)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._remember(line.decode(errors="replace"))
                    self._unlogged.append(line.decode(errors="replace"))


def spark_master(arguments: Mapping[str, Any]) -> SparkMaster:
    """Look up a Spark connection's master and deploy mode, as the Spark provider resolves them.

    :param arguments: arguments of SparkSubmitHook, with `conn_id`.
    :raises AirflowNotFoundException: the connection does not exist; the Spark provider itself would use YARN.
    :raises SettingsError: the master needs the Kubernetes provider, which is not installed; or two versions of PySpark
        are installed.
    """
    connection = BaseHook.get_connection(arguments["conn_id"])
    _check_connection(connection)
    resolved = _hook_of(connection)(**_with_binary(arguments))._connection
    _check_pyspark(str(resolved["spark_binary"]))
    return SparkMaster(str(resolved["master"]), resolved["deploy_mode"] == "cluster", connection)


def _hook_of(connection: Connection) -> type[SparkSubmitHook]:
    """Make a class of the Spark provider's hook with a known connection, to save a second look-up."""
    return type(
        "KnownConnectionHook", (SparkSubmitHook,), {"get_connection": classmethod(lambda _cls, _conn_id: connection)}
    )


def _with_binary(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {**arguments, "spark_binary": arguments.get("spark_binary") or _installed_binary()}


def _check_connection(connection: Connection) -> None:
    if (
        "k8s" in f"{connection.conn_type} {connection.host}"
        and importlib.util.find_spec("airflow.providers.cncf") is None
    ):
        raise SettingsError(
            "the Spark provider needs the Kubernetes provider for a k8s:// master",
            "Install apache-airflow-providers-cncf-kubernetes on the worker.",
            connection=connection.conn_id,
        )


def _check_pyspark(binary: str) -> None:
    """Refuse a spark-submit broken by packages `pyspark` and `pyspark-client` of different versions.

    Both packages contain the folder `pyspark`.
    """
    path = shutil.which(binary)
    if path is None or not Path(path).is_relative_to(sys.prefix):
        return
    versions = {}
    for name in _PYSPARK:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    if len(set(versions.values())) > 1:
        both = " and ".join(f"{name} {version}" for name, version in versions.items())
        raise SettingsError(
            f"{both} have overwritten each other's files in {sys.prefix}",
            "Install both again in a version that both have, such as `pip install --force-reinstall --no-deps "
            "pyspark==4.2.0 pyspark-client==4.2.0`. With PySpark 3.5, install apache-airflow-providers-apache-spark "
            "below 6, uninstall pyspark-client and install pyspark again.",
        )


def _installed_binary() -> str | None:
    """Find spark-submit in the installed PySpark if the PATH has none; None: the connection decides."""
    package = importlib.util.find_spec("pyspark")
    if shutil.which(DEFAULT_SPARK_BINARY) or package is None or package.origin is None:
        return None
    return str(Path(package.origin).parent / "bin" / DEFAULT_SPARK_BINARY)
