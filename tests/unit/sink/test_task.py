"""Which failures of a sink's task are tried again."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.errors import IgniteKafkaError, RecordsLost, RecordsOvertaken
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.runtime.epoch import Epoch
from ignite_kafka.runtime.task_loop import TaskServices
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.task import SinkTask

LOST = RecordsLost("records were deleted from the topic before they were read", "Raise its retention.", topic="t", partition=0, offset=120)


def no_brokers() -> TaskServices:
    """Services of a task whose epoch never ends."""

    def told(_: float) -> bool:
        time.sleep(0.01)
        return False

    end: Any = SimpleNamespace(told=told, close=lambda: None)
    return TaskServices(cast(Any, None), lambda: end)


def outcome(*errors: IgniteKafkaError, **changed: Any) -> tuple[IgniteKafkaError | None, int]:
    """Of a task whose attempts end with these errors, and then well: its error, and the number of its attempts."""
    settings = SinkSettings(name="c", topics=("t",), run_mode="continuous", **changed)
    task = SinkTask(SinkPlan("c", 1, 4, settings, (TopicPlan("t", "id", "t", 1),)), Secrets(), [0], 0, Epoch(1, 0), no_brokers())
    left, attempts = iter(errors), []

    def copy(_: object) -> None:
        attempts.append(1)
        for error in left:
            raise error

    task._copy = copy  # type: ignore[method-assign, assignment]
    (result, *_) = task.run()
    return result.error, len(attempts)


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_what_retention_takes_before_a_run_is_passed_over_by_the_next_attempt(reset: str) -> None:
    assert outcome(LOST, LOST, auto_offset_reset=reset) == (None, 3)


def test_what_retention_takes_ends_a_run_that_passes_over_nothing() -> None:
    error, attempts = outcome(LOST)
    assert isinstance(error, RecordsLost)
    assert (error.what, error.where, attempts) == (LOST.what, LOST.where, 1)
    assert "set auto_offset_reset to earliest or latest" in error.remedy


def test_it_does_not_go_on_for_ever() -> None:
    error, attempts = outcome(*[LOST] * 9, auto_offset_reset="earliest", retry_timeout_ms=1)
    assert isinstance(error, RecordsOvertaken)
    assert (error.where, attempts) == ({**LOST.where, "waited": "0 s"}, 2)


@pytest.mark.parametrize("reset", ["none", "earliest"])
def test_a_bad_record_that_is_gone_before_its_letter_is_looked_for_by_the_next_attempt(reset: str) -> None:
    assert outcome(RecordsOvertaken("gone"), auto_offset_reset=reset) == (None, 2)
