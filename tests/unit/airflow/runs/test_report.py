"""What Airflow learns of a run that a task, a sensor or a trigger follows: metrics and links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import Stats, XCom
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.sdk.execution_time.comms import ErrorResponse

from airflow_provider_ignite_kafka.links.copy import SparkLink
from airflow_provider_ignite_kafka.runs import report as run_report
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.lag import RunLag
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from airflow_provider_ignite_kafka.runs.records import RunRecords
from airflow_provider_ignite_kafka.runs.report import RunReport, push_from_trigger
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable
from ignite_kafka.state.status import FAILED, RUNNING, CacheStatus, RunStatus, now_ms

CACHE = CacheStatus("t-flights", 8, 10, 1000)
RUN = RunStatus(RUNNING, "c", "d/t/r/2", "d/t/r", caches={"flights": CACHE})
STREAM = FollowedRun("c", RUN.run_id, "p", streams=True, ignite_conn_id="ignite_eu", secrets_file="/run/s")
TASK = SimpleNamespace(dag_id="d", task_id="t", run_id="r", map_index=None)
Counters = dict[str, int]


class Records(RunRecords):
    """Records of the earlier runs of the connector; the lag of a sink is 7."""

    def __init__(self, earlier: Sequence[RunStatus] | IgniteKafkaError = ()) -> None:
        self._earlier = earlier

    def runs(self) -> Mapping[str, RunStatus]:
        if isinstance(self._earlier, IgniteKafkaError):
            raise self._earlier
        return {run.run_id: run for run in self._earlier}

    def sink_lag(self, topics: Iterable[str]) -> Mapping[str, int]:
        return dict.fromkeys(topics, 7)


def monitor(run: FollowedRun = STREAM, earlier: Sequence[RunStatus] | IgniteKafkaError = ()) -> RunMonitor:
    return RunMonitor(run, Records(earlier))


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
    monkeypatch.setattr(run_report, "_LAG_EVERY_S", 0.0)
    return found


class Lag(RunLag):
    """Lags that a test gives, one for each time that the lag is read."""

    def __init__(self, *lags: dict[str, int]) -> None:
        self.lags = list(lags)

    def read(self, status: RunStatus) -> Mapping[str, int]:
        return self.lags.pop(0) if self.lags else {}


def report(of: RunMonitor | None = None, lag: RunLag | None = None) -> RunReport:
    return RunReport(monitor() if of is None else of, push_from_trigger(TASK), Lag() if lag is None else lag)


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
    report(monitor(earlier=[earlier])).progressed(started())
    assert counters["ignite_kafka.records"] == 3
    report(monitor(earlier=KafkaUnavailable("away"))).progressed(started())
    assert counters["ignite_kafka.records"] == 13


def test_a_snapshot_that_is_complete_already_counts_nothing(counters: Counters) -> None:
    report().progressed(started(already_complete=True))
    assert counters == {}


def test_a_retried_snapshot_counts_each_record_once_whatever_its_id(counters: Counters) -> None:
    """A snapshot_id of the user is no part of the run ids."""
    earlier = replace(RUN, state=FAILED, run_id="d/t/r/1", snapshot_id="mine", started_ms=1, caches={"flights": replace(CACHE, records=7)})
    report(monitor(earlier=[earlier])).progressed(started(snapshot_id="mine"))
    assert counters["ignite_kafka.records"] == 3


def test_lag_is_exported_in_its_interval_and_at_the_end(counters: Counters) -> None:
    current, first = RunReport(monitor(), lag=Lag({"flights": 5}, {"flights": 1})), started()
    current.progressed(first)
    assert counters["ignite_kafka.lag"] == 5
    current.ended(first)
    assert counters["ignite_kafka.lag"] == 1


def test_counts_that_another_process_has_exported_are_not_exported_again(counters: Counters) -> None:
    RunReport(monitor(), lag=Lag()).ended(started(), exported=True)
    assert "ignite_kafka.records" not in counters
    RunReport(monitor(), lag=Lag()).ended(started())
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
    RunReport(monitor(), push_from_trigger(None)).progressed(started(spark_ui="http://driver:4040"))


def test_link_that_cannot_be_stored_ends_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(**_: Any) -> None:
        raise AirflowRuntimeError(ErrorResponse())

    monkeypatch.setattr(XCom, "set", refuse)
    report().progressed(started(spark_ui="http://driver:4040"))
    assert "http://driver:4040 could not be stored" in caplog.text


def test_nothing_is_read_where_airflow_exports_no_metrics() -> None:
    report(monitor(earlier=KafkaUnavailable("it was asked"))).progressed(started())
