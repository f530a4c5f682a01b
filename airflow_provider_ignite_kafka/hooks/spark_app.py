"""Hook that runs one of our Spark apps by spark-submit, keeps its last output lines, and stops it with its task."""

from __future__ import annotations

import importlib.util
import os
import re
import select
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY, SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException, BaseHook

from airflow_provider_ignite_kafka.spark.process_watchdog import ProcessWatchdog, signal_group, start_watchdog, terminate_app
from airflow_provider_ignite_kafka.spark.submission import SparkMaster, Submission
from ignite_kafka.errors import IgniteKafkaError, SettingsError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

APP_LINE = "ignite-kafka: "
# printed by spark-submit when YARN or Kubernetes has reported the app's end; without it, spark-submit's own exit code means nothing
_REPORTED = re.compile(r"final status: (SUCCEEDED|FAILED|KILLED)|Container final statuses:", re.IGNORECASE)
_TAIL_LINES = 20
_READ_BYTES = 65536
_WATCHDOG_END_S = 30.0
_POLL_S = 0.5
_STOP_THREAD = "stop-app"
_KILL_S = 30.0  # for the cluster's own kill command, if the app has not ended


@dataclass(frozen=True)
class AppExit:
    """End of a submitted app, as spark-submit reports it.

    :param exit_code: of the app in client mode; of spark-submit, or the driver pod, in cluster mode.
    :param app_error: the app's last line, ``<CODE> <message>``, if it was in the output.
    :param tail: the last lines of output.
    :param reported: the app itself has ended. False in cluster mode if spark-submit ended without reporting that: it was killed, or lost
        the cluster.
    """

    exit_code: int
    app_error: str | None = None
    tail: tuple[str, ...] = ()
    reported: bool = True


