"""Decisions of whoever follows a run."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.watch import ENDED, NOT_STARTED, SILENT, RunWatch, active_try
from ignite_kafka.state.status import COMPLETED, PAUSED, RUNNING, RunStatus

RUN = FollowedRun("c", "dag/task/run/1", silence_s=60.0, start_s=600.0, submitted_ms=1_000_000)


def record(state: str = RUNNING, entries: int = 0) -> RunStatus:
    return RunStatus(state, "c", RUN.run_id, started_ms=entries, ended_ms=1 if state == COMPLETED else None)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> RunWatch:
    return RunWatch(RUN, RUN.submitted_ms + 100_000, clock)


def test_run_is_followed_to_its_end_as_long_as_it_reports(watch: RunWatch, clock: Clock) -> None:
    for written in range(1, 10):
        clock.now += 50
        assert watch.observe(record(), written) is None
    clock.now += 50
    assert watch.observe(record(COMPLETED), 10) == ENDED


def test_silent_run_is_given_up_also_while_kafka_is_away(watch: RunWatch, clock: Clock) -> None:
    assert watch.observe(record(), 1) is None
    clock.now = 59.0
    assert watch.observe(record(), 1) is None
    assert watch.unanswered() is None
    clock.now = 60.0
    assert watch.observe(record(), 1) == SILENT
    assert watch.unanswered() == SILENT


def test_paused_run_may_be_silent(watch: RunWatch, clock: Clock) -> None:
    for clock.now in (0.0, 1_000.0, 2_000.0):
        assert watch.observe(record(PAUSED), 1) is None


def test_time_of_the_start_counts_from_the_submission(watch: RunWatch, clock: Clock) -> None:
    clock.now = 499.0  # a triggerer that began 100 s after the submission
    assert watch.observe(None, 0) is None
    clock.now = 500.0
    assert watch.observe(None, 0) == NOT_STARTED


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, True),
        ({"status": None}, False),
        ({"status": record(COMPLETED)}, False),
        ({"owner_run_id": "dag/task/later/1"}, False),
        ({"stop_requested": True}, False),
        ({"now_ms": 70_001}, False),  # a run that died without a word
        ({"now_ms": 70_001, "status": record(PAUSED)}, True),
    ],
)
def test_run_of_an_earlier_try_is_followed_only_while_it_is_active(changed: dict[str, Any], found: bool) -> None:
    given: dict[str, Any] = {
        "own_runs": "dag/task/run/",
        "owner_run_id": RUN.run_id,
        "status": record(),
        "written_ms": 10_000,
        "now_ms": 70_000,
        "silence_s": RUN.silence_s,
        "stop_requested": False,
    }
    assert active_try(**{**given, **changed}) is found
