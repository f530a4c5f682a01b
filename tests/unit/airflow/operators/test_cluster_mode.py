"""Copies in a cluster: followed by the task or a trigger, found again by the next try, ended by their time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowTaskTimeout, TaskDeferred
from airflow.sdk import AssetAlias
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.runs import cluster_app
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.report import RunReport
from airflow_provider_ignite_kafka.runs.watch import SILENT, TIMED_OUT
from airflow_provider_ignite_kafka.triggers.connector_run import ConnectorRunTrigger
from ignite_kafka.errors import TopicError
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING, STOPPED, RunStatus, now_ms
from tests.support.airflow_versions import TASK_STORE
from tests.unit.airflow.bench import PASSWORDS, Bench, context, looked_up, operator, run_status, write_program

APP = "application_17_0001"
STREAM: dict[str, Any] = {"run_mode": "continuous", "failover_policy": "BACKLOG"}


class Store(dict[str, Any]):
    """Airflow's task state store."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))

    def delete(self, key: str) -> None:
        self.pop(key, None)


@pytest.fixture
def on_yarn(bench: Bench, connect: Any) -> Bench:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    bench.order(print=[f"Submitted application {APP}"])
    return bench


def given(store: Store | None = None, try_number: int = 1) -> Any:
    return {**context(try_number), "task_state_store": Store() if store is None else store}


def records(*states: RunStatus | None) -> Callable[[], RunStatus | None]:
    """Answers of the status topic, one for each poll; the last one stays."""
    left = list(states)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def active(state: str = RUNNING) -> RunStatus:
    return replace(run_status(state), ended_ms=None)


def submitted(bench: Bench) -> bool:
    return (bench.folder / "seen.json").exists()


def test_run_is_followed_beyond_the_end_of_spark_submit(on_yarn: Bench) -> None:
    on_yarn.status = records(None, active(), active(), run_status(COMPLETED))
    store = Store()
    assert operator().execute(given(store))["state"] == COMPLETED
    assert "spark.yarn.submit.waitAppCompletion=false" in on_yarn.seen["argv"]
    assert store == {}, "a task that is cleared after its success runs again"


@pytest.mark.parametrize("deferrable", [True, False])
def test_each_connection_is_looked_up_once_in_cluster_mode(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch, deferrable: bool) -> None:
    on_yarn.status = records(None, active(), run_status(COMPLETED))
    asked = looked_up(monkeypatch)
    if deferrable:
        deferred(operator(deferrable=True), given())
    else:
        operator().execute(given())
    assert sorted(asked) == ["ignite_default", "kafka_default", "spark_default"]


def test_submission_that_fails_has_its_reason(on_yarn: Bench) -> None:
    on_yarn.order(print=["Exception: queue nightly is unknown"], exit_code=1)
    on_yarn.status = lambda: None
    with pytest.raises(AirflowException, match=r"exit code 1(.|\n)*queue nightly is unknown"):
        operator().execute(given())


def test_spark_submit_that_ends_badly_after_the_submission_is_not_the_app_s_end(on_yarn: Bench) -> None:
    on_yarn.order(print=[f"Submitted application {APP}", "Exception: the resource manager is gone"], exit_code=1)
    on_yarn.status = records(active(), run_status(COMPLETED))
    assert operator().execute(given())["state"] == COMPLETED


def test_failure_is_that_of_the_record(on_yarn: Bench) -> None:
    on_yarn.status = lambda: run_status(FAILED, TopicError("may not be written"))
    with pytest.raises(AirflowFailException, match="may not be written"):
        operator().execute(given())


def test_app_that_writes_no_record_is_killed(on_yarn: Bench) -> None:
    on_yarn.status, on_yarn.request_stop = lambda: None, lambda _run: False
    with pytest.raises(AirflowException, match="start_timeout_ms"):
        operator(start_timeout_ms=1).execute(given())
    assert (on_yarn.folder / "yarn").read_text() == f"application -kill {APP}\n"


