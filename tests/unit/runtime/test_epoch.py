"""What a task learns from the configs topic: the end of its epoch, and the secret of the capture."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import Fenced, KafkaUnavailable
from ignite_kafka.runtime.epoch import Epoch, EpochEnd


class Consumer:
    """Gives records of the configs topic, one a poll."""

    def __init__(self, *records: tuple[list[str], dict[str, Any]]) -> None:
        self.records = list(records)

    def assign(self, places: Any) -> None:
        pass

    def poll(self, timeout: float) -> Any:
        if not self.records:
            return None
        key, value = self.records.pop(0)
        given: dict[str, Any] = {"error": None, "key": json.dumps(key).encode(), "value": json.dumps(value).encode(), "headers": []}
        place = {"topic": "in-configs", "partition": 0, "offset": 0}
        return SimpleNamespace(**{name: lambda it=it: it for name, it in {**given, **place}.items()})


def end(*records: tuple[list[str], dict[str, Any]], number: int = 2) -> EpochEnd:
    clients: Any = SimpleNamespace(reader=lambda **_: Consumer(*records))
    plan: Any = SimpleNamespace(connector="c", generation=3, settings=SimpleNamespace(internal_topic_prefix="in"))
    return EpochEnd(clients, plan, Epoch(number, 0))


def epoch(number: int, connector: str = "c", secret: str = "hidden") -> tuple[list[str], dict[str, Any]]:
    return ["epoch", connector], {"generation": 3, "epoch": number, "capture_secret": secret}


def test_the_record_that_begins_an_epoch_brings_the_secret() -> None:
    task = end(epoch(2, "other", "theirs"), epoch(2))
    assert task.capture_secret(60.0) == "hidden"
    assert not task.ended()


def test_an_epoch_that_has_ended_meanwhile_has_told_the_secret_too() -> None:
    task = end(epoch(2), epoch(3))
    assert task.ended(60.0)
    assert task.capture_secret(60.0) == "hidden"


def test_a_record_that_does_not_come_is_an_error_that_may_pass() -> None:
    with pytest.raises(KafkaUnavailable, match="secret of the capture, did not arrive"):
        end().capture_secret(0.05)


def test_a_newer_run_ends_the_wait() -> None:
    with pytest.raises(Fenced):
        end((["connector", "c"], {"generation": 4})).capture_secret(60.0)
