"""Lag of a followed run: one definition, whoever follows it; a cluster that does not answer leaves it out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from airflow_provider_ignite_kafka.hooks.ignite_connection import IgniteConnection
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.lag import RunLag
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from airflow_provider_ignite_kafka.runs.records import RunRecords
from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.admin import lag_by_name
from ignite_kafka.errors import IgniteUnreachable, KafkaUnavailable
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_lag import BacklogLag, UnitLag
from ignite_kafka.state.status import RUNNING, CacheStatus, RunStatus

STATUS = RunStatus(RUNNING, "c", "r", caches={"air": CacheStatus("t-air"), "b": CacheStatus("t-air")})
STREAM = FollowedRun("c", "r", streams=True, ignite_conn_id="ignite_default")
SINK = FollowedRun("c", "r", sink=True, streams=True, ignite_conn_id="ignite_default", has_backlog=False)


class Records(RunRecords):
    """A sink that is 3 records behind in each topic, or brokers that do not answer."""

    def __init__(self, error: KafkaUnavailable | None = None) -> None:
        self._error = error

    def sink_lag(self, topics: Iterable[str]) -> Mapping[str, int]:
        if self._error is not None:
            raise self._error
        return dict.fromkeys(topics, 3)


def monitor(run: FollowedRun, error: KafkaUnavailable | None = None) -> RunMonitor:
    return RunMonitor(run, Records(error))


class FakeCluster:
    def __enter__(self) -> FakeCluster:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """Timeouts of the clusters whose backlog is read; the cache air has 2 changes, then none and is gone."""
    timeouts: list[float | None] = []
    lags = [BacklogLag(("air", "b"), (UnitLag("air", 0, 1, 2, 2, 90),)), BacklogLag(("b",))]

    def opened(_from: Any, *arguments: Any) -> FakeCluster:
        timeouts.append(arguments[-1])
        return FakeCluster()

    monkeypatch.setattr(IgniteConnection, "cluster", opened)
    monkeypatch.setattr(Request, "cluster", opened)
    monkeypatch.setattr(lag_by_name, "backlog_lag", lambda _cluster, _connector: lags.pop(0))
    return timeouts


def request(**settings: Any) -> Request:
    return Request(SourceSettings.from_dict({"name": "c", **settings}), "r", None, Secrets())


@pytest.mark.parametrize("attached", [True, False])
def test_lag_of_a_stream_is_that_of_its_backlog_and_falls_to_zero(connect: Any, asked: list[float | None], attached: bool) -> None:
    connect("ignite_default", conn_type="ignite", host="node")
    lag = RunLag.of(monitor(STREAM), request()) if attached else RunLag.by_connection(monitor(STREAM))
    assert lag.read(STATUS) == {"air": 2, "b": 0}
    assert lag.read(STATUS) == {"air": 0, "b": 0}
    assert asked == [5.0, 5.0]


def test_lag_of_a_sink_is_by_topic_and_no_node_is_asked(asked: list[float | None]) -> None:
    assert RunLag.by_connection(monitor(SINK)).read(STATUS) == {"t-air": 3}
    assert asked == []


@pytest.mark.parametrize("settings", [{}, {"run_mode": "continuous"}, {"failover_policy": "FULL_SNAPSHOT"}])
def test_a_source_without_a_backlog_has_none(asked: list[float | None], settings: dict[str, Any]) -> None:
    run = FollowedRun.of(request(**settings), "kafka_default", "spark_default", 60.0, "ignite_default")
    assert RunLag.by_connection(monitor(run)).read(STATUS) == {}
    assert asked == []


def test_which_runs_have_a_backlog() -> None:
    stream = FollowedRun.of(request(failover_policy="BACKLOG"), "kafka_default", "spark_default", 60.0, "ignite_default")
    assert stream.has_backlog
    assert not FollowedRun.of(Request(SinkSettings(name="c", topics=("t",)), "r", None, Secrets()), "k", "s", 60.0).has_backlog
    assert FollowedRun.from_dict({"connector": "c", "run_id": "r"}).has_backlog, "an older version did not say so"


def test_clusters_that_do_not_answer_leave_it_out(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def gone(*_: Any) -> Any:
        raise IgniteUnreachable("no node answered")

    monkeypatch.setattr(Request, "cluster", gone)
    with caplog.at_level(logging.INFO):
        assert RunLag.of(monitor(STREAM), request()).read(STATUS) == {}
        assert RunLag.by_connection(monitor(SINK, KafkaUnavailable("away"))).read(STATUS) == {}
        assert RunLag.by_connection(monitor(STREAM)).read(STATUS) == {}, "there is no such connection"
    assert "The lag is not known: no node answered" in caplog.text
