"""Real processes that tests start, find, kill and stop by process id: the app, a Spark standalone cluster, its executors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyspark

import ignite_kafka
from tests.support import QUICK_JVM
from tests.support.kafka_proxy import Connection, Request, Rule
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import free_ports
from tools.servers.archives import archive_options

_APPS = Path(ignite_kafka.__file__).parent.parent
APP, SINK_APP = _APPS / "ignite_to_kafka.py", _APPS / "kafka_to_ignite.py"
SPARK_BIN = Path(pyspark.__file__).parent / "bin"
EXECUTOR = "CoarseGrainedExecutorBackend"
_DRIVER_URL = re.compile(r"CoarseGrainedExecutorBackend .*--driver-url spark://CoarseGrainedScheduler@\S+?:(\d+)")
_ERROR_LINE = re.compile(r"^ignite-kafka: (\S+) (.*)$")
_PROGRESS = re.compile(r"^\S+ \S+ INFO progress ")
_SHOWN_LINES, _SHOWN_CHARACTERS = 20, 260
# of a Python process that ended by a signal, with the stacks of its threads, up to what Spark adds (faulthandler)
_CRASH = re.compile(r"(Fatal Python error: .*?)(?=^\s+at |\Z)", re.MULTILINE | re.DOTALL)
_CRASH_CHARACTERS = 10_000


def output_tail(output: str, *files: Path | str) -> str:
    """Return the end of an output, short enough for a truncated log: the last progress line only, long lines cut, then the log files.

    The stacks of a Python process that crashed come first, wherever they are.
    """
    crash = _CRASH.search(output)
    lines = [line for line in output.splitlines() if line.strip()]
    progress = [line for line in lines if _PROGRESS.match(line)]
    kept = [line for line in lines if not _PROGRESS.match(line)][-_SHOWN_LINES:] + progress[-1:]
    shown = [line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]} …" for line in kept]
    stacks = [crash[1].rstrip()[:_CRASH_CHARACTERS]] if crash else []
    return "\n".join([*stacks, *shown, *(f"see {file}" for file in files)])


class ManagedProcess:
    """A process with its output in a file; :meth:`stop` ends it and its descendants."""

    def __init__(self, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            # its own session, so that orphans of a killed parent are found
            self._process = subprocess.Popen(
                [str(part) for part in command], stdout=output, stderr=output, env=dict(env or os.environ), cwd=cwd, start_new_session=True
            )
        self.pid = self._process.pid
        self.servers: tuple[Path, ...] = ()
        self._family: dict[int, psutil.Process] = {}

    def running(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def output_tail(self) -> str:
        """End of the output, with the paths of its log and of the servers' logs."""
        return output_tail(self.output(), self.log, *self.servers)

    def family(self) -> list[psutil.Process]:
        """This process and its living descendants, including orphans that were seen before their parents died."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for member in [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]:
                self._family[member.pid] = member
        return [member for member in self._family.values() if alive(member)]

    def kill(self) -> None:
        """Kill this process alone (SIGKILL)."""
        self.family()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def wait(self, deadline_s: float = DEADLINE_S) -> int:
        """Wait for the end and return the exit code.

        :raises TimeoutError: it still runs; the message ends with the last of its output.
        """
        try:
            return self._process.wait(deadline_s)
        except subprocess.TimeoutExpired as cause:
            self.family()
            raise TimeoutError(f"{self.log.name} still runs after {deadline_s:.0f} s:\n{self.output_tail()}") from cause

    def stop(self) -> None:
        """End this process and its family."""
        family = self.family()
        for member in family:
            kill_process(member)
        self._process.wait()
        wait_until(lambda: not any(alive(member) for member in family), f"end of {self.log.name}")


def alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def kill_process(process: psutil.Process) -> None:
    """Kill a process (SIGKILL) unless it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


def client_of(connection: Connection) -> psutil.Process:
    """Return the process at the client's end of a TCP connection on loopback."""

    def find() -> psutil.Process | None:
        for end in psutil.net_connections("tcp"):
            if end.laddr and end.raddr and (end.laddr.port, end.raddr.port) == connection and end.pid:
                return psutil.Process(end.pid)
        return None

    return wait_until(find, f"process with {connection}")


def ancestor(process: psutil.Process, text: str) -> psutil.Process:
    """Return the nearest ancestor whose command line contains ``text``."""
    for parent in process.parents():
        if text in " ".join(parent.cmdline()):
            return parent
    raise LookupError(f"process {process.pid} has no parent with {text!r}: {[parent.name() for parent in process.parents()]}")


def executor_of(connection: Connection) -> tuple[psutil.Process, list[psutil.Process]]:
    """The executor JVM whose Python worker holds a connection, and the Python processes under it."""
    executor = ancestor(client_of(connection), EXECUTOR)
    return executor, executor.children(recursive=True)


@dataclass(frozen=True)
class AppResult:
    """How a run of the app ended."""

    exit_code: int
    output: str
    files: tuple[Path, ...] = ()

    @property
    def error(self) -> tuple[str, str] | None:
        """Code and message of the app's last error line, or None."""
        lines = [match for line in self.output.splitlines() if (match := _ERROR_LINE.match(line))]
        return (lines[-1][1], lines[-1][2]) if lines else None

    def assert_exit(self, code: int) -> AppResult:
        """Assert the exit code; the error shows the end of the output."""
        assert self.exit_code == code, f"exit code {self.exit_code}, wanted {code}:\n{output_tail(self.output, *self.files)}"
        return self


