"""Decisions about local runs: started, ended and restarted as the connector's records say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ignite_kafka.connect_rest.configuration import AutoRestart
from ignite_kafka.connect_rest.supervision import (
    FIRST_WAIT_S,
    HEALTHY_S,
    LONGEST_WAIT_S,
    Action,
    Desired,
    LocalRun,
    decide,
    wait_s,
    why_not_restarted,
)

DESIRED = Desired("c", "digest", stopped=False, restart_ms=0, restarts=AutoRestart())
RUNS = LocalRun("digest", 0, started_s=0.0)


def failed(times: int = 1, code: int = 1, at_s: float = 0.0) -> LocalRun:
    return replace(RUNS, ended_s=at_s, exit_code=code, failures=times)


@pytest.mark.parametrize(
    ("desired", "run", "action"),
    [
        (DESIRED, None, Action.START),
        (DESIRED, RUNS, Action.NONE),
        (None, None, Action.NONE),
        (None, RUNS, Action.STOP),
        (None, failed(), Action.NONE),
        (replace(DESIRED, stopped=True), None, Action.NONE),
        (replace(DESIRED, stopped=True), RUNS, Action.STOP),
        (replace(DESIRED, digest="other"), RUNS, Action.STOP),
        (replace(DESIRED, restart_ms=1), RUNS, Action.STOP),
        (DESIRED, replace(RUNS, stopping=True), Action.STOP),
        (replace(DESIRED, digest="other"), failed(code=2), Action.START),
        (replace(DESIRED, restart_ms=1), failed(99), Action.START),
        (replace(DESIRED, completed=True), failed(0, 0), Action.NONE),
    ],
)
def test_what_is_done_at_once(desired: Desired | None, run: LocalRun | None, action: Action) -> None:
    assert decide(desired, run, 0.0) is action


def test_a_failed_run_begins_again_after_a_wait_that_doubles() -> None:
    assert [wait_s(failed(times)) for times in (1, 2, 3)] == [FIRST_WAIT_S, 2 * FIRST_WAIT_S, 4 * FIRST_WAIT_S]
    assert wait_s(failed(10_000)) == LONGEST_WAIT_S
    run = failed(2, at_s=100.0)
    assert decide(DESIRED, run, 100.0 + 2 * FIRST_WAIT_S - 0.1) is Action.NONE
    assert decide(DESIRED, run, 100.0 + 2 * FIRST_WAIT_S) is Action.START


def test_a_run_that_ended_as_asked_has_not_failed_and_begins_at_once() -> None:
    ended = replace(RUNS, stopping=True).ended(143, 5.0)
    assert (ended.failures, decide(DESIRED, ended, 5.0)) == (0, Action.START)


def test_failures_are_counted_until_a_run_was_healthy() -> None:
    assert replace(RUNS, failures=3).ended(1, HEALTHY_S - 1).failures == 4
    assert replace(RUNS, failures=3).ended(1, HEALTHY_S).failures == 1
    assert replace(RUNS, failures=3).ended(0, 1.0).failures == 0


@pytest.mark.parametrize(
    ("run", "restarts", "reason"),
    [
        (failed(), AutoRestart(), ""),
        (failed(code=2), AutoRestart(), "its settings are wrong"),
        (failed(code=3), AutoRestart(), "a newer run of the connector was started elsewhere"),
        (failed(), AutoRestart(enabled=False), "autoRestart.enabled is false"),
        (failed(3), AutoRestart(most=3), ""),
        (failed(4), AutoRestart(most=3), "it has failed 4 times, and autoRestart.maxRestarts is 3"),
    ],
)
def test_why_a_run_waits_for_a_request(run: LocalRun, restarts: AutoRestart, reason: str) -> None:
    desired = replace(DESIRED, restarts=restarts)
    told = why_not_restarted(desired, run)
    assert reason in told if reason else told == ""
    assert decide(desired, run, 10 * LONGEST_WAIT_S) is (Action.NONE if reason else Action.START)
