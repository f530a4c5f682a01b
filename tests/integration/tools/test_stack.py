"""`make up` and `make down` on real servers, in a folder of the test's own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pyignite
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.processes import ManagedProcess
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import free_ports
from tools.servers.jars import CHECKOUT
from tools.servers.marks import end, marked
from tools.stack import MARK, Server, Stack

FLIGHTS = 336_776


def command(folder: Path, action: str, log: Path) -> ManagedProcess:
    environment = {**os.environ, MARK: str(folder), "PYTHONPATH": str(CHECKOUT)}
    return ManagedProcess([sys.executable, "-m", "tools.stack", action], log, environment, CHECKOUT)


def finished(folder: Path, action: str, log: Path) -> str:
    process = command(folder, action, log)
    assert process.wait() == 0, process.output_tail()
    return process.output()


def idle(folder: Path) -> int:
    """Exit code of what `make clean` asks before it removes anything."""
    return subprocess.run([sys.executable, "-m", "tools.stack", "idle"], env={**os.environ, MARK: str(folder)}, cwd=CHECKOUT).returncode


def ended_on_free_ports(folder: Path) -> None:
    """Make the folder of servers that ran once, so that they start on their earlier ports: others may take the well-known ones meanwhile."""
    folder.mkdir()
    ended = subprocess.Popen(["true"])
    ended.wait()
    once = [Server(name, port, ended.pid, 0.0) for name, port in zip(("Ignite", "Kafka", "Airflow"), free_ports(3), strict=True)]
    (folder / "servers.json").write_text(json.dumps([asdict(server) for server in once]))


def servers(folder: Path) -> dict[str, Server]:
    return Stack(folder).servers


def asked(url: str, token: str, body: dict[str, Any] | None = None) -> Any:
    """The answer of Airflow's API on loopback; a body makes it a POST."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=REQUEST_S) as reply:
        return json.load(reply)


def left_behind(folder: Path) -> list[psutil.Process]:
    return marked(MARK, str(folder))


def test_a_stack_is_interrupted_started_repaired_and_ended(tmp_path: Path) -> None:
    folder = tmp_path / "stack"
    ended_on_free_ports(folder)
    try:
        for number, word in ((signal.SIGTERM, "starting Ignite"), (signal.SIGHUP, "starting Kafka")):
            interrupted = command(folder, "up", tmp_path / f"{number.name}.log")
            wait_until(lambda interrupted=interrupted, word=word: word in interrupted.output(), word)  # type: ignore[misc]
            wait_until(lambda: left_behind(folder), "a server's process")
            os.kill(interrupted.pid, number)
            assert interrupted.wait() == 128 + number
            assert left_behind(folder) == []

        output = finished(folder, "up", tmp_path / "up.log")
        first = servers(folder)
        assert {name: server.alive() for name, server in first.items()} == {"Ignite": True, "Kafka": True, "Airflow": True}
        assert "Admin > Connections" in output
        assert first["Airflow"].address in output
        admin = AdminClient({"bootstrap.servers": first["Kafka"].address})
        admin.create_topics([NewTopic("mine", 1, 1)])["mine"].result(REQUEST_S)
        _the_web_ui_shows_connections_that_can_be_tested(first)

        for name in ("Kafka", "Ignite"):
            leader = psutil.Process(first[name].pid)
            leader.kill()
            wait_until(lambda name=name: not first[name].alive(), f"end of {name}")  # type: ignore[misc]
        finished(folder, "up", tmp_path / "again.log")
        second = servers(folder)
        assert second["Airflow"] == first["Airflow"]
        assert [second[name].pid != first[name].pid for name in ("Kafka", "Ignite")] == [True, True]
        assert [second[name].port for name in first] == [server.port for server in first.values()]
        assert "mine" in admin.list_topics(timeout=REQUEST_S).topics
        assert len(list((folder / "kafka").glob("broker-*.log"))) == 1, "the log of the broker that was killed"
        client = pyignite.Client()
        with client.connect("127.0.0.1", second["Ignite"].port):
            assert client.get_cache("flights").get_size() == FLIGHTS

        assert idle(folder) == 1
        assert re.search("ended Airflow, Kafka, Ignite", finished(folder, "down", tmp_path / "down.log"))
        assert left_behind(folder) == []
        assert idle(folder) == 0
        assert (folder / "kafka" / "data").is_dir()
    finally:
        end(left_behind(folder))


def _the_web_ui_shows_connections_that_can_be_tested(stack: dict[str, Server]) -> None:
    address = stack["Airflow"].address
    token = asked(f"{address}/auth/token", "")["access_token"]
    shown = asked(f"{address}/api/v2/connections", token)["connections"]
    assert {connection["connection_id"] for connection in shown} == {"ignite_default", "kafka_default", "spark_default"}
    known = {"connection_id": "ignite_default", "conn_type": "ignite", "host": "127.0.0.1", "port": stack["Ignite"].port}
    assert asked(f"{address}/api/v2/connections/test", token, known)["status"] is True
