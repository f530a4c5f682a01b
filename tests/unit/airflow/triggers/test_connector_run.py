"""Trigger that follows a run: its events, its state, and what it does when it is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ignite_kafka.airflow_api import calls_on_kill
from airflow_provider_ignite_kafka.runs import kafka_access
from airflow_provider_ignite_kafka.runs.cluster_app import ClusterApp
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.records import RunRecords
from airflow_provider_ignite_kafka.runs.watch import ENDED, SILENT, TIMED_OUT
from airflow_provider_ignite_kafka.triggers import connector_run
from airflow_provider_ignite_kafka.triggers.connector_run import ConnectorRunTrigger
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.settings.secrets import Secrets, dump
from ignite_kafka.state.status import COMPLETED, RUNNING, RunStatus
from tests.support.waiting import DEADLINE_S
from tests.unit.airflow.bench import Bench, FakeMonitor, make_bench, run_status

RUN = FollowedRun("c", "r", streams=True, poll_s=0.01, app_id="application_17_0001")


@pytest.fixture
def bench(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, connect: Any) -> Bench:
    made = make_bench(tmp_path, monkeypatch, connect)
    monkeypatch.setattr(connector_run, "monitor_of_run", lambda run: FakeMonitor(made, run))
    return made


def active() -> RunStatus:
    return replace(run_status(RUNNING), ended_ms=None)


def trigger(**arguments: Any) -> ConnectorRunTrigger:
    return ConnectorRunTrigger(run=RUN.to_dict(), **arguments)


def fired(one: ConnectorRunTrigger) -> dict[str, Any]:
    async def first() -> Any:
        return (await asyncio.wait_for(anext(aiter(one.run())), 60)).payload

    return dict(asyncio.run(first()))


def test_event_at_the_end_of_the_run_over_a_broker_that_is_away(bench: Bench) -> None:
    polls: list[Callable[[], RunStatus]] = [active, unavailable, lambda: run_status(COMPLETED)]
    bench.status = lambda: polls.pop(0)()
    assert fired(trigger(attached=True)) == {"run": RUN.to_dict(), "reason": ENDED, "attached": True, "reported": False}


def unavailable() -> RunStatus:
    raise KafkaUnavailable("no broker answers")


def test_poll_that_hangs_blocks_no_other_trigger_and_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """All triggers of a triggerer share one executor, which hanging calls would use up."""
    answers = threading.Event()
    monkeypatch.setattr(connector_run, "_POLL_S", 0.05)
    bench.status = lambda: run_status(COMPLETED) if answers.wait(60) else active()
    hanging = ConnectorRunTrigger(run=replace(RUN, silence_s=0.2).to_dict())

    async def follow() -> dict[str, Any]:
        asyncio.get_running_loop().set_default_executor(Forbidden())
        return await hanging._followed()

    try:
        assert asyncio.run(follow())["reason"] == SILENT
        assert [thread.daemon for thread in threading.enumerate() if thread.name == "follow-c"] == [True], "no poll is made beside it"
        assert fired(ConnectorRunTrigger(run=RUN.to_dict(), timeout_ms=1))["reason"] == TIMED_OUT
    finally:
        answers.set()


class Forbidden(ThreadPoolExecutor):
    def submit(self, *call: Any, **_: Any) -> Any:
        raise AssertionError(f"{call} runs in the executor that all triggers share")


def test_task_is_told_whether_metrics_have_its_counts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[RunStatus] = []
    monkeypatch.setattr(connector_run, "RunReport", lambda _monitor, _push: SimpleNamespace(progressed=seen.append))
    monkeypatch.setattr(connector_run, "enabled", lambda: True)
    bench.status = lambda: run_status(COMPLETED)
    assert fired(trigger())["reported"] is True
    assert seen == [run_status(COMPLETED)]


def test_event_at_the_time_out_of_the_task(bench: Bench) -> None:
    bench.status = active
    assert fired(trigger(timeout_ms=1))["reason"] == TIMED_OUT


def test_run_is_asked_to_stop_when_its_time_is_up(bench: Bench) -> None:
    requested: list[str] = []

    def request_stop(run: FollowedRun) -> bool:
        requested.append(run.run_id)
        bench.status = lambda: run_status(COMPLETED)
        return True

    bench.status, bench.request_stop = active, request_stop
    assert fired(ConnectorRunTrigger(run=replace(RUN, until_ms=1).to_dict()))["reason"] == ENDED
    assert requested == ["r"]


@pytest.mark.parametrize(
    ("run", "final"),
    [({**RUN.to_dict(), "secrets_file": "/nowhere"}, False), ({"of": "another program"}, True)],
    ids=["no access", "wrong"],
)
def test_trigger_that_cannot_work_says_so_in_its_event(monkeypatch: pytest.MonkeyPatch, run: dict[str, Any], final: bool) -> None:
    def refused(_run: FollowedRun) -> None:
        raise KafkaUnavailable("no broker answers")

    monkeypatch.setattr(connector_run, "monitor_of_run", refused)
    event = fired(ConnectorRunTrigger(run=run))
    assert (event["reason"], event["final"]) == ("error", final)


def test_stored_trigger_is_read_by_other_versions() -> None:
    path, arguments = trigger(timeout_ms=5).serialize()
    assert path == "airflow_provider_ignite_kafka.triggers.connector_run.ConnectorRunTrigger"
    assert ConnectorRunTrigger(**arguments, of_a_newer_version=1).serialize() == (path, arguments)
    ConnectorRunTrigger(run={"of": "another program"})  # an exception would end the whole triggerer


@pytest.mark.parametrize(
    ("state", "streams", "requested", "killed"),
    [
        ("success", True, ["r"], False),
        (None, True, ["r"], False),  # cleared
        ("deferred", True, [], False),  # moved to another triggerer
        ("failed", False, ["r"], True),  # a snapshot follows no target state
    ],
)
def test_only_a_user_s_action_stops_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, state: str | None, streams: bool, requested: list[str], killed: bool
) -> None:
    seen: list[str] = []

    def request_stop(run: FollowedRun) -> bool:
        seen.append(run.run_id)
        return streams

    bench.request_stop = request_stop
    bench.status = active
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", staticmethod(lambda **_: {"today": {"copy": state}}))
    one = trigger()
    one.task_instance = SimpleNamespace(dag_id="nightly", task_id="copy", run_id="today", map_index=-1)  # type: ignore[assignment]
    asyncio.run(one.on_kill())
    assert seen == requested
    assert (bench.folder / "yarn").exists() is killed


@pytest.mark.parametrize("state", ["failed", "deferred"])
@pytest.mark.parametrize("called", [True, False], ids=["Airflow 3.3", "before"])
def test_cancelled_trigger_stops_the_run_only_where_airflow_does_not_call_on_kill(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, called: bool, state: str
) -> None:
    """A triggerer that shuts down cancels its triggers, too; their tasks are still deferred.

    Before Airflow 3.3 the triggerer cancels a trigger again each time that it looks, also while this one asks for the task's state.
    """
    seen: list[str] = []
    asked, answer, done = threading.Event(), threading.Event(), threading.Event()
    bench.status, bench.request_stop = active, lambda run: seen.append(run.run_id) or True  # type: ignore[func-returns-value]
    monkeypatch.setattr(connector_run, "calls_on_kill", lambda: called)

    def states(_task: object) -> set[str]:
        asked.set()
        assert answer.wait(DEADLINE_S)
        return {state}

    monkeypatch.setattr(connector_run, "task_states", states)
    stop_unless_deferred = ConnectorRunTrigger._stop_unless_deferred

    def stop(one: ConnectorRunTrigger) -> None:
        stop_unless_deferred(one)
        done.set()

    monkeypatch.setattr(ConnectorRunTrigger, "_stop_unless_deferred", stop)

    async def first(one: ConnectorRunTrigger) -> TriggerEvent:
        return await anext(aiter(one.run()))

    async def cancelled() -> None:
        one = trigger()
        one.task_instance = SimpleNamespace(dag_id="nightly", task_id="copy", run_id="today", map_index=-1)  # type: ignore[assignment]
        running = asyncio.create_task(first(one))
        await asyncio.sleep(0.1)
        running.cancel()
        if not called:
            assert await asyncio.to_thread(asked.wait, DEADLINE_S)
            running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        answer.set()
        assert called or await asyncio.to_thread(done.wait, DEADLINE_S)

    asyncio.run(cancelled())
    assert seen == (["r"] if state == "failed" and not called else [])


def test_airflow_calls_on_kill_where_its_triggers_have_it() -> None:
    assert calls_on_kill() == hasattr(BaseTrigger, "on_kill")


def test_monitor_uses_the_connection_and_what_it_does_not_name(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    run = replace(RUN, kafka_config={"bootstrap.servers": "of.the.submission:9092", "client.id": "mine"}, allow_insecure_connections=True)
    clients = kafka_access.connection_clients(run.kafka_conn_id, None, run.kafka_config, allow_insecure=True)
    assert clients.common["bootstrap.servers"] == "broker:9092"
    assert clients.common["client.id"] == "mine"
    assert clients.common["sasl.password"] == "kafka-sesame"
    assert isinstance(kafka_access.monitor_of_run(run)._records, RunRecords)


def test_monitor_uses_the_secrets_file_of_the_run(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    dump(Secrets(kafka={"sasl.username": "app", "sasl.password": "mellon"}), path)
    records = kafka_access.monitor_of_run(replace(RUN, secrets_file=str(path), allow_insecure_connections=True))._records
    assert isinstance(records, RunRecords)
    assert records._clients.common["sasl.password"] == "mellon"


def test_yarn_says_whether_an_app_has_ended(bench: Bench) -> None:
    yarn = bench.folder / "bin" / "yarn"
    for state, ended in (("ACCEPTED", False), ("KILLED", True), ("FINISHED", True)):
        yarn.write_text(f"#!/bin/sh\necho 'Application Report :'\nprintf '\\tState : {state}\\n'\n")
        assert ClusterApp(RUN).has_ended() is ended
    yarn.unlink()
    assert not ClusterApp(replace(RUN, app_id="")).has_ended()
