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

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.spark.hook import SparkAppHook
from ignite_kafka.errors import KafkaUnavailable, TopicError
from ignite_kafka.state.status import FAILED, RUNNING, STOPPED, RunStatus
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
    """A cluster that has accepted the app, whose run goes on."""
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    bench.order(print=["Submitted application application_17_0001"])
    bench.status = lambda: active(RUNNING)
    return bench


def active(state: str) -> RunStatus:
    return replace(run_status(state), ended_ms=None)


@pytest.mark.parametrize("answer", ["accepted", "has not begun", "no broker answers", "does not end"])
def test_on_kill_in_the_cluster_requests_a_stop_and_kills_what_does_not_follow(on_yarn: Bench, answer: str) -> None:
    requested: list[str] = []

    def request_stop(run: FollowedRun) -> bool:
        requested.append(run.run_id)
        if answer == "no broker answers":
            raise KafkaUnavailable(answer)
        if answer == "accepted":
            on_yarn.status = lambda: run_status(STOPPED)
        return answer in ("accepted", "does not end")

    on_yarn.request_stop = request_stop
    task = operator(stop_timeout_ms=500 if answer == "does not end" else 60_000)
    previous = signal.signal(signal.SIGTERM, lambda *_: task.on_kill())
    killer = threading.Thread(target=signal_when_followed, args=(task,))
    killer.start()
    try:
        with pytest.raises(AirflowException, match="killed and its app stopped") as failed:
            task.execute(context())
    finally:
        killer.join()
        signal.signal(signal.SIGTERM, previous)
    assert failed.type is AirflowException
    assert requested == [on_yarn.seen["request"]["run_id"]]
    killed = (on_yarn.folder / "yarn").read_text() if (on_yarn.folder / "yarn").exists() else ""
    assert killed == ("" if answer == "accepted" else "application -kill application_17_0001\n")


def signal_when_followed(task: IgniteToKafkaOperator) -> None:
    """Send this process a SIGTERM once the task follows its run."""
    wait_until(lambda: task._follower.cluster is not None, "the run to be followed")
    os.kill(os.getpid(), signal.SIGTERM)


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
    ended = run_status(FAILED, TopicError("what an app may say when its Java is stopped with it"))
    bench.status = lambda: ended if deploy_mode == "client" else active(RUNNING)
    bench.request_stop = lambda _run: False
    log = LockedLog()
    monkeypatch.setattr(SparkAppHook, "_log", log)
    task = operator(stop_timeout_ms=60_000)
    previous = signal.signal(signal.SIGTERM, lambda *_: task.on_kill())
    try:
        with pytest.raises(AirflowException, match="killed and its app stopped"):
            task.execute(context())
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert any(line.startswith("Stopping ") for line in log.lines)
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
