"""Requests and answers of the interface, on connectors in memory; a test on servers compares them with Kafka Connect's."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.admin.signals import RequestedSignals, SignalList
from ignite_kafka.connect_rest import service as services
from ignite_kafka.connect_rest.late_deletions import LateDeletions
from ignite_kafka.connect_rest.messages import Answer, Request
from ignite_kafka.connect_rest.routes import ROUTES, dispatch, is_change
from ignite_kafka.connect_rest.service import SharedState
from ignite_kafka.errors import Fenced, IgniteKafkaError, KafkaUnavailable, NotStopped, OffsetsLost, SettingsError
from tests.unit.admin.test_connect_states import connector
from tests.unit.connect_rest.simulated_service import simulated_service
from tests.unit.connect_rest.test_configuration import SINK, SOURCE


class Server:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.service, self.connectors, self.calls = simulated_service(monkeypatch)

    def __call__(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        sent = Request(method, path, {name: [value] for name, value in query.items()}, "application/json", data, "http://host/root")
        return dispatch(self.service, sent)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


def test_a_connector_from_its_creation_to_its_deletion(server: Server) -> None:
    created = server("POST", "/connectors", {"name": "c", "config": SOURCE})
    assert (created.status, created.headers["Location"]) == (201, "http://host/root/connectors/c")
    assert created.body == {"name": "c", "config": SOURCE, "tasks": [], "type": "source"}
    assert server("GET", "/connectors/c").body == created.body
    assert server("GET", "/connectors").body == ["c"]
    assert server("POST", "/connectors", {"name": "c", "config": SOURCE}).status == 409
    assert server("PUT", "/connectors/c/stop") == Answer(204)
    assert server("GET", "/connectors/c/status").body["connector"]["state"] == "STOPPED"
    assert server("PUT", "/connectors/c/pause") == Answer(202)
    assert server("PUT", "/connectors/c/resume") == Answer(202)
    assert server("DELETE", "/connectors/c") == Answer(204)
    assert server("GET", "/connectors/c").status == 404


def test_what_get_returns_can_be_put_again(server: Server) -> None:
    server.connectors["c"] = connector("RUNNING")
    info, config = server("GET", "/connectors/c").body, server("GET", "/connectors/c/config").body
    assert config == {
        "connector.class": "org.gridgain.kafka.source.IgniteSourceConnector", "cache_whitelist": "a", "tasks_max": "3", "name": "c",
    }  # fmt: skip
    assert [server("PUT", "/connectors/c/config", body).status for body in (config, info)] == [200, 200]
    assert server("GET", "/connectors/c/config").body == config


def test_put_creates_and_patch_changes(server: Server) -> None:
    assert server("PUT", "/connectors/s/config", {**SINK, "name": "s"}).status == 201
    assert server("PATCH", "/connectors/s/config", {"tasks.max": 2, "topics": "u"}).body["config"]["topics"] == "u"
    patched = server("PATCH", "/connectors/s/config", {"tasks.max": None})
    assert patched.body["config"] == {**SINK, "name": "s", "topics": "u"}
    refused = server("PATCH", "/connectors/s/config", {"topics": None})
    assert refused.status == 400
    assert server("GET", "/connectors/s/config").body["topics"] == "u"


def test_secrets_are_refused_and_never_shown(server: Server) -> None:
    refused = server("POST", "/connectors", {"name": "c", "config": {**SOURCE, "sasl.password": "hunter2"}})
    assert refused.status == 400
    assert "hunter2" not in json.dumps(refused.body)
    assert server("GET", "/connectors").body == []


def test_restarts_with_their_flags(server: Server) -> None:
    server.connectors["c"] = connector("FAILED", error=True)
    assert server("POST", "/connectors/c/restart") == Answer(204)
    restarted = server("POST", "/connectors/c/restart", includeTasks="TRUE", onlyFailed="true")
    assert (restarted.status, restarted.body["connector"]["state"]) == (202, "RESTARTING")
    assert {task["state"] for task in restarted.body["tasks"]} == {"RESTARTING"}
    assert server("POST", "/connectors/c/tasks/2/restart") == Answer(204)
    assert server.calls == [("restart", "c")] * 3
    server.connectors["c"] = connector("RUNNING")
    unchanged = server("POST", "/connectors/c/restart", onlyFailed="true")
    assert (unchanged.status, unchanged.body["connector"]["state"]) == (202, "RUNNING")
    for state in ("PAUSED", "STOPPED"):
        server.connectors["c"] = connector(state, state)
        assert server("POST", "/connectors/c/restart").status == 204
    server.connectors["c"] = connector("RUNNING", "STOPPED")
    ending = server("POST", "/connectors/c/restart", includeTasks="true")
    assert (ending.status, ending.body["connector"]["state"]) == (202, "RUNNING"), "its run ends, and none begins"
    assert len(server.calls) == 3, "a paused or stopped connector has nothing to restart"


def test_tasks_topics_and_what_is_expanded(server: Server) -> None:
    server.connectors["c"] = connector("RUNNING")
    assert [task["id"] for task in server("GET", "/connectors/c/tasks").body] == [{"connector": "c", "task": n} for n in range(3)]
    assert server("GET", "/connectors/c/tasks/2/status").body["state"] == "RUNNING"
    for task in ("3", "-1", "x", "9" * 5_000):
        assert server("GET", f"/connectors/c/tasks/{task}/status").status == 404
    assert server("GET", "/connectors/c/topics").body == {"c": {"topics": []}}
    assert server("GET", "/connectors", expand="status").body["c"].keys() == {"status"}


def test_a_failed_connector_tells_its_error(server: Server) -> None:
    server.connectors["c"] = connector("FAILED", error=True)
    status = server("GET", "/connectors/c/status").body
    assert status["connector"]["trace"] == status["tasks"][0]["trace"] == "CacheDestroyed: the cache is gone [cache a]"


def test_offsets_change_while_the_connector_is_stopped(server: Server) -> None:
    server.connectors["c"] = connector("RUNNING")
    for method, body in (("DELETE", None), ("PATCH", {"offsets": [{}]})):
        refused = server(method, "/connectors/c/offsets", body)
        assert (refused.status, "must be in the STOPPED state" in refused.body["message"]) == (400, True)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nowhere", 404), ("PUT", "/connectors", 405), ("OPTIONS", "/connectors", 200)]
)
def test_other_paths_and_methods(server: Server, method: str, path: str, status: int) -> None:
    assert server(method, path).status == status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SettingsError("wrong"), 400), (NotStopped("runs"), 400), (Fenced("newer"), 409), (KafkaUnavailable("silent"), 503),
        (OffsetsLost("lost"), 500),
    ],
)  # fmt: skip
def test_an_error_of_kafka_is_an_answer(server: Server, monkeypatch: pytest.MonkeyPatch, error: IgniteKafkaError, status: int) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(server.service.reader, "read", fail)
    assert server("GET", "/connectors").body == {"error_code": status, "message": str(error)}


def test_only_reads_change_nothing() -> None:
    assert {method for method, _ in ROUTES if is_change(method)} == {"POST", "PUT", "PATCH", "DELETE"}


def test_signals_are_passed_on_as_they_were_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, ...]] = []

    def request(settings: Any, _: object, value: bytes, origin: str) -> RequestedSignals:
        sent.append((settings.name, json.loads(value), origin))
        return RequestedSignals(settings.name, "snapshot", ("s",), run_ended=False)

    monkeypatch.setattr(services, "request_signal", request)
    monkeypatch.setattr(services, "list_signals", lambda settings, _: SignalList(settings.name, (), run_ended=True))
    server.connectors["c"] = connector("RUNNING")
    assert server("POST", "/connectors/c/signals", {"type": "execute-snapshot"}).body["ids"] == ("s",)
    assert sent == [("c", {"type": "execute-snapshot"}, "REST")]
    assert server("GET", "/connectors/c/signals").body == {"connector": "c", "signals": (), "run_ended": True}
    assert server("POST", "/connectors/c/signals").status == 400
    assert server("POST", "/connectors/d/signals", {}).status == 404


def test_a_deletion_does_not_wait_for_the_end_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    later: list[tuple[object, str]] = []
    deletions = SimpleNamespace(add=lambda operator, name: later.append((operator, name)))
    service, connectors, _ = simulated_service(monkeypatch, SharedState(deletions=cast(LateDeletions, deletions)))
    connectors["c"] = connector("RUNNING")
    assert dispatch(service, Request("DELETE", "/connectors/c")).status == 204
    assert later == [(service.operator, "c")]
    assert dispatch(service, Request("DELETE", "/connectors/c")).status == 404
    assert len(later) == 1
