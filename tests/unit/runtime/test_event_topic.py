"""The topic of a connector's events: what is written once, and what ends no copy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from ignite_kafka.common.event_log import add_events, count_of
from ignite_kafka.runtime.event_topic import EventTopic
from ignite_kafka.settings.source import SourceSettings

SETTINGS = SourceSettings(name="c", events_topic="events")
EARLY = {15120: count_of(5, "slot 0 restarts", {"slot": 0})}
LATE = add_events(EARLY, {15120: count_of(7, "slot 1 restarts", {"slot": 1})}, {15102: count_of(9, "failed \ud800", {})})


class Clients:
    """A producer that keeps what it gets, or refuses it."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.values: list[dict[str, Any]] = []
        self.refusal = refusal

    def writer(self) -> Clients:
        return self

    def produce(self, topic: str, value: bytes, key: bytes, on_delivery: Any) -> None:
        if self.refusal is not None:
            raise self.refusal
        assert (topic, key) == ("events", b"c")
        self.values.append(json.loads(value))

    def poll(self, timeout: float) -> None:
        pass

    def flush(self, timeout: float) -> int:
        return 2


def topic_of(clients: Clients, **written: Any) -> EventTopic:
    kafka: Any = clients
    return EventTopic(kafka, SETTINGS, "r", written.get("written", {}))


def test_each_occurrence_is_written_once_with_its_count() -> None:
    clients = Clients()
    topic = topic_of(clients)
    for counts in (EARLY, LATE, LATE):
        topic.write(counts)
    assert [(value["id"], value["count"], value["text"]) for value in clients.values] == [
        (15120, 1, "slot 0 restarts"),
        (15120, 2, "slot 1 restarts"),
        (15102, 1, "failed ?"),
    ]
    assert clients.values[0]["at"] == "1970-01-01T00:00:00.005Z"
    assert clients.values[0]["severity"] == "WARNING"


def test_what_an_earlier_attempt_wrote_is_not_written_again() -> None:
    clients = Clients()
    topic_of(clients, written=EARLY).write(LATE)
    assert [value["text"] for value in clients.values] == ["slot 1 restarts", "failed ?"]


@pytest.mark.parametrize("refusal", [KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)), BufferError("the queue is full")])
def test_a_topic_that_takes_no_records_ends_no_copy(refusal: Exception, caplog: pytest.LogCaptureFixture) -> None:
    topic = topic_of(Clients(refusal))
    topic.write(EARLY)
    topic.close()
    assert "an event could not be written to topic events" in caplog.text
    assert "the broker has not confirmed 2 records" in caplog.text
