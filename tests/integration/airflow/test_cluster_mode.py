"""Streams in a cluster: deferred, resumed after kill -9 of worker, triggerer and scheduler, stopped with their task, ended by `run_for`.

The cluster is a stand-in for YARN (`tests.support.detached_spark`): a real Spark app that outlives its spark-submit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import psutil
import pytest

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.status import STOPPED, RunStatus, read_runs
from ignite_kafka.state.target_state import write_target
from tests.integration.airflow.conftest import DAGS, PREFIX, Secured
from tests.support.airflow_home import AirflowHome
from tests.support.detached_spark import DetachedSpark
from tests.support.oracle import read_committed
from tests.support.processes import kill_process
from tests.support.running_airflow import RunningAirflow, running_airflow
from tests.support.servers import destroy, fill
from tests.support.waiting import wait_until

DEFERRED, CLEARED, FOLLOWED = "stream_deferred", "stream_cleared", "stream_followed"


class Streams:
    """A stream's Dag runs, its topic and its apps."""

    def __init__(self, secured: Secured, airflow: RunningAirflow, cluster: DetachedSpark, name: str) -> None:
        self.secured, self.airflow, self.cluster, self.name = secured, airflow, cluster, name
        self.cache = f"cache-{name}"
        self.clients = KafkaClients(secured.kafka.client_config)
        self._before = len(cluster.applications())

    def start(self, dag_id: str, run_for: str = "") -> str:
        return self.airflow.trigger(dag_id, {"name": self.name, "cache": self.cache, "run_for": run_for, "submit": self.cluster.submit})

    def send(self, text: str) -> None:
        fill(self.secured.ignite, self.cache, dict.fromkeys(range(100), text))

    def await_records(self, count: int) -> None:
        topic = f"{self.name}-{self.cache}"
        topics = Topics(self.clients)

        def there() -> bool:
            self.airflow.check()
            return topic in topics.existing() and len(read_committed(self.secured.kafka.client_config, topic).records) >= count

        wait_until(there, f"{count} records in {topic}", poll_s=0.5)

    def runs(self) -> list[RunStatus]:
        return list(read_runs(self.clients, PREFIX, self.name).values())

    def started(self) -> int:
        """Number of apps that were submitted in this test."""
        return len(self.cluster.applications()) - self._before

    def stop(self) -> None:
        """Stop the connector, as `ignite-kafka stop` does."""
        write_target(self.clients, Topics(self.clients), PREFIX, self.name, STOPPED)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DetachedSpark]:
    made = DetachedSpark(tmp_path_factory.mktemp("cluster") / "yarn").install()
    yield made
    for application in made.running():
        made.kill(application)


@pytest.fixture(scope="module")
def airflow_running(secured: Secured, cluster: DetachedSpark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningAirflow]:
    dags = tmp_path_factory.mktemp("cluster-dags")
    (dags / "stream_in_cluster.py").write_text((DAGS / "stream_in_cluster.py").read_text())
    on_yarn = {"spark_cluster": {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}}
    home = AirflowHome(tmp_path_factory.mktemp("cluster-airflow"), dags, {**secured.connections(), **on_yarn}).migrate()
    with running_airflow(home, str(cluster.folder)) as made:
        yield made


@pytest.fixture
def streams(secured: Secured, airflow_running: RunningAirflow, cluster: DetachedSpark, unique: Callable[[str], str]) -> Iterator[Streams]:
    made = Streams(secured, airflow_running, cluster, unique("cluster"))
    made.send("first")
    yield made
    for application in cluster.running():
        cluster.kill(application)
    with secured.ignite.client() as client:
        caches = [cache for cache in client.get_cache_names() if cache.startswith(made.cache)]
    for cache in caches:
        destroy(secured.ignite, cache)


def test_deferred_stream_outlives_triggerer_and_scheduler(streams: Streams) -> None:
    airflow, run = streams.airflow, streams.start(DEFERRED)
    airflow.await_state(DEFERRED, run, "deferred")
    streams.await_records(100)
    wait_until(lambda: not task_processes(airflow), "end of the task's process")
    [(trigger,)] = airflow.home.query("select kwargs from trigger")
    assert streams.name in trigger, "it is not encrypted here"
    assert not any(password in trigger for password in streams.secured.passwords)

    for name in ("triggerer", "scheduler"):
        airflow.kill(name)
        airflow.start(name)
    streams.send("second")
    streams.await_records(200)
    streams.stop()
    assert airflow.await_state(DEFERRED, run, "success", "failed") == "success", airflow.log(DEFERRED, run)[-3000:]
    result = airflow.home.results(DEFERRED)[-1]
    assert (result["state"], result["generation"], result["records"]) == (STOPPED, 1, 200)
    assert streams.started() == 1
    assert f"connector {streams.name} RUNNING: " in airflow.log(DEFERRED, run), "progress is in the task's log"
    assert f"progress {streams.cache} -> " in airflow.log(DEFERRED, run)


def test_killed_task_finds_its_run_again(streams: Streams) -> None:
    airflow, run = streams.airflow, streams.start(FOLLOWED)
    airflow.await_state(FOLLOWED, run, "running")
    streams.await_records(100)
    _, tries = airflow.task(FOLLOWED, run)
    processes = task_processes(airflow)
    assert len(processes) > 1, "a task and its supervisor"
    for member in processes:
        kill_process(member)
    wait_until(lambda: airflow.task(FOLLOWED, run) == ("running", tries + 1), "next try")
    wait_until(lambda: "of an earlier try, which goes on" in airflow.log(FOLLOWED, run), "the run of the first try")
    streams.send("second")
    streams.await_records(200)
    streams.stop()
    assert airflow.await_state(FOLLOWED, run, "success", "failed") == "success", airflow.log(FOLLOWED, run)[-3000:]
    assert streams.started() == 1
    assert [(status.state, status.generation) for status in streams.runs()] == [(STOPPED, 1)]


def task_processes(airflow: RunningAirflow) -> list[psutil.Process]:
    """The process of a task and the worker that supervises it, by the titles that Airflow gives them."""
    found = []
    for member in airflow.process("scheduler").family():
        with contextlib.suppress(psutil.NoSuchProcess):
            title = " ".join(member.cmdline())
            found += [member] if title.startswith("airflow worker -- ") and "<idle>" not in title else []
    return found


def test_cleared_task_stops_its_app_gracefully_and_starts_another(streams: Streams) -> None:
    airflow, run = streams.airflow, streams.start(CLEARED)
    airflow.await_state(CLEARED, run, "deferred")
    streams.await_records(100)
    airflow.command("tasks", "clear", "--yes", "--task-regex", "copy", CLEARED)
    wait_until(lambda: len(streams.runs()) == 2, "second run", poll_s=0.5)
    first, _ = streams.runs()
    assert (first.state, first.error) == (STOPPED, None)
    streams.send("second")
    streams.await_records(200)
    _, second = streams.runs()
    streams.stop()
    assert airflow.await_state(CLEARED, run, "success", "failed") == "success", airflow.log(CLEARED, run)[-3000:]
    assert (streams.started(), second.generation) == (2, 2)


def test_stream_ends_after_run_for(streams: Streams) -> None:
    airflow, run = streams.airflow, streams.start(DEFERRED, run_for="00:00:40")
    assert airflow.await_state(DEFERRED, run, "success", "failed") == "success", airflow.log(DEFERRED, run)[-3000:]
    [status] = streams.runs()
    assert (status.state, status.error) == (STOPPED, None)
    assert status.ended_ms is not None
    assert status.ended_ms - status.started_ms < 200_000
    assert streams.started() == 1
