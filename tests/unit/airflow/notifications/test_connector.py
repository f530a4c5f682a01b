"""The notifier without a broker: its record, templates, and errors. With a broker: tests/integration/airflow/test_assets.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.log import mask_secret
from confluent_kafka import KafkaError

from airflow_provider_ignite_kafka.notifications import connector as notifications
from airflow_provider_ignite_kafka.notifications.connector import ConnectorNotifier
from ignite_kafka.common.event_log import EventCounts, count_of
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, TopicError
from ignite_kafka.events import EVENTS
from ignite_kafka.state.status import FAILED
from tests.support.airflow_versions import DEADLINES, TaskInstanceState
from tests.unit.airflow.bench import run_status


class Broker:
    """A broker with one topic.

    :ivar records: topic, key and value of each record.
    """

    patience_s = 30.0

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes, dict[str, Any]]] = []
        self.asked: list[tuple[str, str | None]] = []
        self.status: Any = lambda: run_status(FAILED, TopicError("the topic was deleted", "Start a new snapshot.", topic="t"))
        self.events: EventCounts = {}
        self.refuses: KafkaError | None = None
        self.silent = False

    def clients_of(self, conn_id: str, secrets_file: str | None) -> Broker:
        self.asked.append((conn_id, secrets_file))
        return self

    def writer(self) -> Broker:
        return self

    def partitions(self, topic: str) -> int:
        if topic != "alerts":
            raise TopicError("the topic does not exist", "Create it.", topic=topic)
        return 1

    def produce(
        self, topic: str, value: bytes, key: bytes, _: int, on_delivery: Callable[[KafkaError | None, Any], None], **__: Any
    ) -> None:
        self.records.append((topic, key, json.loads(value)))
        on_delivery(self.refuses, None)

    def flush(self, _: float) -> int:
        return int(self.silent)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker()
    monkeypatch.setattr(notifications, "connection_clients", made.clients_of)
    monkeypatch.setattr(notifications, "Topics", lambda clients: clients)
    monkeypatch.setattr(notifications, "newest_status", lambda *_, **__: made.status())
    monkeypatch.setattr(notifications, "read_run_events", lambda *_: made.events)
    return made


def context(**more: Any) -> Any:
    task = SimpleNamespace(dag_id="nightly", task_id="copy", run_id="r1", map_index=-1, try_number=2, state=TaskInstanceState.FAILED)
    return {"dag": SimpleNamespace(dag_id="nightly", get_template_env=lambda **_: None), "ti": task, "run_id": "r1", **more}


def notifier(**more: Any) -> ConnectorNotifier:
    return ConnectorNotifier(**{"connector": "orders", "topic": "alerts", **more})


def test_a_failure_has_its_task_and_the_connector_s_error_with_its_remedy(broker: Broker) -> None:
    notifier(message="call the team").notify(context(exception=ValueError("it broke")))
    [(topic, key, value)] = broker.records
    assert (topic, key, value.pop("at_ms") > 0) == ("alerts", b"orders", True)
    error = value["status"].pop("error")
    assert (error["type"], error["remedy"]) == ("TopicError", "Start a new snapshot.")
    assert value == {
        "connector": "orders",
        "message": "call the team",
        "dag_id": "nightly",
        "task_id": "copy",
        "run_id": "r1",
        "map_index": -1,
        "try_number": 2,
        "state": "failed",
        "exception": "it broke",
        "status": {"state": FAILED, "run_id": "r", "records": 10, "skipped": 0, "events": []},
    }
    assert broker.asked == [("kafka_default", None)]


def test_warnings_and_errors_of_the_run_are_there_the_last_one_first(broker: Broker) -> None:
    redone = count_of(5, "slot 1 restarts", {}) + count_of(9, "slot 2 restarts", {})
    broker.events = {15060: count_of(20, "connected", {}), 15120: redone, 15010: count_of(30, "no object", {}), 99999: redone}
    notifier().notify(context())
    [(_, _, value)] = broker.records
    assert [(event["id"], event["severity"], event["count"], event["last_ms"], event["text"]) for event in value["status"]["events"]] == [
        (15010, "ERROR", 1, 30, "no object"),
        (15120, "WARNING", 2, 9, "slot 2 restarts"),
    ]
    assert value["status"]["events"][0]["action"] == EVENTS[15010].action


def test_templates_are_rendered_by_airflow(broker: Broker) -> None:
    made = notifier(connector="{{ params.name }}", topic="{{ params.topic }}", message="{{ ti.task_id }} failed", secrets_file="")
    made({**context(), "dag": None, "params": {"name": "quotes", "topic": "alerts"}})
    [(_, key, value)] = broker.records
    assert (key, value["connector"], value["message"]) == (b"quotes", "quotes", "copy failed")


def test_a_dag_s_own_callback_has_no_task(broker: Broker) -> None:
    notifier().notify(context(ti=None))
    [(_, _, value)] = broker.records
    assert (value["dag_id"], value["run_id"], value["task_id"], value["exception"]) == ("nightly", "r1", None, None)


@DEADLINES
def test_a_deadline_alert_waits_in_a_thread(broker: Broker) -> None:
    async def alert() -> None:
        await notifier(context={})

    asyncio.run(alert())
    [(_, key, value)] = broker.records
    assert (key, value["dag_id"], value["status"]["state"]) == (b"orders", None, FAILED)


def test_a_connector_without_a_readable_status_is_notified_all_the_same(broker: Broker) -> None:
    def unreadable() -> Any:
        raise TopicError("there is no status topic", "Start the connector.")

    for broker.status in (lambda: None, unreadable):
        notifier().notify(context())
    assert [value["status"] for _, _, value in broker.records] == [None, None]


def test_secrets_are_masked(broker: Broker) -> None:
    mask_secret("xyzzy-of-the-notifier")
    notifier().notify(context(exception=ValueError("refused: xyzzy-of-the-notifier")))
    assert broker.records[0][2]["exception"] == "refused: ***"


def test_a_notification_that_is_not_written_is_an_error(broker: Broker) -> None:
    with pytest.raises(TopicError, match="does not exist"):
        notifier(topic="elsewhere").notify(context())
    broker.silent = True
    with pytest.raises(KafkaUnavailable, match="did not confirm"):
        notifier().notify(context())
    broker.silent, broker.refuses = False, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(IgniteKafkaError, match="writing the notification"):
        notifier().notify(context())
