"""The attempts of a task: which failures are tried again, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.errors import CallsStuck, Fenced, IgniteKafkaError, KafkaUnavailable, TransactionTimeout
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.runtime.task_loop import TaskLoop, TaskServices

BUDGET_S = 10.0


class FakeEnd:
    """An epoch whose end a test decides.

    :param ended: whether the driver has ended the epoch, while a task waits.
    """

    def __init__(self, ended: Callable[[float], bool] = lambda wait_s: False) -> None:
        self.ended = ended

    def close(self) -> None:
        pass


class _Loop(TaskLoop):
    """Each attempt takes some seconds, and ends with the next error, or well."""

    RETRIED = events.WRITE_FAILED

    def __init__(self, errors: Iterator[IgniteKafkaError], seconds: float, end: FakeEnd | None = None) -> None:
        settings = SimpleNamespace(retry_timeout_ms=BUDGET_S * 1000, internal_topic_prefix="in", progress_interval_ms=1000)
        plan: Any = SimpleNamespace(settings=settings, connector="c", generation=1)
        epoch: Any = SimpleNamespace(number=1)
        nothing: Any = SimpleNamespace()
        opened: Any = end or FakeEnd()
        super().__init__(plan, [0], epoch, TaskServices(nothing, lambda: opened, lambda: self._now_s))
        self._errors, self._seconds, self._now_s, self.attempts = errors, seconds, 1.0, 0

    def _attempt(self, end: Any) -> None:
        self.attempts += 1
        self._now_s += self._seconds
        for error in self._errors:
            raise error

    def _results(self) -> list[SlotResult]:
        return [SlotResult(0, {}, None)]


def outcome(loop: _Loop) -> IgniteKafkaError | None:
    (result,) = loop.run()
    return result.error


@pytest.mark.parametrize("kind", [KafkaUnavailable, TransactionTimeout])
def test_what_may_pass_is_tried_again(kind: type[IgniteKafkaError]) -> None:
    loop = _Loop(iter([kind("once"), kind("twice")]), 1.0)
    assert outcome(loop) is None
    assert loop.attempts == 3


@pytest.mark.parametrize("kind", [KafkaUnavailable, TransactionTimeout])
def test_it_ends_the_task_once_its_time_is_over(kind: type[IgniteKafkaError]) -> None:
    loop = _Loop((kind(f"number {number}") for number in range(1_000)), 3.0)
    assert isinstance(outcome(loop), kind)
    assert loop.attempts == 5, "the time counts from the first failure"


@pytest.mark.parametrize("kind", [Fenced, CallsStuck])
def test_what_cannot_pass_ends_the_task_at_once(kind: type[IgniteKafkaError]) -> None:
    loop = _Loop(iter([kind("in this process")]), 1.0)
    assert isinstance(outcome(loop), kind)
    assert loop.attempts == 1


def test_the_end_of_the_epoch_ends_the_attempts_without_an_error() -> None:
    loop = _Loop(iter([KafkaUnavailable("once")]), 1.0, FakeEnd(lambda wait_s: True))
    assert outcome(loop) is None
    assert loop.attempts == 1


def test_a_newer_run_that_is_seen_between_attempts_is_the_result_of_the_task() -> None:
    def fenced(wait_s: float) -> bool:
        raise Fenced("by a newer run")

    assert isinstance(outcome(_Loop(iter([KafkaUnavailable("once")]), 1.0, FakeEnd(fenced))), Fenced)
