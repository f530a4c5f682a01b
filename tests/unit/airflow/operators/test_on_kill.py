"""Stop of an app whose task is killed or times out, on the worker and in a cluster."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from typing import Any

import psutil
import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.hooks.spark_app import SparkAppHook
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.spark.request import Request
from ignite_kafka.errors import KafkaUnavailable, TopicError
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING, STOPPED, RunStatus
from tests.support.waiting import wait_until
from tests.unit.airflow.bench import Bench, context, operator, run_status


def test_killed_before_the_app_was_started(bench: Bench) -> None:
    task = operator()
    task.on_kill()
    with pytest.raises(AirflowException, match="killed"):
        task.execute(context())
    assert not (bench.folder / "seen.json").exists()
    assert list((bench.folder / "tmp").iterdir()) == []


@pytest.mark.parametrize("stubborn", [False, True])
def test_on_kill_stops_the_app_and_leaves_nothing(bench: Bench, stubborn: bool) -> None:
    bench.order(print=["at work"], until_stopped=True, stubborn=stubborn)
    bench.status = lambda: run_status(FAILED, TopicError("what an app may say when its Java is stopped with it"))
    task = operator(stop_timeout_ms=500 if stubborn else 60_000)
    assert killed_at_work(task) == (143 if not stubborn else -signal.SIGKILL)
    assert list((bench.folder / "tmp").iterdir()) == []


def test_on_kill_signals_only_the_app_and_not_its_spark(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True, graceful=True, app=True)
    bench.status = lambda: run_status(STOPPED)
    assert killed_at_work(operator(stop_timeout_ms=60_000)) == 0


def test_an_app_that_does_not_end_its_batch_is_killed_with_its_spark(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True, stubborn=True, app=True)
    bench.status = lambda: run_status(RUNNING)
    assert killed_at_work(operator(stop_timeout_ms=500)) == -signal.SIGKILL
    wait_until(lambda: not psutil.pid_exists(bench.seen["pid"]), "end of the app")


@pytest.fixture
def on_yarn(bench: Bench, connect: Any) -> Bench:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    bench.order(print=["Submitted application application_17_0001", "at work"], until_stopped=True, graceful=True)
    bench.status = lambda: run_status(RUNNING)
    return bench


def test_on_kill_in_the_cluster_requests_a_stop_through_kafka(on_yarn: Bench) -> None:
    requested: list[str] = []

    def ask(request: Request) -> bool:
        requested.append(request.run_id)
        os.kill(on_yarn.seen["pid"], signal.SIGTERM)  # what spark-submit does once the app has ended
        return True

    on_yarn.request_stop = ask
    assert killed_at_work(operator(stop_timeout_ms=60_000)) == 0
    assert requested == [on_yarn.seen["request"]["run_id"]]
    assert not (on_yarn.folder / "yarn").exists()


@pytest.mark.parametrize(("answer", "timeout_ms"), [("does not end", 500), ("has not begun", 60_000), ("no broker answers", 60_000)])
def test_on_kill_in_the_cluster_kills_what_does_not_end(on_yarn: Bench, answer: str, timeout_ms: int) -> None:
    def ask(_request: Request) -> bool:
        if answer == "no broker answers":
            raise KafkaUnavailable(answer)
        return answer == "does not end"

    on_yarn.request_stop = ask
    assert killed_at_work(operator(stop_timeout_ms=timeout_ms)) == -signal.SIGKILL
    assert (on_yarn.folder / "yarn").read_text() == "application -kill application_17_0001\n"


def killed_at_work(task: IgniteToKafkaOperator) -> int:
    """Run a task that is killed once its app runs and must fail with a retriable error; return spark-submit's exit code."""
    previous = signal.signal(signal.SIGTERM, lambda *_: task.on_kill())
    killer = threading.Thread(target=signal_when_at_work, args=(task, signal.SIGTERM))
    killer.start()
    try:
        with pytest.raises(AirflowException, match="killed and its app stopped") as failed:
            task.execute(context())
    finally:
        killer.join()
        signal.signal(signal.SIGTERM, previous)
    assert failed.type is AirflowException
    assert task._hook is not None
    assert task._hook._submit_sp is not None
    return int(task._hook._submit_sp.returncode)


def signal_when_at_work(task: IgniteToKafkaOperator, number: signal.Signals) -> None:
    """Send this process a signal once the app has started, as Airflow's supervisor does; a handler runs in the main thread."""
    wait_until(lambda: task._hook is not None and "at work" in task._hook._tail, "the app at work")
    os.kill(os.getpid(), number)


@pytest.fixture
def left_on_yarn(on_yarn: Bench) -> Bench:
    """A spark-submit that ends without reporting its app's end."""
    on_yarn.order(print=["Submitted application application_17_0001", "Exception: the resource manager is gone"], exit_code=1)
    return on_yarn


