"""Airflow's own processes on a home of a test: API server, scheduler, Dag processor and triggerer, each killed and started by itself."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support.airflow_home import AirflowHome
from tests.support.processes import ManagedProcess
from tests.support.waiting import takes_connections, wait_until
from tools.servers import free_ports

_COMMANDS = {
    "api-server": ["api-server", "--workers", "1"],
    "dag-processor": ["dag-processor"],
    "scheduler": ["scheduler"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}
_ENDED, _MANY = ("success", "failed"), 3  # states and tries of a task that does not reach the wanted state


class RunningAirflow:
    """The processes by name; all are stopped at the end.

    :param path: folder of programs that tasks and triggers find before others.
    """

    def __init__(self, home: AirflowHome, path: str) -> None:
        self.home = home
        self.port, health, logs = free_ports(3)
        self._env = {
            **home.env(),
            "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{self.port}/execution/",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__API_AUTH__JWT_SECRET": "of this test " * 8,
            "AIRFLOW__CORE__FERNET_KEY": "",  # so that a test sees what a trigger stores
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(logs),
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": str(health),
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
            "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
            # with 10 s, a scheduler on a machine with a load of 10 takes its own tasks for those of a dead one, and resets them
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "30",
            "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "5",
            "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
        }
        self._processes: dict[str, ManagedProcess] = {}
        self._starts = 0

    def start(self, name: str) -> ManagedProcess:
        """Start one of the processes."""
        self._starts += 1
        log = self.home.folder / f"{name}-{self._starts}.log"
        command = [self.home.python, "-m", "airflow", *_COMMANDS[name]]
        self._processes[name] = ManagedProcess(command, log, self._env, self.home.folder)
        return self._processes[name]

    def process(self, name: str) -> ManagedProcess:
        return self._processes[name]

    def kill(self, name: str) -> None:
        """Kill a process with its children (SIGKILL)."""
        self._processes.pop(name).stop()

    def stop(self) -> None:
        for process in self._processes.values():
            process.stop()

    def command(self, *arguments: str) -> str:
        """Run a command to its end; its output."""
        self._starts += 1
        log = self.home.folder / f"command-{self._starts}.log"
        process = ManagedProcess([self.home.python, "-m", "airflow", *arguments], log, self._env, self.home.folder)
        try:
            assert process.wait() == 0, process.output_tail()
            return process.output()
        finally:
            process.stop()

    def trigger(self, dag_id: str, conf: Mapping[str, Any]) -> str:
        """Start a run of a Dag; its id."""
        self.command("dags", "trigger", dag_id, "--conf", json.dumps(conf), "--run-id", f"run-{self._starts}")
        return f"run-{self._starts - 1}"

    def task(self, dag_id: str, run_id: str) -> tuple[str | None, int]:
        """State and number of tries of the only task of a Dag run."""
        found = self.home.query("select state, try_number from task_instance where dag_id = ? and run_id = ?", dag_id, run_id)
        state, tries = found[0] if found else (None, 0)
        return state, tries

    def await_state(self, dag_id: str, run_id: str, *states: str) -> str:
        """Wait until the task has one of some states."""

        def there() -> str | None:
            self.check()
            state, tries = self.task(dag_id, run_id)
            assert state in states or (state not in _ENDED and tries < _MANY), f"{state}, try {tries}:\n{self.failure(dag_id, run_id)}"
            return state if state in states else None

        return wait_until(there, f"{dag_id} {run_id} {' or '.join(states)}")

    def await_deferred(self, dag_id: str, run_id: str) -> None:
        """Wait until the task is deferred and the scheduler has processed the end of its worker, which can take some seconds.

        Airflow fails a deferred task that resumes earlier: https://github.com/apache/airflow/issues/72716
        """
        self.await_state(dag_id, run_id, "deferred")
        ended = re.compile(rf"TaskInstance Finished: dag_id={dag_id}, task_id=\w+, run_id={run_id}, ")

        def noted() -> bool:
            self.check()
            return ended.search(self.process("scheduler").output()) is not None

        wait_until(noted, f"the scheduler's line of the end of the worker of {dag_id} {run_id}")

    def check(self) -> None:
        """Fail if a process has ended."""
        for name, process in self._processes.items():
            assert process.running(), f"{name} has ended:\n{process.output_tail()}"

    def log(self, dag_id: str, run_id: str) -> str:
        """Logs of a task with those of its triggers."""
        files = sorted(self.home.folder.glob(f"logs/dag_id={dag_id}/run_id={run_id}/**/*.log*"))
        return "\n".join(file.read_text(errors="replace") for file in files)

    def failure(self, dag_id: str, run_id: str) -> str:
        """What to look at after a failure: the end of :meth:`log`, and Airflow's audit log, which says why the scheduler failed a task."""
        audit = self.home.query("select dttm, event, extra from log where dag_id = ? and run_id = ? order by dttm", dag_id, run_id)
        return "\n".join([self.log(dag_id, run_id)[-6000:], *(" ".join(map(str, row)) for row in audit)])


@contextmanager
def running_airflow(home: AirflowHome, path: str) -> Iterator[RunningAirflow]:
    """All processes of an Airflow, started one after the other."""
    made = RunningAirflow(home, path)
    try:
        made.command("dags", "reserialize")
        for name in _COMMANDS:
            made.start(name)
            if name == "api-server":  # a task that the scheduler starts before it answers fails
                wait_until(lambda: takes_connections(made.port) or not made.process("api-server").running(), "the API server")
        yield made
    finally:
        made.stop()
