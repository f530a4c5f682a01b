"""spark-submit of one of our apps: its last words are kept, it is stopped gracefully, and it never outlives its task."""

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

from airflow_provider_ignite_kafka.spark.submission import SparkMaster, Submission
from airflow_provider_ignite_kafka.spark.watchdog import Guard, ask_to_stop, signal_group, start_guard
from ignite_kafka.errors import IgniteKafkaError, SettingsError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

APP_LINE = "ignite-kafka: "
# what spark-submit prints when YARN or Kubernetes has told it how the app ended; without it, its own end says nothing of the app
_REPORTED = re.compile(r"final status: (SUCCEEDED|FAILED|KILLED)|Container final statuses:", re.IGNORECASE)
_TAIL_LINES = 20
_READ_BYTES = 65536
_GUARD_END_S = 30.0
_POLL_S = 0.5
_STOP_THREAD = "stop-app"
_KILL_S = 30.0  # of the cluster's own means, when the app has not ended by itself


@dataclass(frozen=True)
class AppExit:
    """How a submitted app ended, as far as spark-submit knows.

    :param exit_code: of the app in client mode; of spark-submit, or the driver pod, in cluster mode.
    :param app_error: the app's own last line, ``<CODE> <message>``, where it could be seen.
    :param tail: the last lines of output.
    :param reported: the app itself has ended. False in cluster mode where spark-submit ended without word of that: it was killed, or lost
        the cluster.
    """

    exit_code: int
    app_error: str | None = None
    tail: tuple[str, ...] = ()
    reported: bool = True


class SparkAppHook(SparkSubmitHook):
    """Spark provider's hook for an app that we start and must be able to stop.

    :param submission: what is submitted; it overrides arguments of the same name.
    :param folder: private folder of the task, removed by the guard if the task is killed.
    :param stop_timeout_s: seconds that the app is given to stop before it is killed.
    :param ask_run: asks a run to end after its batch in hand, for cluster mode, where no signal of ours reaches it; False: it will not.
        May block.
    :param has_ended: whether the run's record says that it has ended; for cluster mode, once spark-submit is gone. May block.
    :param arguments: arguments of the base class, those that :func:`spark_master` was given.
    """

    def __init__(
        self,
        *,
        submission: Submission,
        folder: Path,
        stop_timeout_s: float,
        ask_run: Callable[[], bool],
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
        self._ask_run = ask_run
        self._has_ended = has_ended
        self._reported = False
        self._settled = False
        self._guard: Guard | None = None
        self._asked = False
        self._app_error: str | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._unlogged: deque[str] = deque()
        self._buffered_log = _BufferedLog(self._unlogged)

    @property
    def log(self) -> Any:
        """The task's log; in a thread of :meth:`stop`, during which that log may be locked, lines are kept for :meth:`close`."""
        return self._buffered_log if threading.current_thread().name == _STOP_THREAD else super().log

    @property
    def _cluster_mode(self) -> bool:
        return str(self._connection["deploy_mode"]) == "cluster"

    def run(self, application: str) -> AppExit:
        """Submit the app and wait for its end, whatever that is.

        :raises AirflowException: the app could not be started at all.
        """
        try:
            self.submit(application, start_new_session=True, errors="replace", env=self._environment)
        except AirflowException:
            if self._submit_sp is None or self._submit_sp.poll() is None:
                raise
        return AppExit(self._app_exit_code(), self._app_error, tuple(self._tail), self._reported or not self._cluster_mode)

    def settle(self) -> None:
        """The app is known to have ended, or was never submitted: nothing is left to be stopped."""
        self._settled = True

    @property
    def submitted(self) -> bool:
        """Whether the cluster is known to have the app: spark-submit told its id."""
        return bool(self._yarn_application_id or self._kubernetes_driver_pod)

    def stop(self) -> None:
        """Ask the app to end after its batch in hand, and kill it when the deadline has passed.

        Beside the task it is asked by SIGTERM. In cluster mode it is asked through Kafka, and killed as the base class does.

        Airflow calls this in a signal handler, often while the thread that it interrupts writes the app's output to the log and holds the
        log's lock. So nothing is logged here: :meth:`close` does that.
        """
        process = self._submit_sp
        if process is None:
            return
        deadline = time.monotonic() + self._stop_timeout_s
        if process.poll() is not None:
            if self._left_running:
                self._settled = True
                self._unlogged.append(f"Stopping the app in the cluster, for at most {self._stop_timeout_s:g} s")
                _start_thread(self._stop_left_running, deadline).join(self._stop_timeout_s + _KILL_S)
            return
        self._unlogged.append(f"Stopping the Spark app, process group {process.pid}, for at most {self._stop_timeout_s:g} s")
        if self._cluster_mode:
            stopper = _start_thread(self._stop_in_cluster, deadline)
            deadline += _KILL_S
            self._drain(process.stdout.fileno(), deadline)
            stopper.join(max(0.0, deadline - time.monotonic()))
            self._settled = True
        else:
            if not self._asked:
                self._asked = True
                ask_to_stop(process.pid, self._folder)
                if self._guard is not None:
                    self._guard.note_asked()
            self._drain(process.stdout.fileno(), deadline)
        signal_group(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End what is still running, on whichever way the task was left, and dismiss the guard."""
        process = self._submit_sp
        if process is not None:
            if process.poll() is None or self._left_running:
                self.stop()
            process.wait()
            process.stdout.close()
        while self._unlogged:
            self.log.info(self._unlogged.popleft())
        if self._guard is not None:
            self._guard.release()
            self._guard.wait(_GUARD_END_S)

    @property
    def _left_running(self) -> bool:
        """Whether the app may be at work in the cluster although spark-submit has ended, and nobody has stopped it yet."""
        return self._cluster_mode and not self._settled and not self._reported

    def _stop_left_running(self, deadline: float) -> None:
        """Ask and wait, then kill; for an app whose spark-submit is gone, with which the base class would kill it."""
        try:
            asked = self._ask_run()
            while asked and time.monotonic() < deadline and not self._has_ended():
                time.sleep(_POLL_S)
            if asked and self._has_ended():
                return
        except (IgniteKafkaError, OSError) as error:
            self._unlogged.append(f"The run could not be asked to stop: {error}")
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
        """Ask the run to stop, wait, then kill it; runs in a thread of :meth:`stop`."""
        try:
            self._ask_and_wait(deadline)
        finally:  # also after an unexpected error
            self.on_kill()

    def _ask_and_wait(self, deadline: float) -> None:
        assert self._submit_sp is not None
        try:
            asked = self._ask_run()
        except (IgniteKafkaError, OSError) as error:
            self._unlogged.append(f"The run could not be asked to stop: {error}")
            return
        if asked:
            with suppress(subprocess.TimeoutExpired):
                self._submit_sp.wait(max(0.0, deadline - time.monotonic()))  # spark-submit ends with the app

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        assert self._submit_sp is not None
        self._guard = start_guard(self._submit_sp.pid, self._folder, self._stop_timeout_s)
        super()._process_spark_submit_log(self._remembered(itr))

    def _remembered(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self._remember(line)
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
        """Read on until the output ends: an app whose output nobody reads cannot stop. The interrupted reader is left alone."""
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
    """Stands in for a log that may be locked."""

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
    """spark-submit of the installed PySpark where the PATH has none; None leaves it to the connection."""
    package = importlib.util.find_spec("pyspark")
    if shutil.which(DEFAULT_SPARK_BINARY) or package is None or package.origin is None:
        return None
    return str(Path(package.origin).parent / "bin" / DEFAULT_SPARK_BINARY)
