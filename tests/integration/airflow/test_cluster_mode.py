"""Streams on YARN: deferred, resumed after kill -9 of worker, triggerer and scheduler, stopped with their task, ended by `run_for`;
and sensors that wait for a stream in the triggerer.

YARN, with HDFS, is Hadoop's minicluster (`tests.support.yarn_cluster`); drivers and executors run a packed Python.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from urllib.request import urlopen

import psutil
import pytest
from confluent_kafka import Producer

from airflow_provider_ignite_kafka.runs.lag import LagCondition, LagReader
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from ignite_kafka.state.status import FAILED, STOPPED, RunStatus, read_runs
from ignite_kafka.state.target_state import PAUSED, RUNNING, write_target
from tests.integration.airflow.conftest import DAGS, PREFIX, Secured
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import alive, kill_process
from tests.support.running_airflow import RunningAirflow, running_airflow
from tests.support.servers import destroy, fill
from tests.support.waiting import REQUEST_S, wait_until
from tests.support.yarn_cluster import YarnCluster

DEFERRED, CLEARED, FOLLOWED, SINK = "stream_deferred", "stream_cleared", "stream_followed", "sink_deferred"
LITTLE_LAG, CAUGHT_UP = "wait_for_lag", "wait_caught_up"


class Streams:
    """A stream's Dag runs, its topic and its apps."""

    def __init__(self, secured: Secured, airflow: RunningAirflow, cluster: YarnCluster, name: str) -> None:
        self.secured, self.airflow, self.cluster, self.name = secured, airflow, cluster, name
        self.cache = f"cache-{name}"
        self.clients = KafkaClients(secured.kafka.client_config)
        self._before = len(cluster.applications())

    def start(self, dag_id: str, run_for: str = "") -> str:
        return self.airflow.trigger(dag_id, {"name": self.name, "cache": self.cache, "run_for": run_for})

    def forget(self) -> None:
        """Remove the cache that :meth:`send` created."""
        destroy(self.secured.ignite, self.cache)

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
        self.request(STOPPED)

    def request(self, state: str) -> None:
        write_target(self.clients, Topics(self.clients), PREFIX, self.name, state)

    def pause(self) -> None:
        """Pause the connector, and wait until none of its tasks runs: its record says PAUSED before they have ended."""
        self.request(PAUSED)

        def paused() -> bool:
            self.airflow.check()
            [run] = self.runs()
            with urlopen(f"{run.spark_ui}/api/v1/applications/{run.application_id}/jobs?status=running", timeout=REQUEST_S) as reply:
                return run.state == PAUSED and not json.load(reply)

        wait_until(paused, f"{self.name} is paused", poll_s=0.5)

    def produce(self, text: str) -> None:
        """Write 100 records to the topic that the sink reads."""
        Topics(self.clients).ensure([TopicSpec(f"{self.name}-{self.cache}", 1, 1)])
        producer = Producer(self.secured.kafka.client_config)
        for key in range(100):
            producer.produce(f"{self.name}-{self.cache}", json.dumps({"text": text}), str(key))
        assert producer.flush(REQUEST_S) == 0

    def await_entries(self, text: str) -> None:
        """Wait until a sink has stored the 100 records of :meth:`produce` in the cache."""

        def there() -> bool:
            self.airflow.check()
            with self.secured.ignite.client() as client:
                values = [value for _, value in client.get_cache(self.cache).scan()] if self.cache in client.get_cache_names() else []
            return len(values) == 100 and all(getattr(value, "text", None) == text for value in values)

        wait_until(there, f"100 entries {text!r} in {self.cache}", poll_s=0.5)


@pytest.fixture(scope="module")
def airflow_running(secured: Secured, yarn: YarnCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningAirflow]:
    dags = tmp_path_factory.mktemp("cluster-dags")
    for name in ("stream_in_cluster.py", "sink_in_cluster.py", "wait_for_connector.py"):
        shutil.copy(DAGS / name, dags)
    on_yarn = {"spark_cluster": yarn.connection(**{"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": yarn.web_address})}
    connections = {**secured.connections(), **on_yarn}
    home = AirflowHome(tmp_path_factory.mktemp("cluster-airflow"), dags, connections, variables=yarn.environment).migrate()
    with running_airflow(home, str(yarn.bin)) as made:
        yield made


