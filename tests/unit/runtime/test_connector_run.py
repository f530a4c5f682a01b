"""A run that waits for brokers that are away: how long, what it says, and what it does not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, TopicError
from ignite_kafka.runtime.connector_run import ConnectorRun
from tests.support.event_log import Emitted, event_log

AWAY = KafkaUnavailable("no broker answered")


def waiting(call: Callable[[], str], *, retry_ms: int = 60_000, stopped: bool = False) -> str:
    stop = threading.Event()
    if stopped:
        stop.set()
    settings, request = SimpleNamespace(name="c", retry_timeout_ms=retry_ms), SimpleNamespace(stop=stop)
    run: Any = SimpleNamespace(_settings=settings, _request=request, _check_tasks=lambda: None)
    return ConnectorRun._retry(run, call)


def failing(*errors: IgniteKafkaError) -> Callable[[], str]:
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return call


@pytest.fixture
def emitted() -> Iterator[Emitted]:
    with event_log() as found:
        yield found


def test_brokers_that_are_away_are_waited_for_and_told_once(emitted: Emitted) -> None:
    assert waiting(failing(AWAY, AWAY, KafkaUnavailable("another reason"))) == "done"
    assert emitted == [(15175, {"connector": "c", "seconds": 60, "reason": "no broker answered"})]


def test_the_wait_ends_after_retry_timeout_ms() -> None:
    with pytest.raises(KafkaUnavailable, match=r"no broker answered \[waited \d+ s\]"):
        waiting(failing(*[AWAY] * 1_000), retry_ms=300)


def test_a_run_that_is_asked_to_stop_waits_no_longer(emitted: Emitted) -> None:
    with pytest.raises(KafkaUnavailable):
        waiting(failing(AWAY), stopped=True)
    assert not emitted


def test_an_error_that_does_not_pass_ends_the_start_at_once(emitted: Emitted) -> None:
    with pytest.raises(TopicError):
        waiting(failing(TopicError("the topic is refused")))
    assert not emitted
