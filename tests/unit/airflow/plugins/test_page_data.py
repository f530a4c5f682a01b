"""What the page reads of a cluster, and what is shown of one that does not answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_ignite_kafka.plugins import page_data
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReader, ClusterReading
from ignite_kafka.admin.overview import ConnectorOverview
from ignite_kafka.errors import BacklogMissing, BacklogRefused, IgniteKafkaError, IgniteUnreachable, KafkaUnavailable, SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import RUNNING, CacheStatus, RunStatus
from tests.support.waiting import REQUEST_S
from tests.unit.airflow.bench import CONFIG

CLUSTER = MonitoredCluster("kafka_default", "copies", "ignite_default")


def connector(name: str, **settings: Any) -> ConnectorOverview:
    run = RunStatus(RUNNING, name, "r", generation=1, caches={"air": CacheStatus(f"{name}-air")})
    return ConnectorOverview(name, ConnectorState(ConnectorRecord(1, 2, run_id="r", settings=settings)), {"r": run})


def read_cluster(cluster: MonitoredCluster) -> ClusterReading:
    """Read all lags, however long it takes."""
    return ClusterReader(wait_s=REQUEST_S).read(cluster)


STREAM, SNAPSHOT, SINK = {"failover_policy": "BACKLOG"}, {"run_mode": "once"}, {"topics": ["t"]}


@pytest.fixture(autouse=True)
def kafka(connect: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, ConnectorOverview]:
    """A Kafka that answers, and its connectors by name."""
    found: dict[str, ConnectorOverview] = {}
    connect("kafka_default", conn_type="kafka", extra=CONFIG)
    connect("ignite_default", conn_type="ignite", host="node")
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    monkeypatch.setattr(page_data, "OverviewReader", lambda prefix: SimpleNamespace(read=lambda *_: found if prefix == "copies" else {}))
    monkeypatch.setattr(page_data, "sink_lag", lambda _topics, group, topics: {f"{group} {topic}": 3 for topic in topics})
    monkeypatch.setattr(page_data, "source_lag", lambda settings, _secrets: {settings.name: 5})
    return found


def test_lags_are_those_of_sinks_and_of_sources_with_a_backlog(kafka: dict[str, ConnectorOverview]) -> None:
    kafka |= {"sink": connector("sink", **SINK), "stream": connector("stream", **STREAM), "nightly": connector("nightly", **SNAPSHOT)}
    found = read_cluster(CLUSTER)
    assert (found.error, found.connectors) == (None, kafka)
    assert found.lags == {"sink": {"connect-sink sink-air": 3}, "stream": {"stream": 5}}
    assert found.lag_errors == {}


def test_a_stream_that_needs_no_backlog_service_has_no_error_without_it(
    kafka: dict[str, ConnectorOverview], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = BacklogMissing("no node has the service")

    def status(settings: Any, _secrets: Any) -> Any:
        raise error

    monkeypatch.setattr(page_data, "source_lag", status)
    kafka |= {"a": connector("a", run_mode="continuous", failover_policy="NONE"), "b": connector("b", **STREAM)}
    found = read_cluster(CLUSTER)
    assert (found.lags, found.lag_errors) == ({}, {"b": error})


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (IgniteUnreachable("no node answered"), ["a"]),  # it would not answer for the next one either
        (BacklogRefused("no capture"), ["a", "b"]),
    ],
)
def test_a_lag_that_cannot_be_read_is_an_error_of_its_connector(
    kafka: dict[str, ConnectorOverview], monkeypatch: pytest.MonkeyPatch, error: IgniteKafkaError, asked: list[str]
) -> None:
    seen: list[str] = []

    def status(settings: Any, _secrets: Any) -> Any:
        seen.append(settings.name)
        raise error

    monkeypatch.setattr(page_data, "source_lag", status)
    kafka |= {"a": connector("a", **STREAM), "b": connector("b", **STREAM), "sink": connector("sink", **SINK)}
    found = read_cluster(CLUSTER)
    assert (found.error, found.lag_errors, seen) == (None, {"a": error, "b": error}, asked)
    assert found.lags == {"sink": {"connect-sink sink-air": 3}}


def test_without_a_connection_of_ignite_the_lag_of_a_stream_says_so(kafka: dict[str, ConnectorOverview]) -> None:
    kafka["stream"] = connector("stream", **STREAM)
    found = read_cluster(MonitoredCluster("kafka_default", "copies"))
    assert isinstance(found.lag_errors["stream"], SettingsError)
    assert set(found.connectors) == {"stream"}


def test_a_kafka_that_does_not_answer_is_the_cluster_s_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise KafkaUnavailable("no broker answers")

    monkeypatch.setattr(KafkaClients, "check", away)
    assert isinstance(read_cluster(CLUSTER).error, KafkaUnavailable)


def test_a_connection_that_is_missing_says_where_to_make_it() -> None:
    error = read_cluster(MonitoredCluster("nowhere")).error
    assert isinstance(error, SettingsError)
    assert "nowhere" in str(error)
    assert "Admin > Connections" in error.remedy
