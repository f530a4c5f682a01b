"""Sensor of a run that another operator submitted, on a fake monitor."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.watch import ENDED, NOT_STARTED, TIMED_OUT
from airflow_provider_ignite_kafka.sensors import connector_run
from airflow_provider_ignite_kafka.sensors.connector_run import ConnectorRunSensor
from ignite_kafka.errors import KafkaUnavailable, SettingsError
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING, STOPPED, RunStatus, now_ms
from tests.unit.airflow.bench import Bench, FakeMonitor, make_bench, run_status
from tests.unit.airflow.simulated_caches import Run

RUN = FollowedRun("c", "r", streams=True, continuous=True, submitted_ms=now_ms())


@pytest.fixture
def bench(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, connect: Any) -> Bench:
    made = make_bench(tmp_path, monkeypatch, connect)
    monkeypatch.setattr(connector_run, "monitor_of_run", lambda run: FakeMonitor(made, run))
    return made


def sensor(run: Any = None, **arguments: Any) -> ConnectorRunSensor:
    given = {"task_id": "follow", "poke_interval": 0.01, "stop_timeout_ms": 10, **arguments}
    return ConnectorRunSensor(run=RUN.to_dict() if run is None else run, **given)


def active() -> RunStatus:
    return replace(run_status(RUNNING), ended_ms=None)


def answers(bench: Bench, *statuses: RunStatus | None) -> None:
    left = list(statuses)
    bench.status = lambda: left.pop(0) if len(left) > 1 else left[0]


def stops(bench: Bench) -> list[str]:
    """Runs that are asked to stop; each then has ended."""
    asked: list[str] = []

    def stop(run: FollowedRun) -> bool:
        asked.append(run.run_id)
        answers(bench, run_status(STOPPED))
        return True

    bench.request_stop = stop
    return asked


def test_it_follows_the_run_to_its_end_and_returns_its_result(bench: Bench) -> None:
    answers(bench, None, active(), run_status(COMPLETED))
    result = sensor().execute(Run().context)
    assert (result["state"], result["run_id"], result["records"]) == (COMPLETED, "r", 10)


def test_text_of_a_template_is_read(bench: Bench) -> None:
    answers(bench, run_status(COMPLETED))
    assert sensor(json.dumps(RUN.to_dict())).execute(Run().context)["state"] == COMPLETED


@pytest.mark.parametrize("run", ["", "{", "[]", {}, {"connector": "c"}, 7])
def test_what_is_no_run_is_refused(bench: Bench, run: Any) -> None:
    with pytest.raises(AirflowFailException, match="field run of what package_app returned"):
        sensor(run).execute(Run().context)


def test_a_failed_run_fails_the_task_without_retries(bench: Bench) -> None:
    answers(bench, run_status(FAILED, KafkaUnavailable("away")))
    with pytest.raises(AirflowFailException, match=r"away\nSee the cluster's log of the app\nClear the task that packaged the app"):
        sensor().execute(Run().context)


def test_a_failed_run_skips_with_soft_fail(bench: Bench) -> None:
    answers(bench, run_status(FAILED, KafkaUnavailable("away")))
    with pytest.raises(AirflowSkipException):
        sensor(soft_fail=True).execute(Run().context)


def test_an_app_that_never_begins_fails_the_task(bench: Bench) -> None:
    answers(bench, None)
    bench.request_stop = lambda _run: False
    with pytest.raises(AirflowFailException, match="wrote no record"):
        sensor(replace(RUN, submitted_ms=0).to_dict()).execute(Run().context)


@pytest.mark.parametrize(("by_task", "succeeds"), [(True, False), (False, True)])
def test_a_stop_by_a_person_is_a_success_and_one_by_a_killed_try_is_none(bench: Bench, by_task: bool, succeeds: bool) -> None:
    answers(bench, run_status(STOPPED))
    bench.stop_requested = by_task
    if succeeds:
        assert sensor().execute(Run().context)["state"] == STOPPED
    else:
        with pytest.raises(AirflowFailException):
            sensor().execute(Run().context)


def test_its_run_is_asked_to_stop_when_the_time_is_over(bench: Bench) -> None:
    answers(bench, active())
    asked = stops(bench)
    with pytest.raises(AirflowSensorTimeout):
        sensor(timeout=0.05).execute(Run().context)
    assert asked == ["r"]


def test_its_run_is_asked_to_stop_when_it_is_killed(bench: Bench) -> None:
    asked, task = stops(bench), sensor()

    def killed() -> RunStatus:
        task.on_kill()
        return active()

    polls: list[Callable[[], RunStatus]] = [active, killed]
    bench.status = lambda: polls.pop(0)() if polls else active()
    with pytest.raises(AirflowException, match="killed"):
        task.execute(Run().context)
    assert asked == ["r"]


def deferred(bench: Bench) -> tuple[ConnectorRunSensor, dict[str, Any]]:
    answers(bench, active())
    task = sensor(deferrable=True, timeout=100)
    with pytest.raises(TaskDeferred) as raised:
        task.execute(Run().context)
    assert raised.value.method_name == "execute_complete"
    _, arguments = raised.value.trigger.serialize()
    return task, arguments


def test_deferred_it_hands_the_run_and_its_deadline_to_the_trigger_and_stops_nothing(bench: Bench) -> None:
    _, arguments = deferred(bench)  # the bench would refuse a request to stop
    assert arguments["run"] == RUN.to_dict()
    assert 0 < arguments["timeout_ms"] - now_ms() <= 100_000


def test_after_the_trigger_it_returns_the_result(bench: Bench) -> None:
    task, arguments = deferred(bench)
    answers(bench, run_status(COMPLETED))
    assert task.execute_complete(Run().context, {"run": arguments["run"], "reason": ENDED})["records"] == 10


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"reason": TIMED_OUT}, AirflowSensorTimeout),
        ({"reason": NOT_STARTED}, AirflowFailException),
        ({"error": "no", "final": True}, AirflowFailException),
        ({"error": "no", "final": False}, AirflowException),
    ],
)
def test_after_the_trigger_a_run_that_is_followed_no_further_is_asked_to_stop(bench: Bench, event: Any, kind: type[Exception]) -> None:
    task, arguments = deferred(bench)
    asked = stops(bench)
    with pytest.raises(kind):
        task.execute_complete(Run().context, {"run": arguments["run"], **event})
    assert asked == ["r"]


def test_rescheduling_is_refused() -> None:
    with pytest.raises(SettingsError, match="Set deferrable"):
        sensor(mode="reschedule")
