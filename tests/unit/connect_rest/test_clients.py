"""Requests as clients of others send them, in their order, and what these clients read of the answers.

Sources: Strimzi's ``KafkaConnectApiImpl``, kcctl's ``KafkaConnectApi``, Kafka UI's ``kafka-connect-api.yaml``.
"""

from __future__ import annotations

import pytest

from tests.unit.admin.test_connect_states import connector
from tests.unit.connect_rest.test_configuration import SOURCE
from tests.unit.connect_rest.test_dispatch import Server

CONFIG = {key: value for key, value in SOURCE.items() if key != "name"} | {"tasks.max": "2"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


def test_strimzi_reconciles_a_connector_and_finds_it_unchanged(server: Server) -> None:
    """It sends PUT unless GET returns what it wants, waits for a status, follows the state, and waits for 404 after DELETE."""
    assert server("GET", "/connector-plugins").status == 200
    assert server("GET", "/connectors/c/config").status == 404
    assert server("PUT", "/connectors/c/config", {"name": "c", **CONFIG}).status == 201
    assert server("GET", "/connectors/c/config").body == {"name": "c", **CONFIG}, "else it would send PUT at each reconciliation"
    status = server("GET", "/connectors/c/status")
    assert (status.status, status.body["connector"]["state"], status.body["tasks"]) == (200, "UNASSIGNED", [])
    assert [server("PUT", f"/connectors/c/{state}").status for state in ("pause", "resume", "stop")] == [202, 202, 204]
    assert server("GET", "/connectors/c/topics").body["c"]["topics"] == []
    restarted = server("POST", "/connectors/c/restart", includeTasks="false", onlyFailed="false")
    assert restarted.status == 204
    assert server("DELETE", "/connectors/c").status == 204
    assert server("GET", "/connectors/c/status").status == 404


def test_kcctl_applies_and_describes_a_connector(server: Server) -> None:
    assert server("GET", "/").body.keys() == {"version", "commit", "kafka_cluster_id"}
    assert server("PUT", "/connector-plugins/IgniteSourceConnector/config/validate", {"name": "c", **CONFIG}).body["error_count"] == 0
    assert server("POST", "/connectors/", {"name": "c", "config": CONFIG}).status == 201
    assert server("GET", "/connectors/").body == ["c"]
    server.connectors["c"] = connector("FAILED", error=True)
    described = server("GET", "/connectors", expand="status").body["c"]["status"]
    assert {"id", "state", "worker_id", "trace"} <= described["tasks"][0].keys()
    restarted = server("POST", "/connectors/c/restart", includeTasks="true", onlyFailed="true")
    assert restarted.body["tasks"][0]["state"] == "RESTARTING"


def test_kafka_ui_lists_connectors_and_their_tasks(server: Server) -> None:
    server.connectors["c"] = connector("RUNNING")
    assert server("GET", "/connectors").body == ["c"]
    assert server("GET", "/connectors/c").body.keys() == {"name", "config", "tasks", "type"}
    for task in server("GET", "/connectors/c/tasks").body:
        assert set(map(type, task["config"].values())) == {str}
        assert server("GET", f"/connectors/c/tasks/{task['id']['task']}/status").body["state"] == "RUNNING"
    plugin = server("GET", "/connector-plugins").body[0]["class"]
    validated = server("PUT", f"/connector-plugins/{plugin}/config/validate", {"connector.class": plugin, "name": "n", "topics": "t"})
    definition = validated.body["configs"][0]["definition"]
    assert (definition["importance"], definition["width"], definition["type"]) == ("HIGH", "LONG", "STRING")
