"""Dags that are scheduled on topics, run by Airflow's own scheduler and web server after a copy; lineage and links of the copy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Producer

from ignite_kafka.events import OBJECT_NOT_BUILT, RUN_FAILED
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from tests.integration.airflow.conftest import ENTRIES, Secured
from tests.integration.airflow.test_cache_watch import command
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import ManagedProcess, output_tail
from tests.support.servers import destroy
from tests.support.waiting import REQUEST_S, takes_connections, wait_until
from tools.servers import free_ports

CONSUMERS = ("people_filled", "places_filled")


@contextmanager
def services(airflow: AirflowHome) -> Iterator[tuple[int, list[ManagedProcess]]]:
    """A scheduler that runs tasks, and the server that its tasks call: its port, and both processes."""
    port, log_port, health_port = free_ports(3)
    environment = {
        **airflow.env(),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of this test alone, of more than 64 bytes, as Airflow wishes it",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(log_port),
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": str(health_port),
    }
    with ExitStack() as stack:
        started = []
        for name in ("api-server", "scheduler"):
            log = airflow.folder / f"{name}.log"
            started.append(ManagedProcess([airflow.python, "-m", "airflow", name], log, environment, airflow.folder))
            stack.callback(started[-1].stop)
            if name == "api-server":  # a task that the scheduler starts before it answers fails
                wait_until(lambda: takes_connections(port) or not started[0].running(), "the API server")
        yield port, started


@pytest.fixture(scope="module")
def lineage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lineage") / "events.json"


def openlineage(lineage: Path) -> dict[str, str]:
    """Options of the OpenLineage provider that write its events to a file."""
    return {
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(lineage), "append": True}),
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO": "True",
    }


@pytest.fixture(scope="module")
def copied(secured: Secured, airflow: AirflowHome, lineage: Path) -> Iterator[tuple[AirflowHome, str]]:
    """An Airflow whose Dag has copied, with two Dags that wait for its topics; and the output of the copy."""
    with pytest.MonkeyPatch.context() as patch, secured.ignite.client() as client:
        patch.setenv("BROKER_OF_THE_TEST", secured.kafka.bootstrap)
        client.sql("CREATE TABLE CITY (id BIGINT PRIMARY KEY, name VARCHAR)")
        client.sql("INSERT INTO CITY VALUES (1, 'Zürich'), (2, 'Oslo')")
        home = AirflowHome(airflow.folder / "assets", airflow.dags, secured.connections()).migrate()
        command(home, "dags", "reserialize")
        command(home, "scheduler", "--num-runs", "2")  # activates the assets
        for dag_id in CONSUMERS:
            command(home, "dags", "unpause", "--yes", dag_id)
        urls = {
            "AIRFLOW__API__BASE_URL": "http://localhost:8080",
            "AIRFLOW__IGNITE_KAFKA__KAFKA_TOPIC_URL": "http://kafka-ui/{topic}",
            "AIRFLOW__IGNITE_KAFKA__SPARK_HISTORY_URL": "http://history/{application_id}",
        }
        yield home, home.run("copied_assets", environment={**openlineage(lineage), **urls})
        client.sql("DROP TABLE CITY")


def test_copy_triggers_the_dags_that_are_scheduled_on_its_topics(copied: tuple[AirflowHome, str]) -> None:
    home, output = copied
    assert home.states("copied_assets") == ["success"], output_tail(output)
    with services(home) as (port, started):
        try:
            wait_until(lambda: all(home.states(dag_id) in (["success"], ["failed"]) for dag_id in CONSUMERS), "the Dags of both topics")
            assert [home.states(dag_id) for dag_id in CONSUMERS] == [["success"]] * 2, "\n".join(one.output_tail() for one in started)
        except TimeoutError as error:
            raise AssertionError("\n".join(one.output_tail() for one in started)) from error
        links = links_of(port, home)
    assert links.pop("Spark UI").startswith("http://history/local-")
    page = "http://localhost:8080/ignite-kafka/connections/kafka_default/connectors/assets?prefix=ignite-kafka"
    assert links in ({"Connector": page, "Kafka topic": f"http://kafka-ui/assets-{name}"} for name in ("people", "places"))
    [result] = home.results("copied_assets")
    names = [name for (name,) in home.query("select name from asset where uri like '%/assets-places'")]
    assert names == ["places_topic"], "the alias adds no second asset of the URI"
    for dag_id, cache in zip(CONSUMERS, ("people", "places"), strict=True):
        triggered_by: Any = home.results(dag_id)
        [[extra]] = triggered_by
        assert extra == {
            "connector": "assets",
            "run_id": result["run_id"],
            "snapshot_id": result["snapshot_id"],
            "state": "COMPLETED",
            "cache": cache,
            "topic": f"assets-{cache}",
            "records": ENTRIES,
            "bytes": result["caches"][cache]["bytes"],
            "skipped": 0,
        }
        assert extra["bytes"] > 0


def links_of(port: int, home: AirflowHome) -> dict[str, str]:
    """Extra links of the copy, as the web UI gets them."""
    [(run_id,)] = home.query("select run_id from dag_run where dag_id = 'copied_assets'")
    connection = HTTPConnection("127.0.0.1", port, timeout=REQUEST_S)
    connection.request("GET", "/auth/token")
    token = json.loads(connection.getresponse().read())["access_token"]
    path = f"/api/v2/dags/copied_assets/dagRuns/{quote(run_id, safe='')}/taskInstances/copy/links"
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    links = json.loads(connection.getresponse().read())["extra_links"]
    connection.close()
    return links


def test_lineage_has_columns_and_counts_and_is_the_parent_of_sparks(
    secured: Secured, copied: tuple[AirflowHome, str], lineage: Path
) -> None:
    home, output = copied
    events = [json.loads(line) for line in lineage.read_text().splitlines()]
    of_copy = {event["eventType"]: event for event in events if event["job"]["name"] == "copied_assets.copy"}
    assert list(of_copy) == ["START", "COMPLETE"]
    columns = [("ID", "java.lang.Long"), ("NAME", "java.lang.String")]
    ignite, kafka = f"ignite://{secured.ignite.address}", f"kafka://{secured.kafka.bootstrap}"
    [result] = home.results("copied_assets")
    for event, counted in zip(of_copy.values(), (False, True), strict=True):
        assert [shown(dataset) for dataset in event["inputs"]] == [
            (ignite, "SQL_PUBLIC_CITY", columns, None),
            (ignite, "people", [], None),
            (ignite, "places", [], None),
        ]
        counts = {name: (one["records"], one["bytes"]) if counted else None for name, one in result["caches"].items()}
        assert [shown(dataset) for dataset in event["outputs"]] == [
            (kafka, f"assets-{name}", [], counts[name]) for name in ("SQL_PUBLIC_CITY", "people", "places")
        ]
    assert result["caches"]["SQL_PUBLIC_CITY"]["records"] == 2
    assert f"spark.openlineage.parentRunId={of_copy['START']['run']['runId']}" in output


def test_failure_has_its_lineage_and_notifies(secured: Secured, copied: tuple[AirflowHome, str], lineage: Path) -> None:
    home, _ = copied
    Topics(KafkaClients(secured.kafka.client_config)).ensure([TopicSpec(name, 1, 1) for name in ("refused-cities", "alerts")])
    producer = Producer(secured.kafka.client_config)
    for number in range(10):
        producer.produce("refused-cities", b'{"name": "Oslo"}', str(number))
    producer.produce("refused-cities", b"{ no JSON", b"10")
    assert producer.flush(REQUEST_S) == 0
    output = home.run("refused_record", environment=openlineage(lineage))
    assert home.states("refused_record") == ["failed"], output_tail(output)
    events = [json.loads(line) for line in lineage.read_text().splitlines()]
    of_copy = {event["eventType"]: event for event in events if event["job"]["name"] == "refused_record.store"}
    assert list(of_copy) == ["START", "FAIL"]
    failed = of_copy["FAIL"]
    assert "RecordRefused" in failed["run"]["facets"]["errorMessage"]["message"]
    assert [shown(dataset) for dataset in failed["inputs"]] == [(f"kafka://{secured.kafka.bootstrap}", "refused-cities", [], None)]
    [stored] = failed["outputs"]
    assert (stored["namespace"], stored["name"]) == (f"ignite://{secured.ignite.address}", "cities")
    assert stored["outputFacets"]["outputStatistics"]["rowCount"] == 10
    [alert] = read_committed(secured.kafka.client_config, "alerts").records
    assert (alert.key, alert.value is not None) == (b"refused", True)
    told = json.loads(alert.value or b"")
    assert (told["dag_id"], told["task_id"], told["state"], told["message"]) == ("refused_record", "store", "failed", "store failed")
    assert (told["status"]["state"], told["status"]["error"]["type"]) == ("FAILED", "RecordRefused")
    assert told["status"]["records"] >= 10, "those that were read"
    kept = {event["id"]: event for event in told["status"]["events"]}
    assert kept[OBJECT_NOT_BUILT.id]["count"] == 1, "of the task"
    assert "RecordRefused" in kept[RUN_FAILED.id]["text"] or "JSON" in kept[RUN_FAILED.id]["text"], "of the driver"
    assert "RecordRefused" in told["exception"]
    destroy(secured.ignite, "cities")


def shown(dataset: Mapping[str, Any]) -> tuple[str, str, list[tuple[str, str]], tuple[int, int] | None]:
    """Namespace, name, columns and counts of a dataset in an event."""
    fields = dataset["facets"].get("schema", {}).get("fields", ())
    counts = dataset.get("outputFacets", {}).get("outputStatistics")
    return (
        dataset["namespace"],
        dataset["name"],
        [(one["name"], one["type"]) for one in fields],
        (counts["rowCount"], counts["size"]) if counts else None,
    )
