"""What Airflow learns of a run that a trigger follows."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import Stats, XCom
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.sdk.execution_time.comms import ErrorResponse

from airflow_provider_ignite_kafka.links.copy import SparkLink
from airflow_provider_ignite_kafka.runs import deferred_report
from airflow_provider_ignite_kafka.runs.deferred_report import DeferredReport
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.lag import LagReader
from ignite_kafka.errors import IgniteKafkaError, IgniteUnreachable, KafkaUnavailable
from ignite_kafka.state.status import FAILED, RUNNING, CacheStatus, RunStatus, now_ms

CACHE = CacheStatus("t-flights", 8, 10, 1000)
RUN = RunStatus(RUNNING, "c", "d/t/r/2", "d/t/r", caches={"flights": CACHE})
STREAM = FollowedRun("c", RUN.run_id, "p", streams=True, ignite_conn_id="ignite_eu", secrets_file="/run/s")
TASK = SimpleNamespace(dag_id="d", task_id="t", run_id="r", map_index=None)
Counters = dict[str, int]


class Monitor:
    """A monitor of a run whose earlier tries and lag are given."""

    def __init__(self, run: FollowedRun = STREAM, earlier: list[RunStatus] | IgniteKafkaError | None = None) -> None:
        self.run, self._earlier = run, earlier or []

    def tries(self, own_runs: str) -> list[RunStatus]:
        assert own_runs == "d/t/r/"
        if isinstance(self._earlier, IgniteKafkaError):
            raise self._earlier
        return self._earlier

    def lag(self, _status: RunStatus) -> Mapping[str, int]:
        return {"t-flights": 7}


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Counters:
    """What Stats has got, by metric: the sum of a counter, the last value of the gauge."""
    found: Counters = {}

    def incr(name: str, count: int, *, tags: Any = None) -> None:
        found[name] = found.get(name, 0) + count

    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_ON", "True")
    monkeypatch.setenv("AIRFLOW__METRICS__LEGACY_NAMES_ON", "False")
    monkeypatch.setattr(Stats, "incr", staticmethod(incr))
    monkeypatch.setattr(Stats, "gauge", staticmethod(lambda name, value, *, tags=None: found.update({name: value})))
    monkeypatch.setattr(deferred_report, "_LAG_EVERY_S", 0.0)
    monkeypatch.setattr(LagReader, "read", lambda _reader, _timeout_s: SimpleNamespace(counts=dict))
    return found


def report(monitor: Any = None) -> DeferredReport:
    return DeferredReport(Monitor() if monitor is None else monitor, TASK)  # type: ignore[arg-type]


def started(after_ms: int = 1_000, **changes: Any) -> RunStatus:
    """A record of the run, which begins some time after the report is made."""
    return replace(RUN, started_ms=now_ms() + after_ms, **changes)


def test_counts_of_a_run_are_exported_while_it_goes_on(counters: Counters) -> None:
    one, first = report(), started()
    one.progressed(first)
    assert counters["ignite_kafka.records"] == 10
    one.progressed(replace(first, caches={"flights": replace(CACHE, records=14, bytes=1_200)}))
    assert (counters["ignite_kafka.records"], counters["ignite_kafka.bytes"]) == (14, 1_200)


def test_a_triggerer_that_takes_over_exports_only_what_is_new(counters: Counters) -> None:
    one, begun = report(), started(-60_000)
    one.progressed(begun)
    assert "ignite_kafka.records" not in counters
    one.progressed(replace(begun, caches={"flights": replace(CACHE, records=11)}))
    assert counters["ignite_kafka.records"] == 1


def test_a_retried_snapshot_counts_each_record_once(counters: Counters) -> None:
    earlier = replace(RUN, state=FAILED, run_id="d/t/r/1", started_ms=1, caches={"flights": replace(CACHE, records=7)})
    report(Monitor(earlier=[earlier])).progressed(started())
    assert counters["ignite_kafka.records"] == 3
    report(Monitor(earlier=KafkaUnavailable("away"))).progressed(started())
    assert counters["ignite_kafka.records"] == 13


def test_a_snapshot_that_is_complete_already_counts_nothing(counters: Counters) -> None:
    report().progressed(started(already_complete=True))
    assert counters == {}


def test_lag_of_a_stream_falls_to_zero(counters: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    lags: list[dict[str, int]] = [{"flights": 5}, {}]
    asked: list[LagReader] = []

    def read(reader: LagReader, _timeout_s: float) -> Any:
        asked.append(reader)
        return SimpleNamespace(counts=lambda: lags.pop(0))

    monkeypatch.setattr(LagReader, "read", read)
    one = report()
    one.progressed(started())
    assert counters["ignite_kafka.lag"] == 5
    one.progressed(started())
    assert counters["ignite_kafka.lag"] == 0
    assert asked[0] == LagReader("c", "kafka_default", "ignite_eu", "p", "/run/s")


def test_lag_of_a_sink_is_that_of_its_group_and_a_snapshot_has_none(counters: Counters) -> None:
    report(Monitor(FollowedRun("c", "r"))).progressed(started())
    assert "ignite_kafka.lag" not in counters
    report(Monitor(FollowedRun("c", "r", sink=True))).progressed(started())
    assert counters["ignite_kafka.lag"] == 7


def test_a_lag_that_cannot_be_read_ends_nothing(
    counters: Counters, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: Any) -> Any:
        raise IgniteUnreachable("no node answered")

    monkeypatch.setattr(LagReader, "read", away)
    with caplog.at_level(logging.INFO):
        report().progressed(started())
    assert "The lag is not known: no node answered" in caplog.text
    assert counters["ignite_kafka.records"] == 10


def test_link_to_spark_is_stored_once_known_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[dict[str, Any]] = []
    monkeypatch.setattr(XCom, "set", lambda **given: stored.append(given))
    one = report()
    for spark_ui in ("", "javascript:alert(1)", "http://driver:4040", "data:text/html,x", "http://driver:4040"):
        one.progressed(started(spark_ui=spark_ui))
    assert stored == [{"key": SparkLink.key, "value": "http://driver:4040", "dag_id": "d", "task_id": "t", "run_id": "r", "map_index": -1}]


def test_link_of_a_task_that_is_not_known_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(XCom, "set", lambda **_: pytest.fail("it was stored"))
    DeferredReport(Monitor(), None).progressed(started(spark_ui="http://driver:4040"))  # type: ignore[arg-type]


def test_link_that_cannot_be_stored_ends_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(**_: Any) -> None:
        raise AirflowRuntimeError(ErrorResponse())

    monkeypatch.setattr(XCom, "set", refuse)
    report().progressed(started(spark_ui="http://driver:4040"))
    assert "http://driver:4040 could not be stored" in caplog.text


def test_nothing_is_read_where_airflow_exports_no_metrics() -> None:
    report(Monitor(earlier=KafkaUnavailable("it was asked"))).progressed(started())
