"""The REST interface in Airflow's API server, without servers: login, rights, the token by header, and clusters by their paths."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from airflow.api_fastapi.app import create_auth_manager, purge_cached_app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.core_api.security import get_user
from fastapi.testclient import TestClient

from airflow_provider_ignite_kafka.plugins import rest as module
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.rest import Services, create_rest
from ignite_kafka.admin.connectors import DeletedConnector
from ignite_kafka.connect_rest import late_deletions
from ignite_kafka.connect_rest.background import Background
from ignite_kafka.connect_rest.bodies import NewConnector
from ignite_kafka.connect_rest.late_deletions import LateDeletions
from ignite_kafka.connect_rest.service import ConnectService, SharedState
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from tests.support.waiting import wait_until
from tests.unit.airflow.plugins.test_page import connector
from tests.unit.connect_rest.simulated_service import simulated_service
from tests.unit.connect_rest.test_configuration import SOURCE

ROOT = "/kafka_default/ignite-kafka"
TOKEN = {"Authorization": "Bearer token"}


@dataclass
class Rest:
    client: TestClient
    user: SimpleAuthManagerUser
    connectors: dict[str, Any]
    services: Services

    def call(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        reply = self.client.request(method, f"{ROOT}{path}", json=body, headers=headers or {})
        return reply.status_code, reply.json() if reply.content else None


@pytest.fixture
def rest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rest]:
    monkeypatch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager")
    create_auth_manager()
    deletions = LateDeletions()
    service, connectors, _ = simulated_service(monkeypatch, SharedState(deletions=deletions))
    monkeypatch.setattr(late_deletions, "_POLL_S", 0.01)
    monkeypatch.setattr(late_deletions, "finish_deletion", lambda settings, _: DeletedConnector(settings.name, ended=True))

    class Simulated(Services):
        def open(self, cluster: MonitoredCluster) -> ConnectService:
            return service

    app = create_rest(Background(), Simulated())
    made = Rest(TestClient(app), SimpleAuthManagerUser(username="olga", role="OP"), connectors, app.state.services)
    app.dependency_overrides[get_user] = lambda: made.user
    yield made
    wait_until(lambda: deletions._thread is None, "the end of the thread of deletions")
    purge_cached_app()


def test_a_connector_is_declared_controlled_and_deleted_by_a_token(rest: Rest) -> None:
    created = rest.client.post(f"{ROOT}/connectors", json={"name": "c", "config": SOURCE}, headers=TOKEN)
    assert (created.status_code, created.headers["location"]) == (201, f"http://testserver{ROOT}/connectors/c")
    assert rest.call("GET", "")[1]["version"].startswith("4.3")
    assert rest.call("GET", "/connectors") == (200, ["c"])
    assert rest.call("PUT", "/connectors/c/pause", headers=TOKEN) == (202, None)
    assert rest.call("GET", "/connectors/c/status")[1]["connector"]["state"] == "PAUSED"
    assert rest.call("DELETE", "/connectors/c", headers=TOKEN) == (204, None)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic b2xnYTp4"}, {"Cookie": "_token=x"}])
def test_the_login_of_a_browser_changes_nothing(rest: Rest, headers: dict[str, str]) -> None:
    rest.connectors["c"] = connector()
    for method, path in (("DELETE", "/connectors/c"), ("PUT", "/connectors/c/pause"), ("POST", "/connectors/c/restart")):
        status, body = rest.call(method, path, headers=headers)
        assert (status, body["error_code"], "API token" in body["message"]) == (403, 403, True)
    assert rest.connectors["c"].target is None


def test_a_viewer_reads_and_changes_nothing(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__PAGE_ROLES", '["Viewer", "Op"]')
    rest.connectors["c"] = connector()
    rest.user = SimpleAuthManagerUser(username="victor", role="VIEWER")
    assert rest.call("GET", "/connectors") == (200, ["c"])
    status, body = rest.call("DELETE", "/connectors/c", headers=TOKEN)
    assert (status, "right to edit" in body["message"]) == (403, True)
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__PAGE_ROLES", '["Op"]')
    assert rest.call("GET", "/connectors")[0] == 403


def test_without_a_login_nothing_is_told(rest: Rest) -> None:
    del rest.client.app.dependency_overrides[get_user]  # type: ignore[attr-defined]
    status, body = rest.call("GET", "/connectors")
    assert (status, body["error_code"]) == (401, 401)


@pytest.mark.parametrize("root", ["/other/ignite-kafka", "/kafka_default/other"])
def test_only_monitored_clusters_are_reached(rest: Rest, root: str) -> None:
    reply = rest.client.get(f"{root}/connectors")
    assert (reply.status_code, reply.json()["error_code"]) == (404, 404)


def test_a_connection_that_cannot_be_used_is_told(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(cluster: MonitoredCluster) -> ConnectService:
        raise SettingsError("the connection does not exist")

    monkeypatch.setattr(rest.services, "open", fail)
    assert rest.call("GET", "/connectors") == (500, {"error_code": 500, "message": "the connection does not exist"})


@pytest.mark.parametrize(("option", "value"), [("MONITORED_CLUSTERS", "{"), ("PAGE_ROLES", "Op")])
def test_a_wrong_option_is_told(rest: Rest, monkeypatch: pytest.MonkeyPatch, option: str, value: str) -> None:
    monkeypatch.setenv(f"AIRFLOW__IGNITE_KAFKA__{option}", value)
    status, body = rest.call("GET", "/connectors")
    assert (status, f"option {option.lower()}" in body["message"]) == (500, True)


def test_a_service_is_kept_for_a_minute_and_its_lock_and_deletions_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[SharedState] = []

    def make(_: MonitoredCluster, shared: SharedState) -> object:
        made.append(shared)
        return object()

    monkeypatch.setattr(module, "_make_service", make)
    services, cluster = Services(), MonitoredCluster("k")
    assert services.open(cluster) is services.open(cluster)
    monkeypatch.setattr(module, "_KEPT_S", -1.0)
    services.open(cluster)
    services.open(MonitoredCluster("other"))
    assert len(made) == 3
    assert made[0] is made[1]
    assert made[0].writes is not made[2].writes


def test_changes_by_an_old_and_a_new_service_of_a_cluster_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(_: MonitoredCluster, shared: SharedState) -> ConnectService:
        return simulated_service(monkeypatch, shared)[0]

    monkeypatch.setattr(module, "_make_service", make)
    monkeypatch.setattr(module, "_KEPT_S", -1.0)
    services = Services()
    old = services.open(MonitoredCluster("k"))
    writes, released = threading.Event(), threading.Event()

    def read() -> dict[str, Any]:
        writes.set()
        released.wait(120)
        return {}

    monkeypatch.setattr(old.reader, "read", read)
    creation = threading.Thread(target=old.create, args=(NewConnector("c", SOURCE),), daemon=True)
    creation.start()
    assert writes.wait(120)
    entered = services.open(MonitoredCluster("k"))._shared.writes.acquire(blocking=False)
    released.set()
    creation.join()
    assert not entered, "both would read that there is no connector c, and write one"


def test_deletions_of_runs_that_do_not_end_hold_nothing_up(monkeypatch: pytest.MonkeyPatch, rest: Rest) -> None:
    released, tried = threading.Event(), list[str]()

    def finish(settings: ConnectorSettings, _: object) -> DeletedConnector:
        tried.append(settings.name)
        return DeletedConnector(settings.name, released.wait(120))

    monkeypatch.setattr(late_deletions, "finish_deletion", finish)
    for number in range(9):
        rest.connectors[f"c{number}"] = connector()
        assert rest.call("DELETE", f"/connectors/c{number}", headers=TOKEN)[0] == 204
    assert rest.call("GET", "/connectors") == (200, [])
    wait_until(lambda: tried, "the thread of deletions")
    assert tried == ["c0"], "all threads of requests are free"
    released.set()
    wait_until(lambda: len(tried) == 9, "all deletions")