@pytest.mark.parametrize(
    ("ago_ms", "answers", "state"),
    [
        (200_000, "FINISHED", None),
        (200_000, "RUNNING", COMPLETED),  # no record for a while, but the app runs
        (0, "FAILED", COMPLETED),  # its records are new: the command, a JVM, is not run
    ],
)
def test_an_app_that_died_is_not_awaited_until_its_run_is_silent(
    on_yarn: Bench, monkeypatch: pytest.MonkeyPatch, ago_ms: int, answers: str, state: str | None
) -> None:
    monkeypatch.setattr(cluster_app, "_ASK_CLUSTER_S", 0.001)
    write_program(on_yarn.folder / "bin" / "yarn", f'echo "$@" >> {on_yarn.folder}/yarn; echo "\tState : {answers}"')
    on_yarn.status = records(*[active()] * 8, run_status(COMPLETED)) if state else active
    on_yarn.request_stop, on_yarn.written_ago_ms = lambda _run: False, ago_ms
    if state:
        assert operator().execute(given())["state"] == state
    else:
        with pytest.raises(AirflowException, match=f"its app has ended(.|\n)*yarn logs -applicationId {APP}"):
            operator().execute(given())
    assert (on_yarn.folder / "yarn").exists() is bool(ago_ms)


def test_the_end_of_a_run_that_comes_between_a_poll_and_the_question_counts(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_app, "_ASK_CLUSTER_S", 0.0)  # asked at the first poll
    write_program(on_yarn.folder / "bin" / "yarn", 'echo "\tState : FINISHED"')
    on_yarn.status, on_yarn.written_ago_ms = records(active(), run_status(COMPLETED)), 200_000
    assert operator().execute(given())["state"] == COMPLETED


def test_the_log_of_the_driver_is_named(on_yarn: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    operator().execute(given())
    assert f"The cluster runs the app as {APP}. Log of its driver: yarn logs -applicationId {APP}" in capsys.readouterr().out
    on_yarn.status = lambda: run_status(FAILED, TopicError("may not be written"))
    with pytest.raises(AirflowFailException, match=f"yarn logs -applicationId {APP}"):
        operator().execute(given())


def deferred(task: IgniteToKafkaOperator, given: Any) -> ConnectorRunTrigger:
    with pytest.raises(TaskDeferred) as caught:
        task.execute(given)
    assert caught.value.method_name == "execute_complete"
    assert isinstance(caught.value.trigger, ConnectorRunTrigger)
    return caught.value.trigger


@TASK_STORE
def test_deferred_task_hands_its_run_to_a_trigger(on_yarn: Bench) -> None:
    on_yarn.status = lambda: None
    store = Store()
    task = operator(deferrable=True, execution_timeout=timedelta(hours=1), **STREAM)
    trigger = deferred(task, given(store))
    run = FollowedRun.from_dict(trigger.run_state)
    assert (run.app_id, run.run_id, run.streams) == (APP, on_yarn.seen["request"]["run_id"], True)
    assert store["ignite_kafka_run"] == trigger.run_state
    assert trigger.timeout_ms is not None
    assert 3_500_000 < trigger.timeout_ms - now_ms() <= 3_600_000
    assert list((on_yarn.folder / "tmp").iterdir()) == []
    assert not any(password in json.dumps(trigger.serialize()) for password in PASSWORDS)

    on_yarn.status = lambda: run_status(STOPPED)
    event = {"run": trigger.run_state, "reason": "ended", "attached": False}
    assert operator(deferrable=True, **STREAM).execute_complete(given(store), event)["state"] == STOPPED
    assert store == {}


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ({"reason": SILENT}, AirflowException, "reports no progress"),
        ({"reason": TIMED_OUT}, AirflowTaskTimeout, "timed out"),
        ({"reason": "error", "error": "SettingsError: no file", "final": True}, AirflowFailException, "no file"),
        ({"reason": "error", "error": "OSError: away"}, AirflowException, "away"),
    ],
)
def test_run_that_is_given_up_is_asked_to_stop(on_yarn: Bench, event: dict[str, Any], kind: type[Exception], message: str) -> None:
    requested: list[str] = []

    def request_stop(run: FollowedRun) -> bool:
        requested.append(run.run_id)
        return True

    on_yarn.status, on_yarn.request_stop = records(active(), active(), run_status(STOPPED)), request_stop
    if event["reason"] == SILENT:
        on_yarn.status, on_yarn.request_stop = active, lambda run: request_stop(run) and False
    run = FollowedRun("c", "r", streams=True, continuous=True, app_id=APP)
    with pytest.raises(kind, match=message) as failed:
        operator(**STREAM).execute_complete(given(), {"run": run.to_dict(), **event})
    assert failed.type is kind
    assert requested == ["r"]
    assert (on_yarn.folder / "yarn").exists() is (event["reason"] == SILENT)


