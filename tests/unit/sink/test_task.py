"""Retries of a sink's task."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.errors import IgniteKafkaError, RecordsLost, RecordsOvertaken
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.runtime.epoch import Epoch, EpochEnd
from ignite_kafka.runtime.task_loop import TaskServices
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.task import SinkTask

LOST = RecordsLost("records were deleted from the topic before they were read", "Raise its retention.", topic="t", partition=0, offset=120)


def no_brokers() -> TaskServices:
    """Services of a task whose epoch never ends."""

    def ended(_: float) -> bool:
        time.sleep(0.01)
        return False

    end: Any = SimpleNamespace(ended=ended, close=lambda: None)
    return TaskServices(cast(Any, None), lambda: end)


def outcome(*errors: IgniteKafkaError, **changed: Any) -> tuple[IgniteKafkaError | None, int]:
    """Run a task whose attempts end with these errors, and then without one.

    :returns: its error, and the number of its attempts.
    """
    left, attempts = iter(errors), []

    class FailingTask(SinkTask):
        def _copy(self, cluster: Cluster, end: EpochEnd) -> None:
            attempts.append(1)
            for error in left:
                raise error

    settings = SinkSettings(name="c", topics=("t",), run_mode="continuous", **changed)
    plan = SinkPlan("c", 1, 4, settings, (TopicPlan("t", "id", "t", 1),))
    (result, *_) = FailingTask(plan, Secrets(), [0], 0, Epoch(1, 0), no_brokers()).run()
    return result.error, len(attempts)


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_lost_records_are_skipped_by_the_next_attempt(reset: str) -> None:
    assert outcome(LOST, LOST, auto_offset_reset=reset) == (None, 3)


def test_lost_records_end_a_run_without_a_reset_policy() -> None:
    error, attempts = outcome(LOST)
    assert isinstance(error, RecordsLost)
    assert (error.what, error.where, attempts) == (LOST.what, LOST.where, 1)
    assert "set auto_offset_reset to earliest or latest" in error.remedy


def test_retries_end_after_retry_timeout_ms() -> None:
    error, attempts = outcome(*[LOST] * 9, auto_offset_reset="earliest", retry_timeout_ms=1)
    assert isinstance(error, RecordsOvertaken)
    assert error.where.keys() == {*LOST.where, "waited"}
    assert attempts == 2


@pytest.mark.parametrize("reset", ["none", "earliest"])
def test_a_bad_record_that_is_gone_before_its_dead_letter_is_retried(reset: str) -> None:
    assert outcome(RecordsOvertaken("gone"), auto_offset_reset=reset) == (None, 2)
