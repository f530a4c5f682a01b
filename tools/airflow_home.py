"""Airflow for this checkout: its home under .work, its connections in environment variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .servers.jars import CHECKOUT

BIN = Path(sys.executable).parent


def connections(*, ignite: str, kafka: str, spark_master: str = "local[2]") -> dict[str, dict[str, Any]]:
    """Return the connections of the example Dags, by id.

    :param ignite: host:port of a node.
    :param kafka: bootstrap servers.
    """
    host, port = ignite.rsplit(":", 1)
    return {
        "ignite_default": {"conn_type": "ignite", "host": host, "port": int(port)},
        "kafka_default": {"conn_type": "kafka", "extra": {"bootstrap.servers": kafka}},
        "spark_default": {"conn_type": "spark", "host": spark_master},
    }


def connection_variables(connections: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return environment variables that define connections; Airflow's web UI does not show these."""
    return {f"AIRFLOW_CONN_{name.upper()}": json.dumps(connection) for name, connection in connections.items()}


def airflow_environment(home: Path) -> dict[str, str]:
    """Return the environment of every Airflow process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "SPARK_", "PYSPARK_"))}
    return {
        **kept,
        "PATH": f"{BIN}:{os.environ.get('PATH', '')}",
        "HOME": str(home),
        "AIRFLOW_HOME": str(home),
        # a web server, a scheduler and a Dag processor write to one SQLite file: a lock may be held longer than the
        # default 5 s
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db?timeout=60",
        "AIRFLOW__CORE__DAGS_FOLDER": str(CHECKOUT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "PYTHONUNBUFFERED": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(home / "spark"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def migrate(environment: Mapping[str, str], log: Path) -> None:
    """Create or update Airflow's database.

    :raises subprocess.CalledProcessError: it failed; ``log`` has the reason.
    """
    Path(environment["AIRFLOW_HOME"]).mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        subprocess.run(
            [BIN / "airflow", "db", "migrate"], env=environment, stdout=output, stderr=subprocess.STDOUT, check=True
        )
