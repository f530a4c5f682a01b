"""A connector declared by REST in Airflow's API server: its Dag appears, copies, and is gone after the connector's deletion."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.airflow.conftest import ENTRIES, PREFIX, Secured
from tests.integration.airflow.test_stream import await_end, await_records
from tests.support.airflow_home import AirflowHome
from tests.support.airflow_web import AirflowWeb, airflow_web
from tests.support.oracle import read_committed
from tests.support.processes import output_tail
from tests.support.waiting import wait_until

DAG_FILE = """
from airflow_provider_ignite_kafka.connector_dags import connector_dags
from airflow_provider_ignite_kafka.connector_store import ConnectorStore

connector_dags(ConnectorStore("kafka_default"), task_arguments={"driver_memory": "512m", "stop_timeout_ms": 200_000})
"""


class Rest:
    """The REST interface of Airflow's API server."""

    def __init__(self, web: AirflowWeb) -> None:
        self._web = web
        self._headers = {"Authorization": f"Bearer {web.token('alice')}", "Content-Type": "application/json"}

    def __call__(self, method: str, path: str = "", body: object = None) -> tuple[int, Any]:
        url = f"/ignite-kafka/connect/kafka_default/{PREFIX}/connectors{path}"
        status, text = self._web.request(method, url, self._headers, None if body is None else json.dumps(body))
        return status, json.loads(text) if text else None


@pytest.fixture(scope="module")
def web(secured: Secured, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowWeb]:
    dags = tmp_path_factory.mktemp("declared-dags")
    (dags / "declared.py").write_text(DAG_FILE)
    home = AirflowHome(tmp_path_factory.mktemp("declared"), dags, secured.connections()).migrate()
    with airflow_web(home, {}, "api-server") as running:
        yield running


def parse_later(home: AirflowHome) -> set[str]:
    """Parse the Dag folder as if half a minute had passed since Kafka was read; the words that Airflow writes about its Dags."""
    [kept] = (home.folder / "ignite_kafka_connectors").glob("*.json")
    content = json.loads(kept.read_text())
    kept.write_text(json.dumps({**content, "read_s": content["read_s"] - 60}))
    code, output = home.command("dags", "list", "--local", "--output", "plain")
    assert code == 0, output_tail(output)
    return set(output.split())


def test_a_declared_connector_is_a_dag_until_it_is_deleted(web: AirflowWeb, secured: Secured, unique: Callable[[str], str]) -> None:
    name, home, rest = unique("declared"), web.home, Rest(web)
    config = {
        "connector.class": "IgniteSourceConnector", "cacheWhitelist": "people", "topicPrefix": f"{name}-", "slots": "2",
        "poll_interval_ms": "200", "progress_interval_ms": "500",
    }  # fmt: skip
    other = f"{name}-stopped"
    assert rest("POST", body={"name": name, "config": config})[0] == 201
    assert rest("POST", body={"name": other, "config": config, "initial_state": "STOPPED"})[0] == 201
    run = home.start(name)
    try:
        await_records(secured, run, f"{name}-people", ENTRIES)
        wait_until(lambda: rest("GET", f"/{name}/status")[1]["connector"]["state"] == "RUNNING", "the run's state")
        with secured.backlog_service() as service:
            assert name in service.connectors()
        family = run.family()
        assert rest("DELETE", f"/{name}") == (204, None)
        assert name not in rest("GET")[1]
        assert {name, other} & parse_later(home) == {other}
        run.wait()
        await_end(family, home)
    finally:
        run.stop()
    assert home.states(name) == ["success"], run.output_tail()
    assert set(read_committed(secured.kafka.client_config, f"{name}-people").counts().values()) == {1}
    with secured.backlog_service() as service:
        wait_until(lambda: name not in service.connectors(), "the end of the capture, for which the deletion did not wait")
