"""Pages of connectors whose records another program wrote: no record makes a page fail, and none hides another connector."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.api_fastapi.app import create_auth_manager, purge_cached_app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.core_api.security import get_user
from fastapi.testclient import TestClient

from airflow_provider_ignite_kafka.plugins import html, page_data, views
from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster, monitored_clusters
from airflow_provider_ignite_kafka.plugins.page import create_page
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReading
from ignite_kafka.admin import overview
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from ignite_kafka.admin.overview import ConnectorOverview
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import CacheStatus, RunStatus, now_ms
from tests.support.fake_messages import FakeMessage
from tests.support.hostile_records import ILL_TYPED, KEYS, ODD, STATUS, VALUES, encoded
from tests.support.internal_topics import FakeTopics
from tests.support.waiting import REQUEST_S
from tests.unit.airflow.bench import CONFIG

PREFIX = "ignite-kafka"
GOOD = RunStatus("RUNNING", "good", "r", generation=1, started_ms=5, caches={"people": CacheStatus("t", 5, 1_234)})


class Timed(FakeMessage):
    def __init__(self, key: bytes, value: bytes | None, at_ms: int = 0) -> None:
        super().__init__(key, value)
        self._at_ms = at_ms or now_ms()

    def timestamp(self) -> tuple[int, int]:
        return 1, self._at_ms


def connectors(monkeypatch: pytest.MonkeyPatch, *hostile: Timed) -> dict[str, ConnectorOverview]:
    """The connectors of a cluster with a good one and these records in both topics."""
    taken = Timed(b'["connector","good"]', encoded({"generation": 1, "slots": 2, "run_id": "r"}))
    records = {f"{PREFIX}-configs": [*hostile, taken], f"{PREFIX}-status": [*hostile, Timed(b'["run","good","r"]', GOOD.to_json())]}
    fake = FakeTopics(records)
    monkeypatch.setattr(overview, "read_to", fake.read_to)
    return overview.OverviewReader(PREFIX).read(KafkaClients({}), fake.topics)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager")
    monkeypatch.setenv("AIRFLOW__API__SECRET_KEY", "a secret key of the test")
    create_auth_manager()

    def make(read: Callable[[MonitoredCluster, str | None], ClusterReading]) -> TestClient:
        app = create_page(read, lambda _cluster, connector: ConnectorDetails(ConnectorComparisons(connector.name, ())))
        app.dependency_overrides[get_user] = lambda: SimpleAuthManagerUser(username="olga", role="OP")
        return TestClient(app)

    yield make
    purge_cached_app()


def shown(client: Any, found: dict[str, ConnectorOverview], *names: str) -> list[str]:
    """The list, and the pages of connectors."""
    pages = client(lambda cluster, _name: ClusterReading(cluster, found))
    [cluster] = monitored_clusters()
    paths = ["/", *(f"{html.connector_path(cluster, name)}?prefix={PREFIX}" for name in names)]
    replies = [pages.get(path) for path in paths]
    assert [reply.status_code for reply in replies] == [200] * len(paths)
    return [reply.text for reply in replies]


@pytest.mark.parametrize("key", KEYS[:-1])
def test_a_key_of_another_program(client: Any, monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    found = connectors(monkeypatch, Timed(key, encoded(STATUS)))
    assert "1,234" in shown(client, found, *found)[0]


@pytest.mark.parametrize("value", [*VALUES[:5], *map(encoded, ILL_TYPED), encoded(ODD)])
def test_a_value_of_another_program(client: Any, monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    keys = (b'["run","c","r"]', b'["run","\\ud800","r"]', b'["connector","c"]', b'["snapshot","c","s"]', b'["target","c"]')
    found = connectors(monkeypatch, *(Timed(key, value, 1 << 62) for key in keys))
    first, *_ = shown(client, found, *found)
    assert "1,234" in first
    assert "javascript:" not in first


def broken(name: str = "bad") -> ConnectorOverview:
    """A connector whose status has a type that no reader lets pass."""
    run = RunStatus("RUNNING", name, "r", generation=1, caches={"a": CacheStatus("t", records=cast(int, "x"))})
    return ConnectorOverview(name, ConnectorState(ConnectorRecord(1, run_id="r")), {"r": run})


def test_an_unexpected_error_of_one_connector_hides_no_other(client: Any) -> None:
    good = ConnectorOverview("good", ConnectorState(ConnectorRecord(1, run_id="r")), {"r": GOOD})
    everything, bad = shown(client, {"bad": broken(), "good": good}, "bad")
    assert "1,234" in everything
    assert "an internal error: TypeError" in everything
    assert "an internal error: TypeError" in bad


def test_an_unexpected_error_of_a_template_hides_no_other(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    good = ConnectorOverview("good", ConnectorState(ConnectorRecord(1, run_id="r")), {"r": GOOD})
    bad = ConnectorOverview("bad", good.state, good.runs)

    def row(one: ClusterReading, connector: ConnectorOverview, made: Any = views._row) -> Any:
        result = made(one, connector)
        if connector.name == "bad":
            object.__setattr__(result, "records", "no number")
        return result

    monkeypatch.setattr(views, "_row", row)
    [everything] = shown(client, {"bad": bad, "good": good})
    assert "1,234" in everything
    assert "an internal error: TypeError" in everything
    assert "state-unreadable" in everything


def test_an_unexpected_error_of_a_cluster_is_shown_on_its_pages(client: Any) -> None:
    def read(_: MonitoredCluster, _name: str | None) -> ClusterReading:
        raise OverflowError("timestamp")

    pages = client(read)
    for path in ("/", f"/connections/kafka_default/connectors/c?prefix={PREFIX}"):
        reply = pages.get(path)
        assert reply.status_code == 200
        assert "an internal error: OverflowError" in reply.text
        assert "timestamp" not in reply.text


def test_an_unexpected_error_of_a_lag_is_that_of_its_connector(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("kafka_default", conn_type="kafka", extra=CONFIG)
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    sinks = {
        name: ConnectorOverview(name, ConnectorState(ConnectorRecord(1, run_id="r", settings={"topics": ["t"], "consumer_group": group})))
        for name, group in (("bad", "of bad"), ("good", ["no text"]))
    }
    monkeypatch.setattr(page_data, "OverviewReader", lambda _prefix: SimpleNamespace(read=lambda *_: sinks))

    def lag(_topics: Any, group: str, _names: Any) -> dict[str, int]:
        if group == "of bad":
            raise TypeError("no topic")
        return {group: 3}

    monkeypatch.setattr(page_data, "sink_lag", lag)
    found = page_data.ClusterReader(wait_s=REQUEST_S).read(MonitoredCluster("kafka_default"))
    assert found.lags == {"good": {"connect-good": 3}}
    assert "TypeError" in str(found.lag_errors["bad"])
