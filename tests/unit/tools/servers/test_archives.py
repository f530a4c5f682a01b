"""Calls of librdkafka that make the archive of Kafka end, although librdkafka does not return."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from ignite_kafka.kafka import bounded_calls
from tools.servers import archives


def test_a_call_that_does_not_return_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_CALL_S", 0.0)
    monkeypatch.setattr(bounded_calls, "GRACE_S", 0.01)
    held = threading.Event()

    def hang() -> None:
        held.wait()

    try:
        with pytest.raises(RuntimeError, match="the broker was not used: no return within"):
            archives._bounded(hang)
    finally:
        held.set()


def test_a_call_that_fails_is_told_and_one_that_returns_is_done() -> None:
    def fail() -> None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    with pytest.raises(RuntimeError, match=r"the broker was not used: .*_TIMED_OUT"):
        archives._bounded(fail)
    done = threading.Event()
    archives._bounded(done.set)
    assert done.is_set()