def test_a_stream_that_the_task_gave_up_and_that_then_stopped_is_resumed_by_a_retry(on_yarn: Bench) -> None:
    on_yarn.status, on_yarn.request_stop = records(active(), run_status(STOPPED)), lambda _run: True
    on_yarn.stop_requested = True
    run = FollowedRun("c", "r", streams=True, continuous=True, app_id=APP)
    with pytest.raises(AirflowException, match="A retry resumes where it stopped") as failed:
        operator(**STREAM).execute_complete(given(), {"run": run.to_dict(), "reason": SILENT})
    assert failed.type is AirflowException


def test_counts_that_the_trigger_has_exported_are_not_exported_again(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(RunReport, "ended", lambda _report, _status, *, exported=False: ended.append(exported))
    on_yarn.status = lambda: run_status(STOPPED)
    event = {"run": FollowedRun("c", "r", streams=True, continuous=True, app_id=APP).to_dict(), "reason": "ended"}
    for reported in ({}, {"reported": False}, {"reported": True}):  # the first one is of an older triggerer
        operator(**STREAM).execute_complete(given(), {**event, **reported})
    assert ended == [False, False, True]


def test_what_a_stream_has_copied_before_its_time_was_up_is_an_asset_event(on_yarn: Bench) -> None:
    on_yarn.tries = [run_status(FAILED, TopicError("x"))]
    alias = AssetAlias("copies")
    retry: Any = {**given(try_number=2), "outlet_events": OutletEventAccessors()}
    operator(run_for=60, outlets=[alias], **STREAM).execute(retry)
    [event] = retry["outlet_events"][alias].asset_alias_events
    assert (event.dest_asset_key.uri, event.extra["records"], event.extra["state"]) == ("kafka://broker:9092/t-flights", 10, FAILED)


def stored(**changes: Any) -> Store:
    """The store after a first try that submitted a stream."""
    run = FollowedRun(
        "c", "nightly/copy/manual__2025-01-01/1", streams=True, continuous=True, submitted_ms=now_ms(), app_id=APP, max_tries=2
    )
    return Store({"ignite_kafka_run": replace(run, **changes).to_dict()})


@pytest.mark.parametrize("store", [stored(), Store()], ids=["stored", "found in Kafka"])
def test_next_try_follows_the_run_that_goes_on(on_yarn: Bench, store: Store) -> None:
    run_id = "nightly/copy/manual__2025-01-01/1"
    on_yarn.active_try = lambda own_runs: run_id if run_id.startswith(own_runs) else None
    on_yarn.status = records(active(), active(), run_status(STOPPED))
    assert operator(**STREAM).execute(given(store, try_number=2))["state"] == STOPPED
    assert not submitted(on_yarn)
    on_yarn.status = active
    trigger = deferred(operator(deferrable=True, **STREAM), given(store, try_number=2))
    assert (trigger.attached, trigger.run_state["run_id"]) == (True, run_id)


@TASK_STORE
def test_next_try_waits_for_an_app_that_has_not_begun(on_yarn: Bench) -> None:
    on_yarn.status = records(None, None, active(), run_status(STOPPED))
    assert operator(**STREAM).execute(given(stored(), try_number=2))["state"] == STOPPED
    assert not submitted(on_yarn)


@TASK_STORE
def test_next_try_returns_the_result_of_a_run_that_has_ended_well(on_yarn: Bench) -> None:
    on_yarn.status = lambda: run_status(STOPPED)
    assert operator(**STREAM).execute(given(stored(), try_number=2))["state"] == STOPPED
    assert not submitted(on_yarn)


def test_next_try_submits_if_the_run_was_stopped_with_its_task_or_failed(on_yarn: Bench) -> None:
    on_yarn.status, on_yarn.stop_requested = records(run_status(STOPPED), run_status(COMPLETED)), True
    assert operator(**STREAM).execute(given(stored(), try_number=2))["state"] == COMPLETED
    assert submitted(on_yarn)


def test_next_try_replaces_a_run_that_ends_by_an_earlier_request(on_yarn: Bench) -> None:
    answers = iter(["nightly/copy/manual__2025-01-01/1"])
    on_yarn.active_try = lambda _own_runs: next(answers, None)
    on_yarn.stop_requested = True
    on_yarn.status = records(active(), run_status(STOPPED), run_status(STOPPED), run_status(STOPPED), run_status(COMPLETED))
    assert operator(**STREAM).execute(given(stored(), try_number=2))["state"] == COMPLETED
    assert submitted(on_yarn)


@TASK_STORE
def test_cleared_task_stops_its_run_and_submits_another(on_yarn: Bench) -> None:
    run_id = "nightly/copy/manual__2025-01-01/1"
    requested: list[str] = []

    def request_stop(run: FollowedRun) -> bool:
        requested.append(run.run_id)
        return True

    on_yarn.active_try, on_yarn.request_stop = lambda _own_runs: run_id if not requested else None, request_stop
    on_yarn.status = records(run_status(STOPPED), run_status(COMPLETED))
    assert operator(**STREAM).execute(given(stored(max_tries=1), try_number=2))["state"] == COMPLETED
    assert requested == [run_id]
    assert submitted(on_yarn)


def test_durable_false_replaces_the_run(on_yarn: Bench) -> None:
    on_yarn.active_try = lambda _own_runs: pytest.fail("it is not asked")
    on_yarn.status = lambda: run_status(COMPLETED)
    operator(durable=False, **STREAM).execute(given(stored(), try_number=2))
    assert submitted(on_yarn)


def test_deferrable_in_client_mode_says_what_it_cannot(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert operator(deferrable=True).execute(given())["state"] == COMPLETED
    [said] = [line for line in capsys.readouterr().out.splitlines() if "deferrable has no effect" in line]
    assert "local[2] in client mode" in said
    assert "connection spark_default" in said


def test_stream_beside_its_task_ends_after_run_for(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True, graceful=True, app=True)
    bench.status = lambda: run_status(STOPPED)
    assert "run_for" in IgniteToKafkaOperator.template_fields
    assert operator(run_for=2, **STREAM).execute(given())["state"] == STOPPED


def test_stream_whose_time_is_up_is_not_started_again(on_yarn: Bench) -> None:
    on_yarn.tries = [run_status(FAILED, TopicError("x"))]
    assert operator(run_for=60, **STREAM).execute(given(try_number=2))["state"] == FAILED
    assert not submitted(on_yarn)


def test_time_of_a_stream_is_stored_with_its_run(on_yarn: Bench) -> None:
    on_yarn.status = lambda: None
    run = deferred(operator(deferrable=True, run_for=3600, **STREAM), given()).run_state
    assert 3_500_000 < run["until_ms"] - now_ms() <= 3_600_000
