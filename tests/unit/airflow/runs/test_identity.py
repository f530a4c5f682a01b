"""Decisions of whoever follows a run, and the run's form in Airflow's database."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from airflow_provider_ignite_kafka.runs.identity import ENDED, NOT_STARTED, SILENT, FollowedRun, RunWatch, active_try
from ignite_kafka.state.status import COMPLETED, PAUSED, RUNNING, RunStatus
from tests.unit.airflow.bench import CONFIG, PASSWORDS, Bench, context, operator, sink

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


def test_stored_run_is_read_by_older_and_newer_versions() -> None:
    stored = json.loads(json.dumps(RUN.to_dict()))
    assert FollowedRun.from_dict({**stored, "of_a_newer_version": 1}) == RUN
    assert FollowedRun.from_dict({"connector": "c", "run_id": "r"}) == FollowedRun("c", "r")
    without_default = [field.name for field in fields(FollowedRun) if field.default is field.default_factory]
    assert without_default == ["connector", "run_id"], "a field that is added needs a default"


def test_run_of_a_request_holds_no_secret(bench: Bench) -> None:
    operator().execute(context())  # the bench's connections
    task = sink(run_mode="continuous")
    from airflow_provider_ignite_kafka.runs.names import RunNames

    run = FollowedRun.of(task._request(RunNames.of(context())), "kafka_default", "spark_default", 60.0)
    assert (run.streams, run.continuous, run.sink, run.silence_s, run.poll_s) == (True, True, True, 300.0, 10.0)
    assert run.kafka_config["bootstrap.servers"] == CONFIG["bootstrap.servers"]
    assert not any(password in json.dumps(run.to_dict()) for password in PASSWORDS)
    assert replace(run, until_ms=5).time_is_up(5)
    assert not run.time_is_up(5)
