"""The web UI in a real browser: the page of connectors, the form and the test button of a connection, the form of a manual run.

`SCREENSHOTS=docs/images` keeps the pictures that the documentation shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from selenium.webdriver.common.keys import Keys

from ignite_kafka.admin import backlog
from ignite_kafka.common.deadline import Interval
from ignite_kafka.errors import TopicError
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.state.offsets import read_slots
from ignite_kafka.state.status import FAILED, RUNNING
from ignite_kafka.state.target_state import PAUSED, STOPPED, read_target, write_target
from tests.integration.airflow.conftest import ENTRIES, MANUAL, PREFIX, Secured, WriteRun
from tests.support.airflow_web import AirflowWeb
from tests.support.browser import Browser
from tests.support.connector_run import SLOTS, Run
from tests.support.oracle import read_committed
from tests.support.servers import destroy, fill
from tests.support.waiting import REQUEST_S, wait_until

PAGE = "/plugin/ignite-kafka-connectors/ignite-kafka/"
EDITS = 5
TEST = "[aria-label='Test Connection']"
SEND = "[data-testid=trigger-dag-submit]"


def log_in(browser: Browser, web: AirflowWeb, user: str) -> None:
    browser.open(f"{web.url}/auth/login")
    browser.fill("[name=username]", user)
    browser.fill("[name=password]", user)
    browser.click("button[type=submit]")
    browser.find("[aria-label=Browse]")


def open_page(browser: Browser, web: AirflowWeb) -> None:
    browser.open(web.url)
    browser.click("[aria-label=Browse]")
    browser.press("Ignite and Kafka connectors", "*")
    browser.enter_frame()


def target(secured: Secured, connector: str) -> str | None:
    clients = KafkaClients(secured.kafka.client_config)
    return read_target(clients, Topics(clients), PREFIX, connector)


def test_form_of_a_manual_run(web: AirflowWeb, browser: Browser, secured: Secured) -> None:
    log_in(browser, web, "alice")
    browser.open(f"{web.url}/dags/{MANUAL}")
    browser.press("Trigger")
    browser.fill("#element_name", "no blanks")
    browser.shoot("trigger", 1440, 1100)
    browser.click(SEND)
    browser.has("'no blanks' does not match")
    browser.fill("#element_name", "by-form")
    browser.press("Target")
    browser.fill("#element_topic_prefix", "form-")
    browser.click(SEND)
    states = lambda: [state for (state,) in web.home.query("select state from dag_run where dag_id = ?", MANUAL)]  # noqa: E731
    wait_until(states, "the run of the form")
    browser.open("about:blank")  # the page of a running Dag takes half a core
    wait_until(lambda: states() in (["success"], ["failed"]), "the run of the form ended", poll_s=0.5)
    assert states() == ["success"]
    assert len(read_committed(secured.kafka.client_config, "form-people").records) == ENTRIES
    open_page(browser, web)
    browser.press("by-form", "a")
    browser.has(f"{MANUAL} / copy")
    browser.shoot("connector-of-a-task", 1440, 1100)
    browser.press(f"{MANUAL} / copy", "a")
    browser.leave_frame()
    browser.until(lambda: f"/dags/{MANUAL}/runs/" in browser.driver.current_url or None, "the page of the task")


def test_form_and_test_button_of_a_connection(web: AirflowWeb, browser: Browser, secured: Secured) -> None:
    host, port = secured.ignite.address.split(":")
    log_in(browser, web, "alice")
    browser.open(f"{web.url}/connections")
    browser.press("Add Connection")
    browser.fill("[name=connection_id]", "ignite_form")
    kind = browser.until(lambda: next(iter(browser.all("[role=dialog] input")[1:]), None), "field of the connection type")
    kind.send_keys("Apache Ignite")
    browser.has("Apache Ignite")
    kind.send_keys(Keys.ENTER)
    browser.fill("[name=host]", host)
    browser.fill("[name=port]", f"x{port}", shown=port)  # the form accepts only digits
    browser.fill("[name=login]", "ignite")
    browser.fill("[name=password]", "of somebody else")
    browser.shoot("connection")
    browser.press("Extra Fields")
    browser.fill("#element_time_zone", "Nowhere")
    browser.press("Save")
    browser.has("ignite_form")

    assert any("extra field time_zone is 'Nowhere'" in message for message in answer_of_test(browser))
    edit(browser, web, {"#element_time_zone": "UTC"}, "Check user and password of the connection", extra=True)
    browser.shoot("connection-test")
    edit(browser, web, {"[name=password]": secured.passwords[0]}, "the cluster is ACTIVE")


def edit(browser: Browser, web: AirflowWeb, fields: dict[str, str], answer: str, *, extra: bool = False) -> None:
    """Change fields of the connection, and wait for the given answer of its test button.

    Airflow's form restores the old values in its fields whenever a response about connections arrives while it is open. So the page is
    reloaded, and the change repeated if it had no effect.
    """
    shown: set[str] = set()
    for _ in range(EDITS):
        browser.open(f"{web.url}/connections")
        browser.click("[aria-label='Edit Connection']")
        if extra:
            browser.press("Extra Fields")
        for css, text in fields.items():
            browser.fill(css, text)
        browser.press("Save")
        browser.until(lambda: not browser.all("[role=dialog][data-state=open]") or None, "the form is closed")
        shown = answer_of_test(browser)
        if any(answer in message for message in shown):
            return
    raise AssertionError(f"the test button never answers {answer!r}, but {shown}")


def answer_of_test(browser: Browser) -> set[str]:
    """Messages after the test button is pressed, until one is the test's answer.

    Messages disappear after seconds, and a click while a form closes is lost, so the button is pressed again.
    """
    browser.click(TEST)
    again = Interval(10.0)
    shown: set[str] = set()

    def answered() -> bool:
        if again.due():
            browser.all(TEST)[0].click()
        shown.update(message.text for message in browser.all("[data-scope=toast][data-part=root]"))
        return any(message.startswith("Test Connection") and "\n" in message for message in shown)

    browser.until(answered, "answer of the test button")
    return shown


def test_who_may_edit_the_connection_controls_a_connector(web: AirflowWeb, browser: Browser, secured: Secured, run: WriteRun) -> None:
    run("nightly", FAILED, TopicError("the topic was deleted while it was filled", "Start a new snapshot.", topic="nightly-people"))
    run("stream", RUNNING)
    log_in(browser, web, "alice")
    open_page(browser, web)
    for shown in ("nightly", "Failed", "the topic was deleted while it was filled", "Start a new snapshot.", "stream", "Running"):
        browser.has(shown)
    browser.shoot("connectors")
    browser.press("stream", "a")
    browser.click("[data-action=pause]")
    browser.has("connector stream: target state PAUSED")
    assert target(secured, "stream") == PAUSED
    browser.shoot("connector")
    browser.press("Stop…", "summary")
    browser.fill("[name=typed_name]", "another")
    browser.click("[data-action=stop]")
    browser.has("the typed name is not the connector's name")
    assert target(secured, "stream") == PAUSED
    browser.press("Stop…", "summary")
    browser.fill("[name=typed_name]", "stream")
    browser.click("[data-action=stop]")
    browser.has("connector stream: target state STOPPED")
    assert target(secured, "stream") == STOPPED


def test_a_viewer_sees_connectors_without_buttons(web: AirflowWeb, browser: Browser, run: WriteRun) -> None:
    run("watched", RUNNING)
    log_in(browser, web, "victor")
    open_page(browser, web)
    browser.press("watched", "a")
    browser.has("Actions need the right to edit connection kafka_default.")
    assert not browser.all("[data-action]")
    assert not browser.errors()


def test_connectors_are_controlled_by_rest_with_an_api_token(web: AirflowWeb, secured: Secured, run: WriteRun) -> None:
    run("by-rest", RUNNING)
    root = f"/ignite-kafka/connect/kafka_default/{PREFIX}/connectors"
    alice, victor = ({"Authorization": f"Bearer {web.token(user)}", "Content-Type": "application/json"} for user in ("alice", "victor"))
    assert [web.request("GET", root, headers)[0] for headers in (alice, {})] == [200, 401]
    assert "by-rest" in json.loads(web.request("GET", root, alice)[1])
    assert [web.request("PUT", f"{root}/by-rest/pause", headers)[0] for headers in (victor, {}, alice)] == [403, 401, 202]
    assert target(secured, "by-rest") == PAUSED
    declared = {"name": "of-rest", "config": {"connector.class": "IgniteSinkConnector", "topics": "people"}, "initial_state": "STOPPED"}
    assert web.request("POST", root, alice, json.dumps(declared))[0] == 201
    assert json.loads(web.request("GET", f"{root}/of-rest/status", alice)[1])["connector"]["state"] == "STOPPED"
    assert [web.request("DELETE", f"{root}/of-rest", headers)[0] for headers in (victor, alice, alice)] == [403, 204, 404]


def held(secured: Secured, connector: str, settings: dict[str, Any]) -> Run:
    """A run of a connector, as it appears in Kafka."""
    clients = KafkaClients(secured.kafka.client_config)
    return Run(clients, Topics(clients), PREFIX, connector).begin(settings=settings)


def open_connector(browser: Browser, web: AirflowWeb, name: str) -> None:
    open_page(browser, web)
    browser.press(name, "a")


def reset(browser: Browser, **fields: str) -> None:
    """Fill in and submit the form `Reset offsets`."""
    browser.press("Reset offsets…", "summary")
    for name, text in fields.items():
        browser.fill(f"[name={name}]", text)
    browser.click("[data-action=reset]")


@pytest.fixture
def captured(secured: Secured) -> Iterator[BacklogService]:
    """The backlog service, and a cache to be captured."""
    fill(secured.ignite, "orders", {1: "one"})
    with secured.backlog_service() as service:
        yield service
        service.force_stop("buffered", destroy=True)
    destroy(secured.ignite, "orders")


def test_a_stream_is_resumed_sends_again_and_forgets(web: AirflowWeb, browser: Browser, secured: Secured, captured: BacklogService) -> None:
    run = held(secured, "buffered", {"run_mode": "continuous"})
    captured.start("buffered", run.backlog_settings, ["orders"])
    write_target(run.clients, run.topics, PREFIX, "buffered", PAUSED)
    log_in(browser, web, "alice")
    open_connector(browser, web, "buffered")
    browser.click("[data-action=resume]")
    browser.has("connector buffered: target state RUNNING")
    assert target(secured, "buffered") == RUNNING

    browser.press("Resend…", "summary")
    browser.fill("[name=partition]", "3")
    browser.click("[data-action=resend]")
    browser.has("cache orders: partition 3 will be sent again by connector buffered")
    with Cluster(IgniteEndpoint((secured.ignite.address,)), IgniteCredentials("ignite", secured.passwords[0])) as cluster:
        units = backlog.status_of(cluster, "buffered").units
    assert [(unit.cache, unit.partition, unit.marks) for unit in units if unit.marks] == [("orders", 3, ("asked",))]

    run.send("orders")
    reset(browser, typed_name="buffered")
    browser.has("offsets can be changed only while no run of the connector is active")
    assert units_sent(run)
    run.end()
    reset(browser, typed_name="buffered")
    browser.has("cache orders: 16 units forgotten")
    assert units_sent(run) == 0


def units_sent(run: Run) -> int:
    """Number of units with an offset."""
    return sum(len(slot.units) for slot in read_slots(run.clients, run.topics, PREFIX, run.connector, SLOTS))


def test_a_sink_is_told_where_to_continue(web: AirflowWeb, browser: Browser, secured: Secured) -> None:
    run = held(secured, "stored", SinkSettings(name="stored", topics=("to-be-stored",), run_mode="continuous").to_dict())
    run.topics.ensure([TopicSpec("to-be-stored", 1, 1)])
    producer = Producer(secured.kafka.client_config)
    for _ in range(10):
        producer.produce("to-be-stored", b"{}", b"1")
    assert producer.flush(REQUEST_S) == 0
    run.end()
    log_in(browser, web, "alice")
    open_connector(browser, web, "stored")
    reset(browser, to="yesterday", typed_name="stored")
    browser.has("'yesterday' is no place in a topic")
    assert run.topics.group_offsets("connect-stored", [("to-be-stored", 0)]) == {}
    reset(browser, to="latest", typed_name="stored")
    browser.has("topic to-be-stored, partition 0: next offset was none, is 10")
    assert run.topics.group_offsets("connect-stored", [("to-be-stored", 0)])["to-be-stored", 0][0] == 10