class SparkAppHook(SparkSubmitHook):
    """Spark provider's hook for an app that can be stopped gracefully.

    :param submission: what is submitted; it overrides arguments of the same name.
    :param folder: private folder of the task, removed by the watchdog if the task is killed.
    :param stop_timeout_s: seconds between the request to stop and the kill.
    :param request_stop: requests that the run ends after its current batch, in cluster mode, where no signal reaches it; returns False
        if the run will not. May block.
    :param has_ended: whether the run's record has an end; in cluster mode, once spark-submit has ended. May block.
    :param arguments: arguments of the base class, those that :func:`spark_master` was given.
    """

    def __init__(
        self,
        *,
        submission: Submission,
        folder: Path,
        stop_timeout_s: float,
        request_stop: Callable[[], bool],
        has_ended: Callable[[], bool],
        **arguments: Any,
    ) -> None:
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
        self._request_stop = request_stop
        self._has_ended = has_ended
        self._reported = False
        self._ended = False
        self._watchdog: ProcessWatchdog | None = None
        self._stop_requested = False
        self._app_error: str | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._unlogged: deque[str] = deque()
        self._buffered_log = _BufferedLog(self._unlogged)

    @property
    def log(self) -> Any:
        """The task's log. In a thread of :meth:`stop`, when that log may be locked, lines are buffered for :meth:`close`."""
        return self._buffered_log if threading.current_thread().name == _STOP_THREAD else super().log

    @property
    def _cluster_mode(self) -> bool:
        return str(self._connection["deploy_mode"]) == "cluster"

    def run(self, application: str, on_line: Callable[[str], None] = lambda _line: None) -> AppExit:
        """Submit the app and wait for its end; a failed app is no exception.

        :param on_line: called with each line of output.
        :raises AirflowException: the app could not be started.
        """
        self._on_line = on_line
        try:
            self.submit(application, start_new_session=True, errors="replace", env=self._environment)
        except AirflowException:
            if self._submit_sp is None or self._submit_sp.poll() is None:
                raise
        return AppExit(self._app_exit_code(), self._app_error, tuple(self._tail), self._reported or not self._cluster_mode)

    def mark_ended(self) -> None:
        """Note that the app has ended or was never submitted, so that nothing is stopped."""
        self._ended = True

    @property
    def submitted(self) -> bool:
        """Whether the cluster has accepted the app: spark-submit has printed its id."""
        return bool(self._yarn_application_id or self._kubernetes_driver_pod)

    def stop(self) -> None:
        """Request that the app ends after its current batch; kill it at the deadline.

        The request is SIGTERM in client mode. In cluster mode it goes through Kafka, and the base class kills.

        Airflow calls this in a signal handler, often while the interrupted thread writes the app's output to the log and holds the log's
        lock. So nothing is logged here: :meth:`close` logs it.
        """
        process = self._submit_sp
        if process is None:
            return
        deadline = time.monotonic() + self._stop_timeout_s
        if process.poll() is not None:
            if self._left_running:
                self._ended = True
                self._unlogged.append(f"Stopping the app in the cluster, for at most {self._stop_timeout_s:g} s")
                _start_thread(self._stop_left_running, deadline).join(self._stop_timeout_s + _KILL_S)
            return
        self._unlogged.append(f"Stopping the Spark app, process group {process.pid}, for at most {self._stop_timeout_s:g} s")
        if self._cluster_mode:
            stopper = _start_thread(self._stop_in_cluster, deadline)
            deadline += _KILL_S
            self._drain(process.stdout.fileno(), deadline)
            stopper.join(max(0.0, deadline - time.monotonic()))
            self._ended = True
        else:
            if not self._stop_requested:
                self._stop_requested = True
                terminate_app(process.pid, self._folder)
                if self._watchdog is not None:
                    self._watchdog.note_stop_requested()
            self._drain(process.stdout.fileno(), deadline)
        signal_group(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop what still runs, log buffered lines and release the watchdog; call it however the task ends."""
        process = self._submit_sp
        if process is not None:
            if process.poll() is None or self._left_running:
                self.stop()
            process.wait()
            process.stdout.close()
        while self._unlogged:
            self.log.info(self._unlogged.popleft())
        if self._watchdog is not None:
            self._watchdog.release()
            self._watchdog.wait(_WATCHDOG_END_S)

    @property
    def _left_running(self) -> bool:
        """Whether the app may still run in the cluster although spark-submit has ended."""
        return self._cluster_mode and not self._ended and not self._reported

    def _stop_left_running(self, deadline: float) -> None:
        """Request a stop, wait, then kill; for an app whose spark-submit has ended, which the base class would need for the kill."""
        try:
            accepted = self._request_stop()
            while accepted and time.monotonic() < deadline and not self._has_ended():
                time.sleep(_POLL_S)
            if accepted and self._has_ended():
                return
        except (IgniteKafkaError, OSError) as error:
            self._unlogged.append(f"The stop of the run could not be requested: {error}")
        if self._yarn_application_id:
            command = ["yarn", "application", "-kill", self._yarn_application_id]
            try:
                killed = subprocess.run(command, env={**os.environ, **(self._env or {})}, capture_output=True, timeout=_KILL_S, check=False)
                self._unlogged.append(f"{' '.join(command)} ended with exit code {killed.returncode}")
            except (OSError, subprocess.TimeoutExpired) as error:
                self._unlogged.append(f"{' '.join(command)} failed: {error}")
        elif self._kubernetes_driver_pod:
            self._delete_driver_pod()

    def _stop_in_cluster(self, deadline: float) -> None:
        """Request a stop, wait, then kill; runs in a thread of :meth:`stop`."""
        try:
            self._request_and_wait(deadline)
        finally:  # also after an unexpected error
            self.on_kill()

    def _request_and_wait(self, deadline: float) -> None:
        assert self._submit_sp is not None
        try:
            accepted = self._request_stop()
        except (IgniteKafkaError, OSError) as error:
            self._unlogged.append(f"The stop of the run could not be requested: {error}")
            return
        if accepted:
            with suppress(subprocess.TimeoutExpired):
                self._submit_sp.wait(max(0.0, deadline - time.monotonic()))  # spark-submit ends with the app

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
        if _REPORTED.search(line):
            self._reported = True

    def _drain(self, output: int, deadline: float) -> None:
        """Read the output to its end, because an app that blocks on a full pipe cannot stop. The interrupted reader is left alone."""
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

    def _app_exit_code(self) -> int:
        assert self._submit_sp is not None
        if self._is_kubernetes and self._spark_exit_code:
            return self._spark_exit_code
        return int(self._submit_sp.returncode)


class _BufferedLog:
    """Log interface that appends lines to a queue."""

    def __init__(self, lines: deque[str]) -> None:
        self._lines = lines

    def info(self, message: object, *arguments: object) -> None:
        self._lines.append(str(message) % arguments if arguments else str(message))

    debug = warning = error = exception = info


def spark_master(arguments: Mapping[str, Any]) -> SparkMaster:
    """Master and deploy mode that the Spark provider resolves for a connection.

    :param arguments: arguments of SparkSubmitHook, with `conn_id`.
    :raises AirflowNotFoundException: the connection does not exist; the Spark provider itself would use YARN.
    :raises SettingsError: the master needs the Kubernetes provider, which is not installed.
    """
    _check_connection(BaseHook.get_connection(arguments["conn_id"]))
    resolved = SparkSubmitHook(**_with_binary(arguments))._connection
    return SparkMaster(str(resolved["master"]), resolved["deploy_mode"] == "cluster")


def _with_binary(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {**arguments, "spark_binary": arguments.get("spark_binary") or _installed_binary()}


def _start_thread(target: Callable[[float], None], deadline: float) -> threading.Thread:
    """Start what may block because Kafka or the cluster does not answer."""
    thread = threading.Thread(target=target, args=(deadline,), name=_STOP_THREAD, daemon=True)
    thread.start()
    return thread


def _check_connection(connection: Connection) -> None:
    if "k8s" in f"{connection.conn_type} {connection.host}" and importlib.util.find_spec("airflow.providers.cncf") is None:
        raise SettingsError(
            "the Spark provider needs the Kubernetes provider for a k8s:// master",
            "Install apache-airflow-providers-cncf-kubernetes on the worker.",
            connection=connection.conn_id,
        )


def _installed_binary() -> str | None:
    """Path of spark-submit of the installed PySpark if the PATH has none; None: the connection decides."""
    package = importlib.util.find_spec("pyspark")
    if shutil.which(DEFAULT_SPARK_BINARY) or package is None or package.origin is None:
        return None
    return str(Path(package.origin).parent / "bin" / DEFAULT_SPARK_BINARY)
