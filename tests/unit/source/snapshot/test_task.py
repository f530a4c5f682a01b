"""How long a slot is tried again: `retry_timeout_ms` from its first failure on, and no wait within is longer."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, TopicError
from ignite_kafka.kafka.clients import BRIEF_S, KafkaClients
from ignite_kafka.plan.slots import Owner
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.snapshot import task as slot_copy
from ignite_kafka.source.snapshot.task import SlotCopy, Turn

ATTEMPT_S = 1.5


class Clock:
    """Stands for the module time; a wait for the word to stop moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


class Unopened:
    """A slot that cannot be opened: each try takes a while and ends with one error."""

    def __init__(self, clock: Clock, error: IgniteKafkaError) -> None:
        self.clock, self.error = clock, error
        self.patience: list[float] = []

    def __call__(self, clients: KafkaClients, *_: Any) -> None:
        self.patience.append(clients.patience_s)
        self.clock.now += ATTEMPT_S
        raise self.error


def failed(monkeypatch: pytest.MonkeyPatch, error: IgniteKafkaError, retry_s: int) -> Unopened:
    """A slot that waits an hour for its turn and then fails to its end."""
    clock, stop = Clock(), threading.Event()
    writer = Unopened(clock, error)
    monkeypatch.setattr(slot_copy, "time", clock)
    monkeypatch.setattr(slot_copy, "SlotWriter", writer)
    word = SimpleNamespace(is_set=stop.is_set, set=stop.set, wait=clock.wait)
    turn = Turn(cast(Any, None), cast(Any, None), stop=cast(Any, word))
    settings = SourceSettings(name="c", retry_timeout_ms=retry_s * 1000)
    copy = SlotCopy(TransferPlan("c", "s", 1, 16, settings, ()), Secrets(), 0, Owner(1), turn)
    clock.now += 3600
    begun = clock.now
    assert copy.run().error is error
    assert stop.is_set()
    assert clock.now - begun <= ATTEMPT_S + (retry_s if len(writer.patience) > 1 else 0) + ATTEMPT_S + slot_copy._LONGEST_WAIT_S
    return writer


def test_the_time_counts_from_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = failed(monkeypatch, KafkaUnavailable("away"), 30).patience
    assert len(patience) * (ATTEMPT_S + slot_copy._LONGEST_WAIT_S) >= 30
    assert patience[0] == 30
    assert patience == sorted(patience, reverse=True)
    assert patience[-1] == BRIEF_S


def test_a_short_retry_time_still_waits_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(failed(monkeypatch, KafkaUnavailable("away"), 3).patience) == {BRIEF_S}


def test_a_final_error_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(failed(monkeypatch, TopicError("gone"), 30).patience) == 1
