"""Runs of `ignite-kafka serve` whose server or driver is killed, and runs on a standalone cluster of Spark."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient

from tests.support.connect_distributed import RestServer, ignite_kafka_serve, started_serve
from tests.support.oracle import read_committed
from tests.support.processes import EXECUTOR, SparkCluster, alive
from tests.support.servers import fill
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker


class Stream:
    """A stream of a cache into a topic, declared by REST."""

    def __init__(self, ignite: IgniteCluster, kafka: KafkaBroker, name: str) -> None:
        self._ignite = ignite
        self._kafka = kafka
        self.name = name
        self.arguments = ["--kafka", kafka.bootstrap, "--ignite", ",".join(ignite.addresses), "--internal-topic-prefix", f"in-{name}"]
        self._entries = 0

    def declare(self, server: RestServer) -> None:
        config = {
            "connector.class": "IgniteSourceConnector", "cacheWhitelist": self.name, "topicPrefix": "to-", "slots": "1",
            "failover_policy": "BACKLOG", "poll_interval_ms": "200", "progress_interval_ms": "500",
        }  # fmt: skip
        created = server.call("POST", "/connectors", {"name": self.name, "config": config})
        assert created.status == 201, created

    def put(self, entries: int) -> None:
        """Put new entries."""
        fill(self._ignite, self.name, dict.fromkeys(range(self._entries, self._entries + entries), "x"))
        self._entries += entries

    def await_copied(self, server: RestServer) -> None:
        """Wait until each entry has a record, and check that it has one only."""
        wanted = {str(key).encode(): 1 for key in range(self._entries)}
        counts = Counter[bytes | None]()

        def copied() -> bool:
            counts.clear()
            counts.update(self._counts())
            return counts.keys() == wanted.keys()

        wait_until(copied, lambda: f"{len(wanted)} records, now {len(counts)}:\n{server.process.output_tail()}", poll_s=0.2)
        assert counts == wanted

    def _counts(self) -> Counter[bytes | None]:
        topic = f"to-{self.name}"
        if topic not in AdminClient({**self._kafka.client_config}).list_topics(timeout=REQUEST_S).topics:
            return Counter()
        return read_committed(self._kafka.bootstrap, topic, settled=False).counts()


def runs_of(server: RestServer) -> list[psutil.Process]:
    """Processes of the server's runs, the drivers' JVMs included."""
    return [process for process in server.process.family() if process.pid != server.process.pid]


def driver_of(server: RestServer) -> psutil.Process:
    """The one process `ignite-kafka run` of the server."""
    [driver] = psutil.Process(server.process.pid).children()
    return driver


@pytest.fixture
def stream(ignite: IgniteCluster, kafka: KafkaBroker, unique: Callable[[str], str]) -> Iterator[Stream]:
    made = Stream(ignite, kafka, unique("kept"))
    made.put(50)
    yield made
    ignite.destroy_caches(made.name)


def test_a_killed_server_and_a_killed_driver_lose_and_repeat_nothing(stream: Stream, tmp_path: Path) -> None:
    with started_serve(tmp_path / "first", [*stream.arguments, "--work", str(tmp_path / "work-1")]) as first:
        stream.declare(first)
        stream.await_copied(first)
        orphans = runs_of(first)
        first.process.kill()
        stream.put(50)
        stream.await_copied(first)
        assert any(alive(orphan) for orphan in orphans), "the run outlives its server"
        with ignite_kafka_serve(tmp_path / "second", [*stream.arguments, "--work", str(tmp_path / "work-2")]) as second:
            wait_until(lambda: not any(alive(orphan) for orphan in orphans), "the end of the older run, which is fenced")
            assert "ignite-kafka: Fenced " in (tmp_path / "work-1" / f"{stream.name}.log").read_text()
            stream.put(50)
            stream.await_copied(second)
            killed, members = driver_of(second), runs_of(second)
            killed.send_signal(signal.SIGKILL)
            stream.put(50)
            stream.await_copied(second)
            wait_until(lambda: not any(alive(member) for member in members), "the end of the driver's JVM, too")
            assert driver_of(second).pid != killed.pid
            second.await_state(stream.name, "RUNNING")
            assert "failed with exit code -9; restart in 10 s" in second.process.output()


def executors_in(folder: Path) -> list[psutil.Process]:
    """Executors of a cluster, whose workers have their folders below this one."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        in_folder = str(process.info["cwd"] or "").startswith(f"{folder}/")
        if in_folder and EXECUTOR in " ".join(process.info["cmdline"] or []):
            found.append(process)
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    """A standalone cluster with an executor of a core."""
    with SparkCluster(tmp_path, workers=1, conf={"spark.executor.memory": "512m"}) as made:
        yield made.await_ready()


@pytest.mark.long("test_a_killed_server_and_a_killed_driver_lose_and_repeat_nothing")
def test_a_connector_runs_on_a_standalone_cluster_until_it_is_stopped(stream: Stream, cluster: SparkCluster, tmp_path: Path) -> None:
    work = tmp_path / "work"
    variables = {"SPARK_CONF_DIR": str(cluster.conf_folder)}
    arguments = [*stream.arguments, "--master", cluster.master, "--work", str(work)]
    with ignite_kafka_serve(tmp_path, arguments, environment=variables) as server:
        stream.declare(server)
        stream.await_copied(server)
        server.await_state(stream.name, "RUNNING")
        assert len(executors_in(tmp_path)) == 1
        for action, state in (("pause", "PAUSED"), ("resume", "RUNNING"), ("stop", "STOPPED")):
            assert server.call("PUT", f"/connectors/{stream.name}/{action}").status in (202, 204)
            server.await_state(stream.name, state)
        wait_until(lambda: not runs_of(server) and not executors_in(tmp_path), "the end of driver and executor")
        stream.put(50)
        assert server.call("PUT", f"/connectors/{stream.name}/resume").status == 202
        stream.await_copied(server)
        assert len(executors_in(tmp_path)) == 1
        assert server.call("DELETE", f"/connectors/{stream.name}").status == 204
        wait_until(lambda: not runs_of(server) and not executors_in(tmp_path), "the end of driver and executor")
        assert server.call("GET", "/connectors").body == []