@pytest.fixture
def streams(secured: Secured, airflow_running: RunningAirflow, yarn: YarnCluster, unique: Callable[[str], str]) -> Iterator[Streams]:
    made = Streams(secured, airflow_running, yarn, unique("cluster"))
    made.send("first")
    yield made
    yarn.end_all()
    with secured.ignite.client() as client:
        caches = [cache for cache in client.get_cache_names() if cache.startswith(made.cache)]
    for cache in caches:
        destroy(secured.ignite, cache)
    with secured.backlog_service() as service:
        if made.name in service.connectors():
            service.force_stop(made.name, destroy=True)  # the backlogs of all tests do not fit into the nodes' memory region


@pytest.fixture
def connected(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Define the connections in this process, too."""
    for name, connection in secured.connections().items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(connection))


def test_deferred_stream_outlives_triggerer_and_scheduler(streams: Streams) -> None:
    airflow, run = streams.airflow, streams.start(DEFERRED)
    airflow.await_deferred(DEFERRED, run)
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
    assert airflow.await_state(DEFERRED, run, "success", "failed") == "success", airflow.failure(DEFERRED, run)
    result = airflow.home.results(DEFERRED)[-1]
    assert (result["state"], result["generation"], result["records"]) == (STOPPED, 1, 200)
    assert streams.started() == 1
    assert f"connector {streams.name} RUNNING: " in airflow.log(DEFERRED, run), "progress is in the task's log"
    assert f"progress {streams.cache} -> " in airflow.log(DEFERRED, run)


@pytest.mark.long("test_deferred_stream_outlives_triggerer_and_scheduler")
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
    assert airflow.await_state(FOLLOWED, run, "success", "failed") == "success", airflow.failure(FOLLOWED, run)
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


@pytest.mark.long("test_deferred_stream_outlives_triggerer_and_scheduler")
def test_cleared_task_stops_its_app_gracefully_and_starts_another(streams: Streams) -> None:
    airflow, run = streams.airflow, streams.start(CLEARED)
    airflow.await_deferred(CLEARED, run)
    streams.await_records(100)
    airflow.command("tasks", "clear", "--yes", "--task-regex", "copy", CLEARED)
    wait_until(lambda: len(streams.runs()) == 2, "second run", poll_s=0.5)
    first, _ = streams.runs()
    assert (first.state, first.error) == (STOPPED, None)
    streams.send("second")
    streams.await_records(200)
    _, second = streams.runs()
    streams.stop()
    assert airflow.await_state(CLEARED, run, "success", "failed") == "success", airflow.failure(CLEARED, run)
    assert (streams.started(), second.generation) == (2, 2)


@pytest.mark.long("test_deferred_stream_outlives_triggerer_and_scheduler")
@pytest.mark.parametrize("jvm_alone", [True, False])
def test_killed_application_master_is_started_again_by_yarn(streams: Streams, jvm_alone: bool) -> None:
    airflow, cluster, run = streams.airflow, streams.cluster, streams.start(DEFERRED)
    airflow.await_deferred(DEFERRED, run)
    streams.await_records(100)
    [app] = cluster.running()
    first = cluster.containers(app.id, attempt=1)
    cluster.kill_master(app.id, jvm_alone=jvm_alone)
    wait_until(lambda: not any(alive(process) for process in first), "end of all processes of the first attempt")
    streams.send("second")
    streams.await_records(200)
    streams.stop()
    assert airflow.await_state(DEFERRED, run, "success", "failed") == "success", airflow.failure(DEFERRED, run)
    copied = read_committed(streams.secured.kafka.client_config, f"{streams.name}-{streams.cache}").counts()
    assert (len(copied), set(copied.values())) == (100, {2}), "each key was sent once for each time that it was put"
    states = sorted((status.generation, status.state) for status in streams.runs())
    if states == [(2, STOPPED)]:  # YARN's next attempt has continued the run, which the same try follows
        assert (streams.started(), airflow.task(DEFERRED, run)) == (1, ("success", 1))
        return
    # its Python lived long enough to write the end of the run: Airflow's next try resumes, and YARN's next attempt runs nothing
    assert jvm_alone
    assert states == [(1, FAILED), (2, STOPPED)]
    assert (streams.started(), airflow.task(DEFERRED, run)) == (2, ("success", 2))
    assert cluster.await_end(app.id).final_status == "FAILED"


@pytest.mark.long("test_deferred_stream_outlives_triggerer_and_scheduler")
def test_stream_ends_after_run_for(streams: Streams) -> None:
    airflow, run = streams.airflow, streams.start(DEFERRED, run_for="00:00:40")
    assert airflow.await_state(DEFERRED, run, "success", "failed") == "success", airflow.failure(DEFERRED, run)
    [status] = streams.runs()
    assert (status.state, status.error) == (STOPPED, None)
    assert status.ended_ms is not None
    assert status.ended_ms - status.started_ms < 200_000
    assert streams.started() == 1


@pytest.mark.long("test_deferred_stream_outlives_triggerer_and_scheduler")
def test_deferred_sink_outlives_the_triggerer(streams: Streams, connected: None) -> None:
    streams.forget()
    airflow, run = streams.airflow, streams.start(SINK)
    airflow.await_deferred(SINK, run)
    waits = f"connector {streams.name} waits for topics that do not exist yet"
    wait_until(lambda: waits in streams.cluster.log(), "a sink without a topic", poll_s=0.5)
    streams.produce("first")
    streams.await_entries("first")
    wait_until(lambda: not task_processes(airflow), "end of the task's process")
    airflow.kill("triggerer")
    airflow.start("triggerer")

    streams.pause()
    streams.produce("second")
    behind = LagReader(streams.name).read()
    assert (behind.state, behind.loaded, behind.counts()) == (PAUSED, True, {f"{streams.name}-{streams.cache}": 100})
    waiting = airflow.trigger(LITTLE_LAG, {"name": streams.name})
    wait_until(lambda: f"Connector {streams.name} is {PAUSED}; to copy: " in airflow.log(LITTLE_LAG, waiting), "a poll of the triggerer")
    airflow.await_deferred(LITTLE_LAG, waiting)
    streams.request(RUNNING)
    assert airflow.await_state(LITTLE_LAG, waiting, "success", "failed") == "success", airflow.failure(LITTLE_LAG, waiting)
    assert airflow.home.results(LITTLE_LAG) == [
        {"connector": streams.name, "state": RUNNING, "loaded": True, "sends_again": False, "lag": {}, "total": 0, "open": {}},
    ]
    streams.await_entries("second")

    streams.stop()
    assert airflow.await_state(SINK, run, "success", "failed") == "success", airflow.failure(SINK, run)
    result = airflow.home.results(SINK)[-1]
    assert (result["state"], result["generation"], result["records"]) == (STOPPED, 1, 200)
    assert streams.started() == 1
    assert f"connector {streams.name} RUNNING: " in airflow.log(SINK, run), "progress is in the task's log"


@pytest.mark.long("test_deferred_stream_outlives_triggerer_and_scheduler")
def test_a_stream_that_was_behind_has_caught_up(streams: Streams, connected: None) -> None:
    airflow, run = streams.airflow, streams.start(DEFERRED)
    streams.await_records(100)
    streams.pause()
    streams.send("second")
    reader = LagReader(streams.name)
    captured = f"all changes of {streams.cache} are captured"
    wait_until(lambda: reader.read().counts() == {streams.cache: 100}, lambda: f"{captured}: {reader.read()}", poll_s=0.5)
    behind = reader.read()
    assert (behind.state, behind.loaded, behind.counts()) == (PAUSED, True, {streams.cache: 100})
    assert not LagCondition(99).is_met(behind)
    assert LagCondition({streams.cache: 100}).is_met(behind)
    waiting = airflow.trigger(CAUGHT_UP, {"name": streams.name})
    wait_until(lambda: f"Connector {streams.name} is {PAUSED}; to copy: " in airflow.log(CAUGHT_UP, waiting), "a poll of the triggerer")
    airflow.await_deferred(CAUGHT_UP, waiting)
    streams.request(RUNNING)
    assert airflow.await_state(CAUGHT_UP, waiting, "success", "failed") == "success", airflow.failure(CAUGHT_UP, waiting)
    streams.await_records(200)
    [caught_up] = airflow.home.results(CAUGHT_UP)
    assert (caught_up["connector"], caught_up["state"], caught_up["loaded"]) == (streams.name, RUNNING, True)
    streams.stop()
    assert airflow.await_state(DEFERRED, run, "success", "failed") == "success", airflow.failure(DEFERRED, run)
