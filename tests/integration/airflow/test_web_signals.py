"""Signals, comparisons and dead letters on a running Airflow: deferred tasks, asset events, and the page in a browser.

`SCREENSHOTS=docs/images` keeps the pictures that the documentation shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Producer

from ignite_kafka.admin import sink_offsets
from ignite_kafka.admin.signals import request_snapshot
from ignite_kafka.errors import RecordRefused
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.dead_letters import context_headers
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.settings.secrets import Secrets, split_kafka
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.signal_records import CacheSelection
from ignite_kafka.state.status import COMPLETED, read_runs
from ignite_kafka.state.target_state import PAUSED, RUNNING, STOPPED, write_target
from tests.integration.airflow.conftest import PREFIX, Secured, WriteRun
from tests.integration.airflow.test_web_ui import held, log_in, open_connector
from tests.support import PARTITIONS
from tests.support.airflow_web import AirflowWeb
from tests.support.browser import Browser
from tests.support.oracle import read_committed
from tests.support.servers import destroy, fill
from tests.support.waiting import REQUEST_S, wait_until

STREAM, CACHE, NOTIFICATIONS = "signalled", "signalled-cache", "signalled-notifications"
REJECTED = "rejected"
NIGHTLY = ("flights", "airlines", "airports", "planes", "weather")
ENDED = ("success", "failed")
VALUES = {1: "one", 2: "two"}


class Runs:
    """Runs of Dags on an Airflow whose scheduler and triggerer run."""

    def __init__(self, web: AirflowWeb) -> None:
        self.web = web
        self._headers = {"Authorization": f"Bearer {web.token('alice')}", "Content-Type": "application/json"}

    def unpause(self, dag_id: str) -> None:
        """Have the scheduler run a Dag once it is parsed."""
        path = f"/api/v2/dags/{dag_id}"
        wait_until(lambda: self.web.request("GET", path, self._headers)[0] == 200, f"Dag {dag_id}", poll_s=0.5)
        self._call("PATCH", path, {"is_paused": False})

    def start(self, dag_id: str, run_id: str) -> None:
        """Start a run of a Dag."""
        self.unpause(dag_id)
        self._call("POST", f"/api/v2/dags/{dag_id}/dagRuns", {"dag_run_id": run_id, "logical_date": None})

    def _call(self, method: str, path: str, body: dict[str, Any]) -> None:
        status, answer = self.web.request(method, path, self._headers, json.dumps(body))
        assert status == 200, answer

    def states(self, dag_id: str, run_id: str) -> dict[str, str]:
        """State of each task of a run."""
        rows = self.web.home.query("select task_id, state from task_instance where dag_id = ? and run_id = ?", dag_id, run_id)
        return dict(rows)

    def ended(self, dag_id: str, run_id: str, state: str = "success") -> str:
        """Wait until a run has ended in a state; the logs of its tasks."""
        select = "select state from dag_run where dag_id = ? and run_id = ?"
        wait_until(lambda: self.web.home.query(select, dag_id, run_id)[0][0] in ENDED, f"{dag_id} {run_id} ended", poll_s=0.5)
        text = self.log(dag_id, run_id)
        assert self.web.home.query(select, dag_id, run_id) == [(state,)], text[-6_000:]
        return text

    def log(self, dag_id: str, run_id: str) -> str:
        files = sorted(self.web.home.folder.glob(f"logs/dag_id={dag_id}/run_id={run_id}/**/*.log*"))
        return "\n".join(file.read_text(errors="replace") for file in files)

    def await_deferred(self, dag_id: str, run_id: str, *tasks: str) -> None:
        """Wait until tasks are deferred and the scheduler has noted the end of their workers.

        Airflow fails a deferred task that resumes earlier: https://github.com/apache/airflow/issues/72716
        """
        output = self.web.home.folder / "airflow.log"

        def noted() -> bool:
            states = self.states(dag_id, run_id)
            assert not set(states.values()) & {*ENDED, "up_for_retry"}, self.log(dag_id, run_id)[-6_000:]
            text = output.read_text(errors="replace")
            ends = [f"TaskInstance Finished: dag_id={dag_id}, task_id={task}, run_id={run_id}, " for task in tasks]
            return all(states.get(task) == "deferred" for task in tasks) and all(end in text for end in ends)

        wait_until(noted, f"{', '.join(tasks)} of {dag_id} are deferred", poll_s=0.5)

    def events(self, dag_id: str, run_id: str) -> list[str]:
        """Tasks of a run that have sent an asset event."""
        rows = self.web.home.query("select source_task_id from asset_event where source_dag_id = ? and source_run_id = ?", dag_id, run_id)
        return sorted(task for (task,) in rows)


@pytest.fixture(scope="module")
def runs(web: AirflowWeb) -> Runs:
    return Runs(web)


@pytest.fixture(scope="module")
def clients(secured: Secured) -> KafkaClients:
    return KafkaClients(secured.kafka.client_config)


def request(clients: KafkaClients, state: str) -> None:
    write_target(clients, Topics(clients), PREFIX, STREAM, state)


@pytest.fixture(scope="module")
def stream(runs: Runs, secured: Secured, clients: KafkaClients) -> Iterator[None]:
    """A stream that a task runs: 20 records are in its topic, the values from 0 to 19."""
    fill(secured.ignite, CACHE, {key: key for key in range(20)})
    runs.start("signalled_stream", "stream")
    topics = Topics(clients)

    def copied() -> bool:
        state = runs.states("signalled_stream", "stream").get("copy")
        assert state not in (*ENDED, "up_for_retry"), runs.log("signalled_stream", "stream")[-6_000:]
        return CACHE in topics.existing() and len(read_committed(secured.kafka.client_config, CACHE).records) == 20

    wait_until(copied, "the stream's first records", poll_s=0.5)
    yield
    request(clients, STOPPED)
    runs.ended("signalled_stream", "stream")
    destroy(secured.ignite, CACHE)
    with secured.backlog_service() as service:
        service.force_stop(STREAM, destroy=True)


def notices(clients: KafkaClients, signal: str) -> list[str]:
    """Types of the notifications about a signal, without those of progress."""
    values = [json.loads(message.value() or b"") for message in read_to_end(clients, Topics(clients), NOTIFICATIONS, [0])]
    return [value["type"] for value in values if value["id"] == signal and value["type"] != "IN_PROGRESS"]


def settings_of(secured: Secured, name: str) -> tuple[SourceSettings, Secrets]:
    """Name and connection of a connector."""
    plain, secrets = split_kafka(secured.kafka.client_config)
    servers = plain.pop("bootstrap.servers")
    return SourceSettings(name=name, bootstrap_servers=servers, kafka_config=plain), Secrets(kafka=secrets)


def test_deferred_tasks_wait_for_signals_and_their_counts_start_a_dag(
    runs: Runs, stream: None, secured: Secured, clients: KafkaClients
) -> None:
    request(clients, PAUSED)
    wait_until(lambda: list(read_runs(clients, PREFIX, STREAM).values())[-1].state == PAUSED, "the stream is paused", poll_s=0.5)
    runs.start("signals", "in-turn")
    runs.await_deferred("signals", "in-turn", "again", "wait")
    [(trigger,)] = runs.web.home.query("select kwargs from trigger where kwargs like '%by-hand%'")
    assert not any(password in trigger for password in secured.passwords)
    request_snapshot(*settings_of(secured, STREAM), [CacheSelection(CACHE, "_value < 3")], "by-hand")
    request(clients, RUNNING)
    log = runs.ended("signals", "in-turn")
    of_operator = "signals:again:in-turn"
    results = {result["signal"]: result for result in runs.web.home.results("signals")}
    assert {id: (one["state"], one["caches"]) for id, one in results.items()} == {
        of_operator: ("COMPLETED", {CACHE: 4}),
        "by-hand": ("COMPLETED", {CACHE: 3}),
    }
    assert f"Signal by-hand of connector {STREAM} is COMPLETED: {PARTITIONS} of {PARTITIONS} partitions, 3 records" in log, "by the trigger"
    assert [notices(clients, id) for id in results] == [["STARTED", "CACHE_DONE", "COMPLETED"]] * 2
    assert runs.events("signals", "in-turn") == ["again", "wait"]

    def extras() -> list[dict[str, Any]]:
        returned: Any = runs.web.home.results("sent_again")
        return [extra for of_run in returned for extra in of_run]

    wait_until(lambda: len(extras()) == 2, "the Dag that follows the topic", poll_s=0.5)
    assert sorted((extra["signal"], extra["cache"], extra["topic"], extra["records"]) for extra in extras()) == [
        ("by-hand", CACHE, CACHE, 3),
        (of_operator, CACHE, CACHE, 4),
    ]


def test_the_page_sends_a_signal_and_dead_letters_again(
    web: AirflowWeb, browser: Browser, stream: None, clients: KafkaClients, secured: Secured
) -> None:
    before = len(read_committed(secured.kafka.client_config, CACHE).records)
    log_in(browser, web, "alice")
    open_connector(browser, web, STREAM)
    browser.has("signalled_stream / copy")
    browser.press("Send entries again…", "summary")
    browser.fill("[name=where]", "_value > 9")
    browser.click("[data-action=snapshot]")
    browser.has(f"connector {STREAM}: snapshot of signal")
    signal = browser.until(
        lambda: next((row[0] for row in shown(browser, "signal") if row[1] == "Completed" and row[4] == "10"), None), "its end"
    )
    wait_until(lambda: notices(clients, signal)[-1:] == ["COMPLETED"], "the last notification")
    assert notices(clients, signal) == ["STARTED", "CACHE_DONE", "COMPLETED"]
    assert len(read_committed(secured.kafka.client_config, CACHE).records) == before + 10
    browser.shoot("signals", 1440, 1_900)

    record = reject(secured)
    open_connector(browser, web, REJECTED)
    browser.has("price is no number")
    browser.shoot("dead-letters", 1440, 1_300)
    browser.press("Send again…", "summary")
    browser.fill("[name=typed_name]", REJECTED)
    browser.click("[data-action=replay]")
    browser.has("1 dead letters sent again")
    assert [one.value for one in read_committed(secured.kafka.client_config, f"{REJECTED}-in").records] == [record] * 2
    assert not browser.errors()


def shown(browser: Browser, what: str) -> list[list[str]]:
    """Texts of the cells of each row of a table; read at once, because the page replaces its rows."""
    script = "return [...document.querySelectorAll(arguments[0])].map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    rows: list[list[str]] = browser.driver.execute_script(script, f"tr[data-{what}]")
    return rows


def reject(secured: Secured) -> bytes:
    """Write a record, its dead letter and the records of the sink that refused it; the record's value."""
    topic, letters, value = f"{REJECTED}-in", f"{REJECTED}-letters", b'{"price": "x"}'
    settings = SinkSettings(name=REJECTED, topics=(topic,), dead_letter_topic=letters, run_mode="continuous")
    run = held(secured, REJECTED, settings.to_dict())
    run.topics.ensure([TopicSpec(name, 1, 1) for name in (topic, letters)])
    producer = Producer(secured.kafka.client_config)
    place = {"topic": topic, "partition": 0, "offset": 0}
    error = RecordRefused("price is no number", "Correct it.", field="price")
    producer.produce(topic, value, b"7")
    producer.produce(letters, value, b"7", headers=context_headers(error, "TASK_PUT", "Store", REJECTED, 0, place))
    assert producer.flush(REQUEST_S) == 0
    run.end()
    sink_offsets.move(*settings_of(secured, REJECTED), "latest")
    return value