class App(ManagedProcess):
    """One run of an app."""

    def result(self) -> AppResult:
        return AppResult(self.wait(), self.output(), (self.log, *self.servers))

    def reaches(self, rule: Rule) -> Request:
        """Wait until a rule of the proxy is reached.

        :raises AssertionError: the app ended before, or runs without reaching it; the error shows its output.
        """

        def reached() -> bool:
            assert rule.reached or self.running(), f"the app ended before {rule}:\n{self.output_tail()}"
            return rule.reached

        try:
            wait_until(reached, str(rule))
        except TimeoutError as late:
            raise AssertionError(f"{late}:\n{self.output_tail()}") from late
        return rule.wait(0)

    def executors(self) -> list[psutil.Process]:
        """Executor processes of this app on a standalone cluster, identified by the driver's port in their command line."""
        drivers = [member for member in self.family() if member.name() == "java"]
        ports = {place.laddr.port for driver in drivers for place in driver.net_connections("tcp") if place.status == psutil.CONN_LISTEN}
        found = []
        for process in psutil.process_iter(["cmdline"]):
            driver_url = _DRIVER_URL.search(" ".join(process.info["cmdline"] or []))
            if driver_url and int(driver_url[1]) in ports and process.pid != self.pid:
                found.append(process)
        return found


def killed_at(app: App, rule: Rule) -> None:
    """Kill the driver and its descendants, as the loss of a machine does, and drop the held frame."""
    try:
        app.reaches(rule)
        for process in app.family():
            kill_process(process)
        rule.drop()
    finally:
        app.stop()


def spark_env() -> dict[str, str]:
    """Environment of drivers and workers: this interpreter everywhere, loopback only."""
    return {
        **os.environ,
        "SPARK_HOME": str(SPARK_BIN.parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(APP.parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LAUNCHER_OPTS": " ".join(QUICK_JVM),
        "SPARK_DAEMON_JAVA_OPTS": " ".join(QUICK_JVM),
    }


def spark_jvm_options() -> str:
    """Options of drivers and executors."""
    return " ".join([*QUICK_JVM, *archive_options("spark")])


@dataclass
class AppStarter:
    """Writes request and secrets files and starts the app by spark-submit.

    :param directory: requests, secrets and logs of the runs.
    :param master: ``local[2]`` or ``spark://…``.
    """

    directory: Path
    master: str = "local[2]"
    conf: Mapping[str, str] = field(default_factory=dict)
    app: Path = APP
    _runs: int = 0

    def start(
        self,
        connector: str,
        snapshot_id: str | None,
        settings: Mapping[str, Any],
        *,
        secrets: Mapping[str, Any] | None = None,
        conf: Mapping[str, str] | None = None,
        master: str | None = None,
    ) -> App:
        self._runs += 1
        run_id = f"run-{self._runs}"
        stem = self.directory / f"{connector}-{run_id}"
        request = {
            "connector": connector,
            "run_id": run_id,
            "snapshot_id": snapshot_id,
            "settings": dict(settings),
        }
        stem.with_suffix(".json").write_text(json.dumps(request))
        arguments = [str(self.app), "--request", str(stem.with_suffix(".json"))]
        if secrets is not None:
            secret_file = stem.with_suffix(".secrets")
            secret_file.touch(mode=0o600)
            secret_file.write_text(json.dumps(secrets))
            arguments += ["--secrets", str(secret_file), "--ship-secrets-unprotected"]  # the clusters of the tests do not authenticate
        return App([*self._submit(master or self.master, {**self.conf, **(conf or {})}), *arguments], stem.with_suffix(".log"), spark_env())

    def run(self, *arguments: Any, **named: Any) -> AppResult:
        """Start the app and wait for its end."""
        app = self.start(*arguments, **named)
        try:
            return app.result()
        finally:
            app.stop()

    def _submit(self, master: str, conf: Mapping[str, str]) -> Iterator[str]:
        yield from (str(SPARK_BIN / "spark-submit"), "--master", master, "--driver-memory", "512m")
        yield from ("--driver-java-options", spark_jvm_options())
        settings = {
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": spark_jvm_options(),
            "spark.local.dir": str(self.directory / "spark-local"),
            **conf,
        }
        for name, value in settings.items():
            yield from ("--conf", f"{name}={value}")


class SparkCluster:
    """A standalone master and workers of one core each, on loopback.

    :param conf: Spark properties of master, workers and executors, in the file spark-defaults.conf of :attr:`conf_folder`.
    """

    def __init__(self, directory: Path, workers: int = 2, cores: int = 1, conf: Mapping[str, str] | None = None) -> None:
        self.conf_folder = directory / "conf"
        self.conf_folder.mkdir(mode=0o700)
        (self.conf_folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in (conf or {}).items()))
        (self.port,) = free_ports(1)
        self.master = f"spark://127.0.0.1:{self.port}"
        launch = [str(SPARK_BIN / "spark-class")]
        name = "org.apache.spark.deploy"
        command = [*launch, f"{name}.master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0"]
        env = {**spark_env(), "SPARK_DAEMON_MEMORY": "256m", "SPARK_CONF_DIR": str(self.conf_folder)}
        self._processes = [ManagedProcess(command, directory / "master.log", env)]
        for number in range(workers):
            work = directory / f"worker-{number}"
            options = ["-c", str(cores), "-m", "1g", "-d", str(work), "--webui-port", "0", "--host", "127.0.0.1", self.master]
            self._processes.append(ManagedProcess([*launch, f"{name}.worker.Worker", *options], directory / f"worker-{number}.log", env))
        self._workers = workers

    def await_ready(self) -> SparkCluster:
        wait_until(self._ready, f"{self._workers} Spark workers")
        return self

    def _ready(self) -> bool:
        for process in self._processes:
            if not process.running():
                raise RuntimeError(f"{process.log.name} ended:\n{process.output_tail()}")
        return self._processes[0].output().count("Registering worker") >= self._workers

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
