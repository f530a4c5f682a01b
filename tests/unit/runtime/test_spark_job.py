"""What the driver sees of a Spark task beside its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from ignite_kafka import events
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.runtime.spark_job import _Added, _noting


def test_errors_and_events_of_a_task_reach_the_driver() -> None:
    gone = KafkaUnavailable("gone")
    noted: list[Any] = []
    errors: Any = SimpleNamespace(add=lambda value: noted.append(("errors", value)))
    emitted: Any = SimpleNamespace(add=lambda value: noted.append(("events", value)))

    def work(numbers: Iterable[int]) -> Iterator[SlotResult]:
        for number in numbers:
            events.emit(events.UNIT_REDONE, slot=number, reason="test")
            yield SlotResult(number, error=gone if number else None)

    events.emit(events.UNIT_REDONE, slot=9, reason="of a task before")
    assert [result.slot for result in _noting(errors, emitted, work, [0, 1])] == [0, 1]
    [(_, (failed,)), counted] = noted
    assert (failed.slot, failed.error) == (1, gone)
    assert [counted] == [("events", {events.UNIT_REDONE.id: 2})]


def test_events_of_tasks_are_added_up() -> None:
    assert _Added().addInPlace({1: 2, 2: 1}, {1: 1, 3: 4}) == {1: 3, 2: 1, 3: 4}
    assert _Added().zero({1: 1}) == {}