@pytest.fixture
def nightly(secured: Secured, clients: KafkaClients, run: WriteRun) -> Iterator[None]:
    """Caches of two entries, and topics with their records."""
    Topics(clients).ensure([TopicSpec(f"nightly-{cache}", 1, 1) for cache in NIGHTLY])
    for cache in NIGHTLY:
        fill(secured.ignite, cache, VALUES)
        write(secured, f"nightly-{cache}", VALUES)
    run("nightly", COMPLETED)
    yield
    for cache in NIGHTLY:
        destroy(secured.ignite, cache)


def write(secured: Secured, topic: str, values: Mapping[int, str]) -> None:
    producer = Producer(secured.kafka.client_config)
    for key, value in values.items():
        producer.produce(topic, json.dumps(value), str(key))
    assert producer.flush(REQUEST_S) == 0


def test_a_comparison_has_an_event_if_nothing_differs_and_its_history_is_on_the_page(
    web: AirflowWeb, runs: Runs, browser: Browser, secured: Secured, nightly: None
) -> None:
    runs.unpause("ignite_verified")
    runs.start("ignite_verify", "equal")
    runs.ended("ignite_verify", "equal")
    assert runs.events("ignite_verify", "equal") == ["verify"]
    of_asset = lambda: web.home.query("select run_id from dag_run where dag_id = 'ignite_verified'")  # noqa: E731
    [(run_id,)] = wait_until(of_asset, "the Dag that follows the comparison", poll_s=0.5)
    assert "10 entries are equal; all were compared since 20" in runs.ended("ignite_verified", run_id)

    write(secured, "nightly-flights", dict.fromkeys(VALUES, "other"))
    runs.start("check_nightly", "differs")
    log = runs.ended("check_nightly", "differs", "failed")
    assert "nothing was repaired: 2 keys differ, and a repair may change 1" in log
    assert runs.events("check_nightly", "differs") == []

    log_in(browser, web, "alice")
    open_connector(browser, web, "nightly")
    rows = browser.until(lambda: shown(browser, "comparison") or None, "the comparisons")
    assert [row[-1] for row in rows] == ["no", "yes"]
    browser.shoot("comparisons", 1440, 1_400)
    assert not browser.errors()
