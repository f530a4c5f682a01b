"""Bench of the copy operators: a fake spark-submit, a fake monitor, Airflow connections, and tasks to run."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import BaseHook
from airflow.sdk import DAG
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import COMPLETED, CacheStatus, RunStatus, now_ms

FAKE = Path(__file__).with_name("fake_spark_submit.py")


PASSWORDS = ("ignite-sesame", "kafka-sesame", "key-sesame")


CONFIG = {
    "bootstrap.servers": "broker:9092",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "app",
    "sasl.password": "kafka-sesame",
    "group.id": "g",
}


@dataclass
class Bench:
    """Orders and notes of the fake spark-submit, and the answers of the run's monitor."""

    folder: Path
    status: Callable[[], RunStatus | None]
    request_stop: Callable[[FollowedRun], bool] | None = None
    check_clusters: Callable[[bool], None] = lambda _ignite: None
    superseded_by: Callable[[str], RunStatus | None] = lambda _own_runs: None
    active_try: Callable[[str], str | None] = lambda _own_runs: None
    stop_requested: bool = False
    tries: Sequence[RunStatus] = ()
    written_ago_ms: int = 0  # age of the last record

    def order(self, **orders: Any) -> None:
        (self.folder / "orders.json").write_text(json.dumps(orders))

    @property
    def seen(self) -> dict[str, Any]:
        return json.loads((self.folder / "seen.json").read_text())


class NoRecords:
    """No records at all: a fake monitor answers before it reads one."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read from Kafka")


class FakeMonitor(RunMonitor):
    """A monitor with the answers of the bench; it never calls Kafka."""

    def __init__(self, bench: Bench, run: FollowedRun) -> None:
        super().__init__(replace(run, poll_s=0.01), NoRecords())  # type: ignore[arg-type]
        self._bench = bench

    def following(self, run: FollowedRun) -> RunMonitor:
        return FakeMonitor(self._bench, run)

    def poll(self) -> tuple[RunStatus | None, int]:
        return self._bench.status(), now_ms() - self._bench.written_ago_ms

    def request_stop(self) -> bool:
        assert self._bench.request_stop is not None
        return self._bench.request_stop(self.run)

    def stop_requested(self, generation: int) -> bool:
        return self._bench.stop_requested

    def superseded_by(self, own_runs: str) -> RunStatus | None:
        return self._bench.superseded_by(own_runs)

    def active_try(self, own_runs: str) -> str | None:
        return self._bench.active_try(own_runs)

    def earlier_run(self, status: RunStatus) -> RunStatus | None:
        return None

    def tries(self, own_runs: str) -> list[RunStatus]:
        return list(self._bench.tries)


def make_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Any) -> Bench:
    """The bench of one test, with connections to clusters that do not exist."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "java").symlink_to(sys.executable)  # spark-submit becomes a process of this name
    write_program(programs / "spark-submit", f'exec {programs}/java {FAKE} "$@"')
    write_program(programs / "yarn", f'echo "$@" > {tmp_path}/yarn')
    private = tmp_path / "tmp"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")  # the node has a password and no TLS
    monkeypatch.setenv("FAKE_ORDERS", str(tmp_path / "orders.json"))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    connect(
        "ignite_default", conn_type="ignite", host="node", login="ignite", password="ignite-sesame", extra={"key_password": "key-sesame"}
    )
    connect("kafka_default", conn_type="kafka", extra=CONFIG)
    connect("spark_default", conn_type="spark", host="local[2]")
    made = Bench(tmp_path, lambda: run_status(COMPLETED))
    made.order()
    monkeypatch.setattr(SparkCopyOperator, "monitor_of", lambda _operator, _request, run: FakeMonitor(made, run))
    monkeypatch.setattr(SparkCopyOperator, "monitor_of_run", lambda _operator, run: FakeMonitor(made, run))
    monkeypatch.setattr(SparkCopyOperator, "check_clusters", lambda _operator, _request, ignite: made.check_clusters(ignite))
    return made


def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the connections that are looked up from now on."""
    ids: list[str] = []
    look_up = BaseHook.get_connection

    def get_connection(*given: Any) -> Any:
        ids.append(given[-1])
        return look_up(given[-1])

    monkeypatch.setattr(BaseHook, "get_connection", get_connection)
    return ids


def write_program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def run_status(state: str, error: IgniteKafkaError | None = None) -> RunStatus:
    caches = {"flights": CacheStatus("t-flights", 10, 10, 1000, 4, 4, 0.5)}
    return RunStatus(state, "c", "r", "s", 3, started_ms=1000, ended_ms=3500, caches=caches, error=error.to_dict() if error else None)


def operator(settings: Mapping[str, Any] | str | None = None, **arguments: Any) -> IgniteToKafkaOperator:
    with DAG("nightly", schedule=None):
        return IgniteToKafkaOperator(task_id="copy", settings={} if settings is None else settings, **arguments)


def sink(settings: Mapping[str, Any] | None = None, **arguments: Any) -> KafkaToIgniteOperator:
    with DAG("nightly", schedule=None):
        return KafkaToIgniteOperator(task_id="copy", settings={"topics": ["t-flights"], **(settings or {})}, **arguments)


def rendered(task: SparkCopyOperator, **settings: Any) -> SparkCopyOperator:
    """The task with settings that its templates have given; those of a Dag file are checked when it is parsed."""
    assert isinstance(task.settings, dict)
    task.settings = {**task.settings, **settings}
    return task


def context(try_number: int = 1, map_index: int = -1, run_id: str = "manual__2025-01-01") -> Any:
    pushed: dict[str, Any] = {}
    names = {"dag_id": "nightly", "task_id": "copy", "run_id": run_id, "map_index": map_index, "try_number": try_number, "max_tries": 2}
    task = SimpleNamespace(**names, pushed=pushed, stats_tags={})
    task.xcom_push = lambda key, value: pushed.update({key: value})
    return {"ti": task, "params": {"prefix": "p-"}, "run_id": run_id, "outlet_events": OutletEventAccessors()}
