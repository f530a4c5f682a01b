"""Records of past comparisons: what is written is read, old ones are removed, and foreign ones are left out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from ignite_kafka.common.typed_json import dumps
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state import internal_records
from ignite_kafka.state.comparison_history import KEPT, CoverageRecord, PastComparison, forget_old, read_history, write_history
from tests.support.fake_messages import FakeMessage

COVERED = CoverageRecord(((0, 400, 7), (400, 10_000, 0)), 7)


class Writer:
    """A writer whose records are those that are read."""

    def __init__(self, records: list[FakeMessage]) -> None:
        self.records = records

    def queue(self, key: list[Any], value: bytes) -> None:
        self.records.append(FakeMessage(dumps(key), value))

    def send(self, key: list[Any], value: bytes, _wait_s: float) -> None:
        self.queue(key, value)

    def forget(self, connector: str, ids: list[str], kind: str) -> None:
        self.records.extend(FakeMessage(dumps([kind, connector, id]), None) for id in ids)


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> list[FakeMessage]:
    records: list[FakeMessage] = []
    monkeypatch.setattr(internal_records, "read_to_end", lambda *_: iter(list(records)))
    monkeypatch.setattr(Topics, "exists", lambda *_: True)
    return records


def past(number: int, **changed: Any) -> PastComparison:
    return PastComparison(f"v{number}", number, number + 5, **changed)


def test_what_is_written_is_read(topic: list[FakeMessage]) -> None:
    writer: Any = Writer(topic)
    one = past(1, percent=5.0, caches=2, entries=9, different=1, equal=False, oldest_ms=3, within_ms=9, gap="cache x: 5 %")
    write_history(writer, "c", one, {("x", "t-x"): CoverageRecord(((0, 10_000, 1),), 1)})
    write_history(writer, "other", past(5), {})
    write_history(writer, "c", past(2), {("x", "t-x"): COVERED})
    history = read_history(KafkaClients({}), "p", "c")
    assert list(history.comparisons.values()) == [one, past(2)]
    assert history.coverage == {("x", "t-x"): COVERED}
    assert one.differences == 1


def test_records_of_another_form_are_left_out(topic: list[FakeMessage]) -> None:
    keys = (b'["comparison","c",5]', b'["comparison","c"]', b'["coverage","c","x"]', b"no JSON", b'["other","c","x","y"]')
    topic.extend(FakeMessage(key, b"{}") for key in keys)
    for wrong in ({"started_ms": "today"}, {"percent": 101}, {"entries": -1}, {"ended_ms": 1 << 62}):
        topic.append(FakeMessage(dumps(["comparison", "c", "v1"]), dumps({**asdict(past(1)), **wrong})))
    topic.append(FakeMessage(dumps(["coverage", "c", "x", "t"]), dumps({"ranges": [[0, 5]], "since_ms": 1})))
    history = read_history(KafkaClients({}), "p", "c")
    assert (history.comparisons, history.coverage) == ({}, {})


def test_the_newest_comparisons_are_kept(topic: list[FakeMessage]) -> None:
    events: list[FakeMessage] = []
    writer: Any = Writer(topic)
    ids = [f"v{number}" for number in range(KEPT + 2)]
    for number in range(KEPT + 2):
        write_history(writer, "c", past(number), {})
    status: Any = Writer(events)
    forget_old(writer, status, "c", ids)
    assert list(read_history(KafkaClients({}), "p", "c").comparisons) == ids[2:]
    assert [record.key() for record in events] == [dumps(["events", "c", id]) for id in ids[:2]]
