"""Records of a connector's last hours: bounded by their keys, and readable whatever another program wrote."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from ignite_kafka.state.history_records import HOURS, HistoryPoint, history_of, key_of_history, queue_history
from ignite_kafka.state.internal_records import InternalRecord
from ignite_kafka.state.status import StatusWriter
from tests.support.fake_messages import record
from tests.support.hostile_records import VALUES

MINUTE = 30_000_000


class Queue:
    """What a writer of the status topic has queued, the newest value of each key, as compaction keeps it."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}

    def queue(self, key: list[Any], value: bytes) -> None:
        self.kept[json.dumps(key).encode()] = value

    def write(self, *points: HistoryPoint, generation: int = 1) -> None:
        queue_history(cast(StatusWriter, self), "c", generation, points)

    @property
    def records(self) -> list[InternalRecord]:
        return [record(key, value) for key, value in self.kept.items()]


def test_points_are_read_as_they_were_written() -> None:
    queue = Queue()
    points = [HistoryPoint(MINUTE, 5, 1, None), HistoryPoint(MINUTE + 1, 7, 0, 3, 250)]
    queue.write(*points)
    assert [key_of_history(each) for each in queue.records] == [(MINUTE // 10 % 36, 1)]
    assert history_of(queue.records, MINUTE + 1) == points


def test_the_keys_of_days_are_those_of_six_hours() -> None:
    queue = Queue()
    for minute in range(MINUTE, MINUTE + 3 * 24 * 60):
        first = minute - minute % 10
        queue.write(*(HistoryPoint(each, 1, 0, 0) for each in range(first, minute + 1)))
    assert len(queue.kept) == 36
    found = history_of(queue.records, minute)
    assert [point.minute for point in found] == list(range(minute - HOURS * 60 + 1, minute + 1))


def test_a_run_that_follows_at_once_keeps_the_points_of_the_one_before() -> None:
    queue = Queue()
    queue.write(HistoryPoint(MINUTE, 5, 1, 9), HistoryPoint(MINUTE + 1, 6, 0, 9), generation=1)
    queue.write(HistoryPoint(MINUTE + 1, 2, 1, None), HistoryPoint(MINUTE + 2, 3, 0, 4), generation=2)
    assert history_of(queue.records, MINUTE + 2) == [
        HistoryPoint(MINUTE, 5, 1, 9), HistoryPoint(MINUTE + 1, 8, 1, 9), HistoryPoint(MINUTE + 2, 3, 0, 4)
    ]  # fmt: skip


@pytest.mark.parametrize("key", [b'["history","c"]', b'["history","c","x",1]', b'["history","c",1,2,3]', b'["run","c",1,1]'])
def test_other_keys_are_no_history(key: bytes) -> None:
    assert key_of_history(record(key, b"{}")) is None


@pytest.mark.parametrize(
    "value",
    [
        *VALUES,
        b'{"points":[[-1,0,0,0,0]]}',
        b'{"points":[[1,2,3,4]]}',
        b'{"points":[[1,2,3,"x",0]]}',
        b'{"points":[[9223372036854775808,0,0,0,0]]}',
    ],
)
def test_what_another_program_wrote_is_passed_over(value: bytes) -> None:
    queue = Queue()
    queue.write(HistoryPoint(MINUTE, 5, 1, 9))
    hostile = record(b'["history","c",1,1]', value)
    assert history_of([hostile, *queue.records, hostile], MINUTE) == [HistoryPoint(MINUTE, 5, 1, 9)]


def test_points_of_the_future_are_left_out() -> None:
    queue = Queue()
    queue.write(HistoryPoint(MINUTE + 5, 5, 1, 9))
    assert history_of(queue.records, MINUTE) == []
