"""What a new try of a task does about the runs of those before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.runs.follower import SUCCEEDED
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.tries import ACTIVE, GONE, TaskTry
from ignite_kafka.errors import TopicError
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING, STOPPED, RunStatus, now_ms
from tests.unit.airflow.bench import Bench, FakeMonitor, run_status

OWN = "dag/task/run/"
NEW = FollowedRun("c", f"{OWN}2", streams=True, continuous=True, max_tries=2)
STORED = replace(NEW, run_id=f"{OWN}1", app_id="application_17_0001")


def active() -> RunStatus:
    return replace(run_status(RUNNING), ended_ms=None)


def begin(bench: Bench, run_for_ms: int | None = None, retried: bool = True) -> TaskTry:
    return TaskTry.begin(FakeMonitor(bench, NEW), OWN, run_for_ms, retried=retried)


def test_a_retry_leaves_a_newer_run_of_another_task_alone(bench: Bench) -> None:
    bench.superseded_by = lambda own_runs: run_status(RUNNING) if own_runs == OWN else None
    with pytest.raises(AirflowException, match="has taken the connector c"):
        begin(bench)
    assert begin(bench, retried=False).over is None, "a first try takes the connector"


def test_the_time_of_a_stream_begins_with_its_first_try(bench: Bench) -> None:
    before = now_ms()
    first = begin(bench, 60_000, retried=False).monitor.run.until_ms
    assert first is not None
    assert first >= before + 60_000
    bench.tries = [replace(run_status(FAILED, TopicError("x")), started_ms=before - 10_000)]
    second = begin(bench, 60_000)
    assert (second.monitor.run.until_ms, second.over) == (before + 50_000, None)


def test_a_stream_whose_time_is_up_is_over_unless_its_run_is_active(bench: Bench) -> None:
    bench.tries = [run_status(FAILED, TopicError("x"))]
    assert begin(bench, 60_000).over == bench.tries[0]
    bench.active_try = lambda _own_runs: f"{OWN}1"
    assert begin(bench, 60_000).over is None


def test_a_later_run_that_the_store_does_not_know_is_followed(bench: Bench) -> None:
    current = begin(bench)
    bench.active_try = lambda _own_runs: f"{OWN}1"
    assert current.earlier_run(STORED).run == STORED, "with the id of its app"
    bench.active_try = lambda _own_runs: f"{OWN}1b"
    earlier = current.earlier_run(STORED)
    assert (earlier.state, earlier.run.run_id, earlier.run.app_id) == (ACTIVE, f"{OWN}1b", "")


@pytest.mark.parametrize(
    ("status", "changes", "state", "must_stop"),
    [
        (None, {"submitted_ms": now_ms()}, ACTIVE, False),  # it has not begun
        (None, {"submitted_ms": 0}, GONE, False),
        (active(), {}, GONE, False),  # it is silent, or was asked to stop
        (run_status(COMPLETED), {}, SUCCEEDED, False),
        (run_status(STOPPED), {}, SUCCEEDED, False),
        (run_status(FAILED, TopicError("x")), {}, GONE, False),
        (None, {"submitted_ms": now_ms(), "max_tries": 1}, GONE, True),  # a user has cleared the task
        (active(), {"max_tries": 1}, GONE, True),
        (run_status(COMPLETED), {"max_tries": 1}, GONE, False),
    ],
)
def test_state_of_the_run_that_the_store_has_kept(
    bench: Bench, status: RunStatus | None, changes: dict[str, Any], state: str, must_stop: bool
) -> None:
    bench.status = lambda: status
    earlier = begin(bench).earlier_run(replace(STORED, **changes))
    assert (earlier.state, earlier.must_stop) == (state, must_stop)


def test_a_run_that_a_killed_task_has_stopped_is_replaced(bench: Bench) -> None:
    bench.status = lambda: run_status(STOPPED)
    bench.stop_requested = True
    assert begin(bench).earlier_run(STORED).state == GONE
