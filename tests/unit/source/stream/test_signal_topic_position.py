"""Reader of a signal topic over a consumer in memory: where it begins, and what the records of a poll become."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.signal_topic import SignalTopic
from ignite_kafka.state.signal_records import MOST_ERROR, MOST_WAITING, CacheSelection, Signal, SignalPosition, SignalStatus
from ignite_kafka.state.signals import SignalFold

SETTINGS = SourceSettings(name="c", run_mode="continuous", signal_topic="signals")


class Consumer:
    """Gives the messages of one poll."""

    def __init__(self) -> None:
        self.places: list[tuple[int, int]] = []
        self.messages: list[Any] = []

    def assign(self, places: Any) -> None:
        self.places = [(place.partition, place.offset) for place in places]

    def consume(self, _count: int, timeout: float) -> list[Any]:
        messages, self.messages = self.messages, []
        return messages

    def add(self, kind: str, key: str = "c", **more: Any) -> None:
        value, offset = json.dumps({"type": kind, **more}).encode(), len(self.messages)
        fields = {"error": None, "partition": 0, "offset": offset, "key": key.encode(), "value": value, "timestamp": (1, 5)}
        self.messages.append(SimpleNamespace(**{name: lambda given=given: given for name, given in fields.items()}))


def opened(fold: SignalFold | None = None, ends: dict[int, int] | None = None) -> tuple[SignalTopic, Consumer]:
    consumer, by_partition = Consumer(), ends or {0: 9}
    topics = SimpleNamespace(
        ensure=lambda _: None,
        describe=lambda _: {"signals": SimpleNamespace(topic_id="id-of-topic")},
        partitions=lambda _: len(by_partition),
        ends=lambda _, partitions: {number: by_partition[number] for number in partitions},
    )
    clients = SimpleNamespace(reader=lambda **_: consumer)
    return SignalTopic(cast(Any, clients), cast(Any, topics), SETTINGS, fold or SignalFold("c")), consumer


def test_a_first_start_begins_at_the_end() -> None:
    topic, consumer = opened(ends={0: 9, 1: 4})
    assert topic.begins
    assert consumer.places == [(0, 9), (1, 4)]


def test_a_later_start_continues_and_reads_new_partitions_from_their_beginning() -> None:
    fold = SignalFold("c")
    fold.position = SignalPosition("id-of-topic", {0: 7})
    topic, consumer = opened(fold, {0: 9, 1: 4})
    assert not topic.begins
    assert consumer.places == [(0, 7), (1, 0)]


def test_another_topic_of_that_name_is_read_from_its_end() -> None:
    fold = SignalFold("c")
    fold.position = SignalPosition("another", {0: 7})
    topic, consumer = opened(fold)
    assert topic.begins
    assert consumer.places == [(0, 9)]


def test_records_become_requests_changes_and_refusals() -> None:
    fold = SignalFold("c")
    fold.requests = {"before": Signal("before", (CacheSelection("b"),))}
    fold.ends = {"ended": SignalStatus("ended", "COMPLETED")}
    fold.forgotten = ("forgotten",)
    topic, consumer = opened(fold)
    for id in ("new", "new", "before", "ended", "forgotten"):
        consumer.add("execute-snapshot", id=id, data={"data-collections": ["a"]})
    consumer.add("stop-snapshot", data={"data-collections": ["a"]})
    consumer.add("pause-snapshot", data={"data-collections": ["b", "x"]})
    consumer.add("log")
    consumer.add("execute-snapshot", "other", id="other", data={"data-collections": ["a"]})
    accepted = topic.poll()
    assert accepted is not None
    assert [signal.id for signal in accepted.requests] == ["new"]
    assert accepted.targets == {"new": "STOPPED", "before": "PAUSED"}
    (refused,) = accepted.refused
    assert (refused.id, refused.state) == ("topic-id-of-to-0-7", "FAILED")
    assert "record 7 of partition 0 of topic signals" in refused.error
    assert accepted.position == topic.position == SignalPosition("id-of-topic", {0: 9})
    assert topic.poll() is None


def test_records_of_other_connectors_need_no_record() -> None:
    topic, consumer = opened()
    consumer.add("execute-snapshot", "other", id="other", data={"data-collections": ["a"]})
    assert topic.poll() is None


def test_no_more_signals_wait_than_may() -> None:
    fold = SignalFold("c")
    fold.requests = {f"s{number}": Signal(f"s{number}", (CacheSelection("a"),)) for number in range(MOST_WAITING - 1)}
    topic, consumer = opened(fold)
    for id in ("last", "too-many"):
        consumer.add("execute-snapshot", id=id, data={"data-collections": ["a"]})
    accepted = topic.poll()
    assert accepted is not None
    assert [signal.id for signal in accepted.requests] == ["last"]
    assert [(status.id, status.state) for status in accepted.refused] == [("too-many", "FAILED")]


def test_the_reason_of_a_refusal_is_short_enough_for_a_record() -> None:
    topic, consumer = opened()
    consumer.add("\x01" * 80_000)
    accepted = topic.poll()
    assert accepted is not None
    (refused,) = accepted.refused
    assert "the type is none of" in refused.error
    assert len(refused.error) == MOST_ERROR