def test_the_end_of_spark_submit_is_not_the_app_s_end_in_the_cluster(left_on_yarn: Bench) -> None:
    records = [run_status(RUNNING), run_status(RUNNING), run_status(COMPLETED)]
    left_on_yarn.status = lambda: replace(run_status(RUNNING), ended_ms=None)
    followed: list[str] = []

    def follow(request: Request) -> RunStatus | None:
        followed.append(request.run_id)
        return records[-1]

    left_on_yarn.awaited = follow
    assert operator().execute(context())["state"] == COMPLETED
    assert followed == [left_on_yarn.seen["request"]["run_id"]]
    assert not (left_on_yarn.folder / "yarn").exists()


@pytest.mark.parametrize(("accepted", "ends"), [(True, True), (True, False), (False, False)])
def test_an_app_that_is_not_awaited_any_more_is_stopped(left_on_yarn: Bench, accepted: bool, ends: bool) -> None:
    left_on_yarn.status = lambda: replace(run_status(RUNNING), ended_ms=None)
    requested: list[str] = []

    def ask(request: Request) -> bool:
        requested.append(request.run_id)
        return accepted

    left_on_yarn.request_stop, left_on_yarn.has_ended = ask, ends
    with pytest.raises(AirflowException, match="spark-submit ended without reporting the app's end") as failed:
        operator(stop_timeout_ms=500).execute(context())
    assert failed.type is AirflowException
    assert requested == [left_on_yarn.seen["request"]["run_id"]]
    killed = (left_on_yarn.folder / "yarn").read_text() if (left_on_yarn.folder / "yarn").exists() else ""
    assert killed == ("" if accepted and ends else "application -kill application_17_0001\n")


def test_an_app_whose_end_the_cluster_has_reported_is_not_awaited(left_on_yarn: Bench) -> None:
    left_on_yarn.order(print=["Submitted application application_17_0001", "\t final status: FAILED", "java.lang.Error"], exit_code=1)
    left_on_yarn.status = lambda: replace(run_status(RUNNING), ended_ms=None)
    left_on_yarn.awaited = lambda _request: pytest.fail("awaited")
    with pytest.raises(AirflowException, match="exit code 1"):
        operator().execute(context())
    assert not (left_on_yarn.folder / "yarn").exists()


def test_a_submission_that_the_cluster_refused_is_not_awaited(left_on_yarn: Bench) -> None:
    left_on_yarn.order(print=["Exception: unknown queue"], exit_code=1)
    left_on_yarn.status = lambda: None
    with pytest.raises(AirflowException, match=r"exit code 1(.|\n)*unknown queue"):
        operator().execute(context())
    assert not (left_on_yarn.folder / "yarn").exists()


class LockedLog:
    """A log that is written under a lock, as Airflow's is, and that SIGTERM interrupts."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._lock = threading.Lock()

    def info(self, message: object, *arguments: object) -> None:
        text = str(message) % arguments if arguments else str(message)
        assert self._lock.acquire(blocking=False), f"logged by the handler of a signal that interrupted the log: {text}"
        try:
            if text == "at work":
                signal.raise_signal(signal.SIGTERM)
            self.lines.append(text)
        finally:
            self._lock.release()

    debug = warning = error = info


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_on_kill_amid_a_line_of_the_log(bench: Bench, connect: Any, monkeypatch: pytest.MonkeyPatch, deploy_mode: str) -> None:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": deploy_mode})
    bench.order(print=["Submitted application application_17_0001", "at work"], until_stopped=True)
    bench.status = lambda: run_status(FAILED, TopicError("what an app may say when its Java is stopped with it"))
    bench.request_stop = lambda _request: False
    log = LockedLog()
    monkeypatch.setattr(SparkAppHook, "_log", log)
    task = operator(stop_timeout_ms=60_000)
    previous = signal.signal(signal.SIGTERM, lambda *_: task.on_kill())
    try:
        with pytest.raises(AirflowException, match="killed and its app stopped"):
            task.execute(context())
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert any(line.startswith("Stopping the Spark app") for line in log.lines)
    assert (bench.folder / "yarn").exists() is (deploy_mode == "cluster")


def test_time_out_of_the_task_stops_the_app(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True)
    task = operator()

    class OutOfTime(Exception):
        pass

    def raise_out_of_time(*_: Any) -> None:
        raise OutOfTime

    previous = signal.signal(signal.SIGUSR1, raise_out_of_time)
    killer = threading.Thread(target=signal_when_at_work, args=(task, signal.SIGUSR1))
    killer.start()
    try:
        with pytest.raises(OutOfTime):
            task.execute(context())
    finally:
        killer.join()
        signal.signal(signal.SIGUSR1, previous)
    assert task._hook is not None
    assert task._hook._submit_sp is not None
    assert task._hook._submit_sp.returncode == 143
