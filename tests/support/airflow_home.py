"""An Airflow of a test's own: its home, its database, its connections in a file, its runs by the command line."""

from __future__ import annotations

import atexit
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import QUICK_JVM
from tests.support.processes import ManagedProcess, spark_jvm_options

ROOT = Path(__file__).parents[2]
_DATABASE = "airflow.db"


def use_private_home() -> None:
    """Give this process an Airflow home of its own, before it imports airflow; it is removed at the end."""
    if "AIRFLOW_HOME" not in os.environ:
        home = tempfile.TemporaryDirectory(prefix="airflow-home-", ignore_cleanup_errors=True)
        atexit.register(home.cleanup)
        os.environ["AIRFLOW_HOME"] = home.name
    os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"


@dataclass
class AirflowHome:
    """A home folder. Connections are in a file, so that no process has them in its arguments or its environment.

    :param python: the interpreter whose packages are used.
    :param python_path: of the runs; empty where the provider is installed.
    :param variables: environment variables of the runs.
    """

    folder: Path
    dags: Path
    connections: Mapping[str, Mapping[str, Any]]
    python: str = sys.executable
    python_path: str = os.pathsep.join((str(ROOT), str(ROOT / "spark_apps")))
    variables: Mapping[str, str] = field(default_factory=dict)
    runs: int = 0

    def migrate(self) -> AirflowHome:
        """Make the folder and the database in it; a copy of the first one that this process made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tmp").mkdir()
        self.connections_file.touch(0o600)
        self.connections_file.write_text(json.dumps(self.connections))
        (self.folder / _DATABASE).write_bytes(_empty_database(self))
        return self

    @property
    def connections_file(self) -> Path:
        return self.folder / "connections.json"

    @property
    def private(self) -> Path:
        """Where tasks make their private folders."""
        return self.folder / "tmp"

    def env(self) -> dict[str, str]:
        settings = {
            "AIRFLOW_HOME": str(self.folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            # with 5 s, a task whose start a busy server answers later has failed
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "120",
            # several processes write to one SQLite file: a lock may be held longer than the default 5 s
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.folder / _DATABASE}?timeout=300",
            "AIRFLOW__SECRETS__BACKEND": "airflow.secrets.local_filesystem.LocalFilesystemBackend",
            "AIRFLOW__SECRETS__BACKEND_KWARGS": json.dumps({"connections_file_path": str(self.connections_file)}),
            "TMPDIR": str(self.private),
            "PYTHONPATH": self.python_path,
            "SPARK_LOCAL_IP": "127.0.0.1",
            # the archive is of this interpreter's Spark
            "JAVA_TOOL_OPTIONS": spark_jvm_options() if self.python == sys.executable else " ".join(QUICK_JVM),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PYSPARK", "SPARK", "PYTHONPATH"))}
        return {**kept, **settings, **self.variables}

    def start(self, dag_id: str, conf: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> ManagedProcess:
        """Start ``airflow dags test``: a new run of a Dag, with these variables beside those of :meth:`env`."""
        self.runs += 1
        command = [self.python, "-m", "airflow", "dags", "test", dag_id, *(["--conf", json.dumps(conf)] if conf is not None else [])]
        return ManagedProcess(command, self.folder / f"run-{self.runs}.log", {**self.env(), **(environment or {})}, self.folder)

    def run(self, dag_id: str, conf: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> str:
        """Run a Dag to its end; its output."""
        process = self.start(dag_id, conf, environment)
        try:
            process.wait()
            return process.output()
        finally:
            process.stop()

    def run_again(self, dag_id: str, task_id: str) -> str:
        """Run a task of the newest run of a Dag once more, as a retry does: the same run id; its output."""
        [(run_id,)] = self.query("select run_id from dag_run where dag_id = ? order by id desc limit 1", dag_id)
        return self.command("tasks", "test", dag_id, task_id, run_id)[1]

    def command(self, *arguments: str) -> tuple[int, str]:
        """Run a command of Airflow to its end; its exit code and output."""
        self.runs += 1
        log = self.folder / f"run-{self.runs}.log"
        process = ManagedProcess([self.python, "-m", "airflow", *arguments], log, self.env(), self.folder)
        try:
            return process.wait(), process.output()
        finally:
            process.stop()

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.folder / _DATABASE) as database:
            return database.execute(sql, values).fetchall()

    def results(self, dag_id: str) -> list[dict[str, Any]]:
        """What the tasks of a Dag returned, oldest first."""
        rows = self.query("select value from xcom where dag_id = ? and key = 'return_value' order by timestamp", dag_id)
        return [_decoded(value) for (value,) in rows]

    def states(self, dag_id: str) -> list[str]:
        return [state for (state,) in self.query("select state from task_instance where dag_id = ? order by start_date", dag_id)]


_databases: list[bytes] = []


def _empty_database(home: AirflowHome) -> bytes:
    if not _databases:
        command = [home.python, "-m", "airflow", "db", "migrate"]
        done = subprocess.run(command, env=home.env(), cwd=home.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        with sqlite3.connect(home.folder / _DATABASE) as database:
            database.execute("pragma wal_checkpoint(truncate)")
        _databases.append((home.folder / _DATABASE).read_bytes())
    return _databases[0]


def _decoded(value: Any) -> Any:
    while isinstance(value, (str, bytes)):
        value = json.loads(value)
    return value
