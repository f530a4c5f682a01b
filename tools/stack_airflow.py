"""The Airflow of `make up`: `airflow standalone` with connections in its database, so that the web UI shows them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from .airflow_home import BIN, airflow_environment, connections, migrate
from .servers import ServerProcess, free_ports


def prepare_airflow(directory: Path, *, ignite: str, kafka: str) -> None:
    """Create or update Airflow's database and its connections.

    Connections are written once, and again when the address of a server changes: edits in the web UI are kept until
    then.

    :param directory: contains Airflow's home ``airflow``.
    :param ignite: host:port of a node.
    :param kafka: bootstrap servers.
    :raises subprocess.CalledProcessError: it failed; ``airflow-setup.log`` has the reason.
    """
    home, log = directory / "airflow", directory / "airflow-setup.log"
    environment = airflow_environment(home)
    file, text = home / "connections.json", json.dumps(connections(ignite=ignite, kafka=kafka))
    if file.exists() and file.read_text() == text:
        return
    migrate(environment, log)
    new = file.with_suffix(".new.json")
    new.write_text(text)
    with log.open("ab") as output:
        command = [str(BIN / "airflow"), "connections", "import", "--overwrite", str(new)]
        subprocess.run(command, env=environment, stdout=output, stderr=subprocess.STDOUT, check=True)
    new.replace(file)


def start_airflow(directory: Path, port: int) -> int:
    """Start Airflow on its database, wait until its parts are healthy, and return its process id.

    :param directory: contains its home ``airflow`` and its log ``airflow.log``.
    :param port: of the web UI.
    :return: process id.
    :raises ServerFailed: it ended or did not become healthy.
    """
    environment = {
        **airflow_environment(directory / "airflow"),
        **port_settings(port),
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
    }
    command = [str(BIN / "airflow"), "standalone"]  # it migrates the database of an older version itself
    airflow = ServerProcess(
        "Airflow", command, directory / "airflow.log", env=environment, cwd=directory, outlives_parent=True
    )
    try:
        airflow.await_ready(lambda: healthy(port))
    except BaseException:
        airflow.stop()
        raise
    return airflow.pid


def port_settings(port: int) -> dict[str, str]:
    """Return environment variables that give every server of Airflow a port.

    :param port: of the web UI.
    """
    log_port, trigger_log_port, health_port = free_ports(3)
    return {
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(log_port),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_log_port),
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": str(health_port),
    }


def healthy(port: int) -> bool:
    """Whether the web server answers and scheduler, Dag processor and triggerer report healthy."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/v2/monitor/health")
        reply = connection.getresponse()
        health: Mapping[str, Mapping[str, str]] = json.loads(reply.read()) if reply.status == 200 else {}
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return all(
        health.get(part, {}).get("status") == "healthy"
        for part in ("metadatabase", "scheduler", "dag_processor", "triggerer")
    )
