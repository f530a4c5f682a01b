"""The page without servers: login, rights, forms of other sites, what is escaped and masked, errors as pages."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from airflow.api_fastapi.app import create_auth_manager, purge_cached_app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.common.db.common import _get_session
from airflow.api_fastapi.core_api.security import get_user
from airflow.sdk.log import mask_secret
from fastapi.testclient import TestClient

from airflow_provider_ignite_kafka.plugins import actions
from airflow_provider_ignite_kafka.plugins.access import read_message, sign_message
from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails
from airflow_provider_ignite_kafka.plugins.monitored import monitored_clusters
from airflow_provider_ignite_kafka.plugins.page import create_page
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReading
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from ignite_kafka.admin.overview import ConnectorOverview, Report
from ignite_kafka.errors import BacklogRefused, CacheDestroyed, KafkaUnavailable
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import CacheStatus, RunStatus, now_ms
from tests.support.airflow_versions import AUDITED_USER

NEVER_COMPARED = ConnectorComparisons("c", ())
PATH = "/connections/kafka_default/connectors/c"
TASK_RUN = "nightly/copy/manual__1/0f8fad5b-d9cb-469f-a165-70867728950e"


@dataclass
class Page:
    """The application with a user, the connectors that it shows, and what it did."""

    client: TestClient
    user: SimpleAuthManagerUser
    readings: list[ClusterReading] = field(default_factory=list)
    logged: list[Any] = field(default_factory=list)
    done: list[tuple[Any, ...]] = field(default_factory=list)
    details: Callable[[], ConnectorDetails] = lambda: ConnectorDetails(NEVER_COMPARED)

    def get(self, path: str = f"{PATH}?prefix=ignite-kafka") -> str:
        reply = self.client.get(path)
        assert reply.status_code == 200, reply.text
        return reply.text

    def token(self) -> str:
        found = re.search(r'name="token" value="([^"]+)"', self.get())
        assert found
        return found[1]

    def post(self, action: str, headers: dict[str, str] | None = None, prefix: str = "ignite-kafka", **form: str) -> Any:
        sent = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return self.client.post(f"{PATH}/{action}?prefix={prefix}", content=urlencode(form), headers=sent, follow_redirects=False)


def connector(state: str = "RUNNING", error: Any = None, *, cache: str = "people", **settings: Any) -> ConnectorOverview:
    caches = {cache: CacheStatus(f"t-{cache}", 5, 1_234, 4_096, 8, 2, 1.0, 3)}
    ended = None if state in ("RUNNING", "PAUSED") else now_ms()
    run = RunStatus(state, "c", TASK_RUN, "s", 1, "w", now_ms() - 5_000, ended, caches, error)
    record = ConnectorRecord(1, 2, "", "RUNNING", TASK_RUN, settings)
    return ConnectorOverview("c", ConnectorState(record), {TASK_RUN: run}, (Report(now_ms(), run),))


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    monkeypatch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager")
    monkeypatch.setenv("AIRFLOW__API__SECRET_KEY", "a secret key of the test")
    create_auth_manager()
    app = create_page(lambda cluster, name: found.readings[-1], lambda _cluster, _connector: found.details())
    found = Page(TestClient(app), SimpleAuthManagerUser(username="olga", role="OP"))
    app.dependency_overrides[get_user] = lambda: found.user
    app.dependency_overrides[_get_session] = lambda: SimpleNamespace(add=found.logged.append, commit=lambda: None)

    def pause(*about: Any) -> str:
        cluster, name, _ = about
        found.done.append((cluster.key, name))
        return "c is <paused>"

    monkeypatch.setitem(actions.ACTIONS, "pause", actions.Action(pause))
    show(found, connector())
    yield found
    purge_cached_app()


def show(page: Page, shown: ConnectorOverview, **more: Any) -> None:
    [cluster] = monitored_clusters()
    page.readings.append(ClusterReading(cluster, {"c": shown}, **more))
    page.client.app.state.background.forget()  # type: ignore[attr-defined]


def test_without_login_there_is_a_link_to_it(page: Page) -> None:
    del page.client.app.dependency_overrides[get_user]  # type: ignore[attr-defined]
    for reply in (page.client.get("/"), page.client.get(f"{PATH}?prefix=ignite-kafka"), page.post("pause", token="x")):
        assert reply.status_code == 401
        assert "Log in to Airflow" in reply.text
        assert "people" not in reply.text


def test_a_viewer_sees_and_cannot_act(page: Page) -> None:
    token = page.token()
    page.user = SimpleAuthManagerUser(username="victor", role="VIEWER")
    shown = page.get()
    assert "people" in shown
    assert "<form" not in shown
    assert "Actions need the right to edit connection" in shown
    refused = page.post("pause", token=token)
    assert (refused.status_code, page.done) == (403, [])
    assert "right to edit the Kafka connection" in refused.text


@AUDITED_USER
def test_an_action_is_done_and_told_and_logged_with_its_user(page: Page) -> None:
    reply = page.post("pause", token=page.token())
    assert reply.status_code == 303
    assert page.done == [(("kafka_default", "ignite-kafka"), "c")]
    assert "c is &lt;paused&gt;" in page.get(reply.headers["location"])
    [entry] = page.logged
    assert (entry.event, entry.owner) == ("ignite_kafka_connector_action", "olga")
    assert json.loads(entry.extra) == {
        "prefix": "ignite-kafka", "connection_id": "kafka_default", "name": "c", "action": "pause", "method": "POST"
    }  # fmt: skip


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": "https://other.testserver"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_form_of_another_site_does_nothing(page: Page, headers: dict[str, str]) -> None:
    reply = page.post("pause", headers, token=page.token())
    assert (reply.status_code, page.done) == (403, [])
    assert "was not sent by this page" in reply.text


@pytest.mark.parametrize("token", ["", "olga", "b2xnYQ.aaa.bbb"])
def test_a_form_without_a_valid_token_does_nothing(page: Page, token: str) -> None:
    assert page.post("pause", token=token).status_code == 403
    assert page.done == []


def test_a_token_of_another_user_does_nothing(page: Page) -> None:
    token = page.token()
    page.user = SimpleAuthManagerUser(username="otto", role="OP")
    assert page.post("pause", token=token).status_code == 403
    assert page.done == []


def test_a_link_puts_no_text_of_its_own_on_the_page(page: Page) -> None:
    assert "call me" not in page.get(f"{PATH}?prefix=ignite-kafka&message=call+me")


def test_a_message_is_shown_to_its_user_on_its_connector_s_page_only(page: Page) -> None:
    location = page.post("pause", token=page.token()).headers["location"]
    assert "c is &lt;paused&gt;" in page.get(location)
    page.user = SimpleAuthManagerUser(username="otto", role="OP")
    assert "c is &lt;paused&gt;" not in page.get(location)
    key = ("kafka_default", "ignite-kafka")
    signed = sign_message("done", "olga", (*key, "other"))
    assert read_message(signed, "olga", (*key, "other")) == "done"
    assert read_message(signed, "olga", (*key, "c")) is None


@pytest.mark.parametrize(("kind", "status", "most"), [("application/x-www-form-urlencoded", 413, 1), ("application/json", 415, 0)])
def test_no_more_of_a_body_is_read_than_a_form_has(page: Page, kind: str, status: int, most: int) -> None:
    """A server that hands over a body in parts has been asked for no part after the one that is too much."""
    scope = {
        "type": "http", "method": "POST", "path": f"{PATH}/pause", "raw_path": b"", "root_path": "", "scheme": "http",
        "query_string": b"prefix=ignite-kafka", "headers": [(b"content-type", kind.encode())], "server": ("testserver", 80),
    }  # fmt: skip
    asked, sent = [], []

    async def receive() -> dict[str, Any]:
        asked.append(1)
        return {"type": "http.request", "body": b"x" * 20_000, "more_body": len(asked) < 50}

    async def send(message: Any) -> None:
        sent.append(message)

    async def call() -> None:
        await page.client.app(scope, receive, send)

    asyncio.run(call())
    assert sent[0]["status"] == status
    assert len(asked) == most


def test_clusters_that_are_not_configured_cannot_be_reached(page: Page) -> None:
    for path in ("/connections/other/connectors/c?prefix=ignite-kafka", f"{PATH}?prefix=other"):
        reply = page.client.get(path)
        assert reply.status_code == 404
        assert "is not in option monitored_clusters" in reply.text
    assert page.client.get("/connections/kafka_default/connectors/d?prefix=ignite-kafka").status_code == 404
    assert page.post("pause", prefix="other", token=page.token()).status_code == 404
    assert page.post("explode", token=page.token()).status_code == 404


def test_texts_from_kafka_are_escaped_and_secrets_of_connections_masked(page: Page) -> None:
    mask_secret("hunter2-secret")
    error = CacheDestroyed("<script>alert(1)</script> with hunter2-secret", "Ask <b>Bob</b>").to_dict()
    show(page, connector("FAILED", error, cache='"><img src=x>'))
    for text in (page.get(), page.get("/")):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "hunter2-secret" not in text
        assert "Ask &lt;b&gt;Bob&lt;/b&gt;" in text


def test_numbers_errors_and_the_task_of_a_run_are_shown(page: Page) -> None:
    error = CacheDestroyed("the cache is gone", "Start again").to_dict()
    show(page, connector("FAILED", error))
    text = page.get()
    for expected in ("Ignite to Kafka", "1,234", "4.0 KiB", "the cache is gone", "Start again", "15102 #"):
        assert expected in text
    assert 'href="/dags/nightly/runs/manual__1/tasks/copy"' in text


def test_a_lag_that_cannot_be_read_hides_nothing_else(page: Page) -> None:
    show(page, connector(failover_policy="BACKLOG"), lag_errors={"c": BacklogRefused("there is no capture", "Start it")})
    assert "there is no capture" in page.get()
    assert "1,234" in page.get()


def test_a_kafka_that_is_away_is_told_on_the_page(page: Page) -> None:
    page.readings.append(ClusterReading(page.readings[-1].cluster, error=KafkaUnavailable("no broker answers", "Check the brokers.")))
    page.client.app.state.background.forget()  # type: ignore[attr-defined]
    for text in (page.get("/"), page.get()):
        assert "no broker answers" in text
        assert "Check the brokers." in text


def test_an_action_that_is_refused_shows_why_with_the_connector(page: Page) -> None:
    reply = page.post("stop", token=page.token(), typed_name="d")
    assert reply.status_code == 409
    assert "the typed name is not the connector&#39;s name" in reply.text
    assert "1,234" in reply.text


def test_a_wrong_option_is_told_with_its_remedy(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__MONITORED_CLUSTERS", "{}")
    client = TestClient(page.client.app, raise_server_exceptions=False)
    reply = client.get("/")
    assert reply.status_code == 500
    assert "is no JSON list of objects" in reply.text


def test_no_other_site_may_frame_the_page_and_no_browser_keeps_it(page: Page) -> None:
    headers = page.client.get("/").headers
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert "script-src 'self'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


def test_a_sink_offers_places_in_its_topics_and_sends_nothing_again(page: Page) -> None:
    show(page, connector("COMPLETED", topics=["t-people"], process_updates=True))
    shown = page.get()
    assert "Delivery is converging: a put of a task that was superseded may come late" in shown
    assert '<option value="t-people">' in shown
    assert 'name="to" required' in shown
    assert 'data-action="reset"' in shown
    assert 'data-action="resend"' not in shown


class _Named:
    def __init__(self, *roles: str) -> None:
        self.roles = [SimpleNamespace(name=role) for role in roles]  # as FAB's auth manager has them

    def get_id(self) -> str:
        return "nora"

    get_name = get_id


@pytest.mark.parametrize(
    ("user", "status"),
    [
        (SimpleAuthManagerUser(username="olga", role="OP"), 200),
        (SimpleAuthManagerUser(username="olga", role="op"), 200),
        (SimpleAuthManagerUser(username="victor", role="VIEWER"), 403),
        (SimpleAuthManagerUser(username="nobody", role=None), 403),
        (_Named("Public", "Copies"), 200),
        (_Named("Public"), 403),
    ],
)
def test_only_the_roles_of_the_option_see_the_page(page: Page, monkeypatch: pytest.MonkeyPatch, user: Any, status: int) -> None:
    token = page.token()
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__PAGE_ROLES", '["Op", "Copies"]')
    monkeypatch.setattr("airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager.is_authorized_view", _anybody)
    monkeypatch.setattr("airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager.is_authorized_connection", _anybody)
    page.user = user
    replies = [page.client.get("/"), page.client.get(f"{PATH}?prefix=ignite-kafka"), page.post("pause", token=token)]
    assert [reply.status_code for reply in replies[:2]] == [status, status]
    if status != 200:
        assert page.done == []
        for reply in replies:
            assert reply.status_code == 403
            assert "option page_roles of section [ignite_kafka]" in reply.text
            assert "people" not in reply.text


def _anybody(*_: Any, **__: Any) -> bool:
    return True


@pytest.mark.parametrize("option", ["Op", '"Op"', "[1]", '{"Op": 1}', '[""]'])
def test_a_wrong_list_of_roles_shows_nobody_the_page(page: Page, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__PAGE_ROLES", option)
    reply = page.client.get("/")
    assert reply.status_code == 500
    assert "option page_roles of section [ignite_kafka] is no JSON list of roles" in reply.text
    assert "people" not in reply.text


def test_error_texts_of_a_connector_that_logs_no_values_are_hidden(page: Page) -> None:
    where = {"cache": "people", "partition": 3, "key": "anna@example.org", "reason": "anna@example.org"}
    error = CacheDestroyed("anna@example.org is no number", "Start again", **where).to_dict()
    show(page, connector("FAILED", error))
    assert page.get().count("anna@example.org") > 1
    show(page, connector("FAILED", error, log_values=False))
    for shown in (page.get(), page.get("/")):
        assert "anna" not in shown
        assert "the text is hidden: log_values is false" in shown
        assert "CacheDestroyed" in shown
        assert "Start again" in shown
    assert "partition 3" in page.get()
