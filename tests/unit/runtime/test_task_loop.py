"""The attempts of a task: which failures are tried again, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import Fenced, IgniteKafkaError, KafkaUnavailable, TransactionTimeout
from ignite_kafka.runtime import task_loop
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.runtime.task_loop import TaskLoop

BUDGET_S = 10.0


class _Loop(TaskLoop):
    """Each attempt takes some seconds, and ends with the next error, or well."""

    def __init__(self, clock: SimpleNamespace, errors: Iterator[IgniteKafkaError], seconds: float) -> None:
        settings = SimpleNamespace(retry_timeout_ms=BUDGET_S * 1000, internal_topic_prefix="in", progress_interval_ms=1000)
        plan: Any = SimpleNamespace(settings=settings, connector="c")
        epoch: Any = SimpleNamespace(number=1)
        super().__init__(plan, SimpleNamespace(), [0], epoch)  # type: ignore[arg-type]
        self._clock, self._errors, self._seconds, self.attempts = clock, errors, seconds, 0

    def _attempt(self, end: Any) -> None:
        self.attempts += 1
        self._clock.now_s += self._seconds
        for error in self._errors:
            raise error

    def _results(self) -> list[SlotResult]:
        return [SlotResult(0, {}, None)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now_s=1.0)
    end = SimpleNamespace(told=lambda wait: False, close=lambda: None)
    monkeypatch.setattr(task_loop, "EpochEnd", lambda *_: end)
    monkeypatch.setattr(task_loop, "StatusWriter", lambda *_: None)
    monkeypatch.setattr(task_loop, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


def outcome(loop: _Loop) -> IgniteKafkaError | None:
    (result,) = loop.run()
    return result.error


@pytest.mark.parametrize("kind", [KafkaUnavailable, TransactionTimeout])
def test_what_may_pass_is_tried_again(clock: SimpleNamespace, kind: type[IgniteKafkaError]) -> None:
    loop = _Loop(clock, iter([kind("once"), kind("twice")]), 1.0)
    assert outcome(loop) is None
    assert loop.attempts == 3


@pytest.mark.parametrize("kind", [KafkaUnavailable, TransactionTimeout])
def test_it_ends_the_task_once_its_time_is_over(clock: SimpleNamespace, kind: type[IgniteKafkaError]) -> None:
    loop = _Loop(clock, (kind(f"number {number}") for number in range(1_000)), 3.0)
    assert isinstance(outcome(loop), kind)
    assert loop.attempts == 5, "the time counts from the first failure"


def test_what_cannot_pass_ends_the_task_at_once(clock: SimpleNamespace) -> None:
    loop = _Loop(clock, iter([Fenced("by a newer run")]), 1.0)
    assert isinstance(outcome(loop), Fenced)
    assert loop.attempts == 1
