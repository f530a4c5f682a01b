"""A continuous connector through Airflow: killed, restarted, stopped, cleaned up."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psutil
import pytest
from confluent_kafka import KafkaException

from airflow_provider_ignite_kafka.connector_status import connector_status
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.secrets import Secrets, split_kafka
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import FAILED, RUNNING, STOPPED, RunStatus, read_runs
from ignite_kafka.state.target_state import read_target, write_target
from tests.integration.airflow.conftest import PREFIX, Secured, WriteRun
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import ManagedProcess, alive, output_tail
from tests.support.servers import destroy, fill
from tests.support.waiting import wait_until

STREAM, CLEAN_UP, TEMPORARY = "stream_once_tried", "clean_up_backlog", "ignite_to_kafka_temporary"


@pytest.fixture
def cache(secured: Secured, unique: Callable[[str], str]) -> Iterator[str]:
    name = unique("streamed")
    yield name
    with secured.ignite.client() as client:
        made = [found for found in client.get_cache_names() if found.startswith(name)]
    for found in made:
        destroy(secured.ignite, found)


def test_killed_started_again_stopped_and_cleaned_up(
    secured: Secured, airflow: AirflowHome, cache: str, unique: Callable[[str], str]
) -> None:
    name = unique("stream")
    topic, clients = f"{name}-{cache}", KafkaClients(secured.kafka.client_config)

    # the task gets a signal; then it is killed, and its watchdog stops the app
    for tries, number in enumerate((signal.SIGTERM, signal.SIGKILL), 1):
        fill(secured.ignite, cache, dict.fromkeys(range(100), f"change {tries}"))
        with running(airflow, name, cache) as process:
            await_records(secured, process, topic, tries * 100)
            family = process.family()
            os.kill(process.pid, number)
            process.wait()
            await_end(family, airflow)
        run = newest(clients, name)
        assert (run.state, run.error, run.generation) == (STOPPED, None, tries), process.output_tail()
    assert airflow.states(STREAM)[0] == "failed"

    fill(secured.ignite, cache, dict.fromkeys(range(90, 100), "while nothing ran"))
    with running(airflow, name, cache) as process:
        await_records(secured, process, topic, 210)
        fill(secured.ignite, f"{cache}-2", dict.fromkeys(range(20), "new cache"))
        await_records(secured, process, f"{topic}-2", 20)
        family = process.family()
        write_target(clients, Topics(clients), PREFIX, name, STOPPED)
        process.wait()
        await_end(family, airflow)
    assert airflow.states(STREAM)[-1] == "success", process.output_tail()
    result = airflow.results(STREAM)[-1]
    assert (result["state"], result["connector"], result["generation"]) == ("STOPPED", name, 3)
    assert {cache: counts["records"] for cache, counts in result["caches"].items()} == {cache: 10, f"{cache}-2": 20}
    assert read_committed(secured.kafka.client_config, topic).counts() == {str(key).encode(): 2 + (key >= 90) for key in range(100)}

    output = airflow.run(CLEAN_UP, {"connector": name, "force": False})
    assert airflow.states(CLEAN_UP) == ["success"], output_tail(output)
    removed = {"service": f"kafka-connect-backlog-service-{name}", "cache": f"kafka-connect-backlog-{name}"}
    assert airflow.results(CLEAN_UP) == [{"connector": name, **removed}]


def test_temporary_stream_is_torn_down(secured: Secured, airflow: AirflowHome, unique: Callable[[str], str]) -> None:
    cache, clients = unique("flights"), KafkaClients(secured.kafka.client_config)
    fill(secured.ignite, cache, dict.fromkeys(range(100), "entry"))
    try:
        with started(airflow, TEMPORARY, {"cache_whitelist": ["flights.*"]}) as process:
            await_records(secured, process, f"temporary-{cache}", 100)
            write_target(clients, Topics(clients), PREFIX, "temporary", STOPPED)
            process.wait()
        assert airflow.states(TEMPORARY) == ["success", "success"], process.output_tail()
        removed = {"service": "kafka-connect-backlog-service-temporary", "cache": "kafka-connect-backlog-temporary"}
        assert airflow.results(TEMPORARY)[-1] == {"connector": "temporary", **removed}
    finally:
        destroy(secured.ignite, cache)


def running(home: AirflowHome, name: str, cache: str) -> AbstractContextManager[ManagedProcess]:
    return started(home, STREAM, {"name": name, "cache": cache})


@contextmanager
def started(home: AirflowHome, dag: str, conf: dict[str, Any]) -> Iterator[ManagedProcess]:
    process = home.start(dag, conf)
    try:
        yield process
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("state", "settings", "accepted"),
    [
        (RUNNING, {"run_mode": "continuous"}, True),
        (RUNNING, {"failover_policy": "BACKLOG"}, True),
        (RUNNING, {}, False),
        (STOPPED, {"run_mode": "continuous"}, False),
        (None, {"run_mode": "continuous"}, False),
    ],
)
def test_a_running_stream_is_stopped_through_kafka(
    secured: Secured, run: WriteRun, unique: Callable[[str], str], state: str | None, settings: dict[str, str], accepted: bool
) -> None:
    name, clients = unique("accepted"), KafkaClients(secured.kafka.client_config)
    run_id = run(name, state) if state else "has not begun"
    plain, secrets = split_kafka(secured.kafka.client_config)
    given = {"name": name, "bootstrap_servers": plain.pop("bootstrap.servers"), "kafka_config": plain, **settings}
    request = Request(SourceSettings.from_dict(given), run_id, "s", Secrets(kafka=secrets))
    assert RunMonitor.of(request, FollowedRun.of(request, "kafka_default", "spark_default", 60)).request_stop() is accepted
    assert read_target(clients, Topics(clients), PREFIX, name) == (STOPPED if accepted else None)


def test_status_of_a_connector(secured: Secured, run: WriteRun, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = unique("status")
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": secured.kafka.client_config}))
    assert connector_status(name) is None
    for state in (FAILED, RUNNING):
        run(name, state)
        status = connector_status(name)
        assert status is not None
        assert status.state == state


def newest(clients: KafkaClients, connector: str) -> RunStatus:
    return list(read_runs(clients, PREFIX, connector).values())[-1]


def await_records(secured: Secured, process: ManagedProcess, topic: str, count: int) -> None:
    """Wait until a topic has that many visible records; fail if Airflow ends before."""

    def there() -> bool:
        assert process.running(), process.output_tail()
        try:
            return topic in topics.existing() and len(read_committed(secured.kafka.client_config, topic).records) >= count
        except KafkaException:  # its partitions have no leader yet
            return False

    topics = Topics(KafkaClients(secured.kafka.client_config))
    wait_until(there, f"{count} records in {topic}")


def await_end(family: list[psutil.Process], home: AirflowHome) -> None:
    """Neither a process nor a private file of a run is left."""
    wait_until(lambda: not any(alive(member) for member in family), "end of the app")
    wait_until(lambda: not list(home.private.glob("ignite-kafka-*")), "end of the private folders")
