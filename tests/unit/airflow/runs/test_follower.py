"""Judgement of a run's end, and the stop of a run that is followed."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Any, cast

import pytest

from airflow_provider_ignite_kafka.runs import follower as run_follower
from airflow_provider_ignite_kafka.runs.cluster_run import ClusterRun
from airflow_provider_ignite_kafka.runs.follower import FAILED, INTERRUPTED, SUCCEEDED, UNFINISHED, RunFollower, judge_end
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from ignite_kafka.errors import TopicError
from ignite_kafka.state import status as states
from ignite_kafka.state.status import RunStatus
from tests.unit.airflow.bench import Bench, FakeMonitor, run_status

STREAM = FollowedRun("c", "r", streams=True, continuous=True)


@pytest.mark.parametrize(
    ("status", "run", "asked_by_task", "killed", "judgement"),
    [
        (None, STREAM, False, False, UNFINISHED),
        (replace(run_status(states.RUNNING), ended_ms=None), STREAM, False, False, UNFINISHED),
        (run_status(states.COMPLETED), FollowedRun("c", "r"), False, True, SUCCEEDED),  # before it could be stopped
        (run_status(states.FAILED, TopicError("x")), STREAM, False, False, FAILED),
        (run_status(states.STOPPED), STREAM, False, False, SUCCEEDED),  # by a person
        (run_status(states.STOPPED), STREAM, True, False, INTERRUPTED),
        (run_status(states.STOPPED), STREAM, False, True, INTERRUPTED),
        (run_status(states.STOPPED), replace(STREAM, until_ms=3_500), True, False, SUCCEEDED),  # run_for is over
        (run_status(states.STOPPED), replace(STREAM, until_ms=3_501), True, False, INTERRUPTED),
        (run_status(states.STOPPED), FollowedRun("c", "r", streams=True), False, False, FAILED),
        (run_status(states.STOPPED, TopicError("x")), STREAM, False, False, FAILED),
    ],
)
def test_how_an_end_is_judged(
    bench: Bench, status: RunStatus | None, run: FollowedRun, asked_by_task: bool, killed: bool, judgement: str
) -> None:
    bench.stop_requested = asked_by_task
    assert judge_end(FakeMonitor(bench, run), status, killed=killed) == judgement


class Stopped:
    """A run in a cluster that is stopped in a thread, and may never answer."""

    def __init__(self, answers: threading.Event) -> None:
        self.answers = answers
        self.stops: list[tuple[float, str]] = []

    def stop(self, timeout_s: float, say: Any) -> None:
        self.stops.append((timeout_s, threading.current_thread().name))
        say("stopped: 100%")
        self.answers.wait(60)


def test_a_run_is_stopped_once_in_a_thread_and_logged_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    answers = threading.Event()
    answers.set()
    run = Stopped(answers)
    follower = RunFollower(logging.getLogger("task"), 5.0)
    follower.stop()  # nothing is followed
    follower.cluster = cast(ClusterRun, run)
    follower.kill()
    follower.stop()
    assert (follower.killed, run.stops) == (True, [(5.0, "stop-run")])
    assert caplog.messages == []
    with caplog.at_level(logging.INFO):
        follower.log_stop()
        follower.log_stop()
    assert caplog.messages == ["stopped: 100%"]


def test_a_cluster_that_does_not_answer_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_follower, "_KILL_S", 0.01)
    answers = threading.Event()
    run = Stopped(answers)
    follower = RunFollower(logging.getLogger("task"), 0.01)
    follower.cluster = cast(ClusterRun, run)
    try:
        follower.stop()
        assert follower.cluster is None
    finally:
        answers.set()


def test_a_released_run_goes_on() -> None:
    run = Stopped(threading.Event())
    follower = RunFollower(logging.getLogger("task"), 5.0)
    follower.cluster = cast(ClusterRun, run)
    follower.release()
    follower.kill()
    assert run.stops == []
