"""Lag and earlier runs of a connector: a cluster that does not answer leaves them out."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ignite_kafka.runs import readings as run_readings
from airflow_provider_ignite_kafka.runs.readings import earlier_run, read_lag
from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.admin import backlog, lag
from ignite_kafka.errors import IgniteUnreachable, KafkaUnavailable
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import FAILED, CacheStatus, RunStatus

RUN = RunStatus(FAILED, "c", "r", "s", started_ms=2, caches={"air": CacheStatus("t-air"), "b": CacheStatus("t-air")})
SINK, STREAM = SinkSettings(name="c", topics=("t-air",)), SourceSettings(name="c", failover_policy="BACKLOG")


def request(settings: ConnectorSettings) -> Request:
    return Request(settings, "r", None, Secrets())


def test_lag_of_a_sink_is_by_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "sink_lag", lambda _topics, group, names: {f"{group} {name}": 3 for name in names})
    assert read_lag(request(SINK), RUN) == {"connect-c t-air": 3}


def test_lag_of_a_stream_is_that_of_its_backlog_and_other_sources_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def status(settings: ConnectorSettings, _secrets: Secrets) -> str:
        asked.append(settings.ignite_connect_timeout_ms)
        return "view"

    monkeypatch.setattr(backlog, "status", status)
    monkeypatch.setattr(lag, "source_lag", lambda view: {view: 2})
    assert read_lag(request(STREAM), RUN) == {"view": 2}
    assert read_lag(request(SourceSettings(name="c")), RUN) == {}
    assert asked == [5_000]


def test_clusters_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> Any:
        raise KafkaUnavailable("away")

    def gone(*_: Any) -> Any:
        raise IgniteUnreachable("gone")

    monkeypatch.setattr(lag, "sink_lag", away)
    monkeypatch.setattr(backlog, "status", gone)
    monkeypatch.setattr(run_readings, "read_runs", away)
    assert read_lag(request(SINK), RUN) == read_lag(request(STREAM), RUN) == {}
    assert earlier_run(request(STREAM), RUN) is None


def test_earlier_run_is_read_for_snapshots_only(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = RunStatus(FAILED, "c", "r0", "s", started_ms=1)
    monkeypatch.setattr(run_readings, "read_runs", lambda *_: {"r0": earlier, "r": RUN})
    assert earlier_run(request(STREAM), RUN) == earlier
    monkeypatch.setattr(run_readings, "read_runs", lambda *_: 1 / 0)
    assert earlier_run(request(STREAM), RunStatus(FAILED, "c", "r")) is None
