"""Copies on YARN and HDFS (Hadoop's minicluster) by Airflow's Spark connection: both deploy modes, secrets, kills, and the driver's log."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.integration.airflow.conftest import CACHES, DAGS, ENTRIES, YARN_PYTHON, Secured
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import ManagedProcess, output_tail
from tests.support.waiting import REQUEST_S, wait_until
from tests.support.yarn_cluster import YarnCluster

COPY, STREAM, STORE, VERIFY = "copy_on_yarn", "stream_on_yarn", "store_on_yarn", "verify_on_yarn"
# connections by deploy mode, and by the way to YARN of kills and questions
CLIENT, REST, COMMAND = "yarn_client", "yarn_rest", "yarn_command"


@pytest.fixture(scope="module")
def on_yarn(secured: Secured, yarn: YarnCluster, tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """An Airflow whose worker has the clients of YARN on its path."""
    dags = tmp_path_factory.mktemp("yarn-dags")
    shutil.copy(DAGS / "copy_on_yarn.py", dags)
    connections = {
        **secured.connections(),
        CLIENT: yarn.connection(),
        REST: yarn.connection(**{"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": yarn.web_address}),
        COMMAND: yarn.connection(**{"deploy-mode": "cluster"}),
    }
    variables = {**yarn.environment, "PATH": f"{yarn.bin}{os.pathsep}{os.environ['PATH']}"}
    return AirflowHome(tmp_path_factory.mktemp("yarn-airflow"), dags, connections, YARN_PYTHON, variables=variables).migrate()


@pytest.fixture
def idle(yarn: YarnCluster) -> Iterator[YarnCluster]:
    """The cluster, on which nothing runs after the test."""
    yield yarn
    yarn.end_all()


def form(name: str, conn_id: str, **values: Any) -> dict[str, Any]:
    return {"name": name, "conn_id": conn_id, "secrets_file": "", "topic_prefix": "", **values}


def assert_sent_once(secured: Secured, name: str) -> None:
    for cache in CACHES:
        counts = read_committed(secured.kafka.client_config, f"{name}-{cache}").counts()
        assert set(counts.values()) == {1}
        assert len(counts) == ENTRIES


def secrets_of(secured: Secured, file: Path) -> Path:
    """A mounted secrets file."""
    login = {name: value for name, value in secured.kafka.client_config.items() if name == "sasl.password"}
    file.touch(0o600)
    file.write_text(json.dumps({"ignite": {"username": "ignite", "password": secured.passwords[0]}, "kafka": login}))
    return file


@pytest.mark.long("test_cluster_mode_ships_secrets_through_a_private_folder")
def test_client_mode_runs_executors_with_the_packed_python(
    secured: Secured, on_yarn: AirflowHome, idle: YarnCluster, unique: Callable[[str], str]
) -> None:
    name = unique("client")
    output = on_yarn.run(COPY, form(name, CLIENT))
    assert on_yarn.states(COPY)[-1] == "success", output_tail(output)
    assert on_yarn.results(COPY)[-1]["records"] == len(CACHES) * ENTRIES
    assert_sent_once(secured, name)
    assert idle.applications()[-1].final_status == "SUCCEEDED"
    assert not any(password in output for password in secured.passwords)


def test_cluster_mode_ships_secrets_through_a_private_folder(
    secured: Secured, on_yarn: AirflowHome, idle: YarnCluster, unique: Callable[[str], str]
) -> None:
    name = unique("shipped")
    process = on_yarn.start(COPY, form(name, COMMAND))
    try:
        app = submitted(process, idle)
        staging = idle.staging(app)
        assert staging[app] == "drwx------", staging
        assert "secrets.json" in staging
        process.wait()
    finally:
        process.stop()
    output = process.output()
    assert on_yarn.states(COPY)[-1] == "success", output_tail(output)
    assert_sent_once(secured, name)
    assert idle.await_end(app).final_status == "SUCCEEDED"
    wait_until(lambda: idle.staging(app) == {}, "the application removes its secrets", poll_s=1)
    command = f"yarn logs -applicationId {app}"
    assert f"Log of its driver: {command}" in output
    collected = wait_until(lambda: idle.collected_log(command), "YARN has collected the log", poll_s=1)
    assert f"Spark application {app}" in collected, "our driver's line"
    assert not any(password in text for text in (output, collected) for password in secured.passwords)


@pytest.mark.long("test_cluster_mode_ships_secrets_through_a_private_folder")
def test_cluster_mode_compares_and_repairs(secured: Secured, on_yarn: AirflowHome, idle: YarnCluster, unique: Callable[[str], str]) -> None:
    name = unique("verified")
    on_yarn.run(COPY, form(name, COMMAND))
    topic = f"{name}-{CACHES[0]}"
    sent = read_committed(secured.kafka.client_config, topic).records[0]
    producer = Producer(secured.kafka.client_config)
    producer.produce(topic, b"{}", sent.key, sent.partition)
    assert producer.flush(REQUEST_S) == 0
    output = on_yarn.run(VERIFY, form(name, COMMAND))
    assert on_yarn.states(VERIFY) == ["success"], output_tail(output)
    [result] = on_yarn.results(VERIFY)
    assert [(cache["cache"], cache["different"], cache["repaired"], cache["equal"]) for cache in result["caches"]] == [
        (CACHES[0], 1, 1, True),
        (CACHES[1], 0, 0, True),
    ]
    values = [record.value for record in read_committed(secured.kafka.client_config, topic).records if record.key == sent.key]
    assert values == [sent.value, b"{}", sent.value]
    assert idle.applications()[-1].final_status == "SUCCEEDED"
    assert "yarn application -kill" not in output


def submitted(process: ManagedProcess, cluster: YarnCluster) -> str:
    """The id of the application that a task has submitted, once its driver runs."""

    def runs() -> str | None:
        assert process.running(), process.output_tail()
        running = cluster.running()
        return running[-1].id if running and running[-1].state == "RUNNING" else None

    return wait_until(runs, "a running application", poll_s=0.5)


@pytest.mark.long("test_cluster_mode_ships_secrets_through_a_private_folder")
def test_cluster_mode_reads_a_mounted_secrets_file(
    secured: Secured, on_yarn: AirflowHome, idle: YarnCluster, unique: Callable[[str], str], tmp_path: Path
) -> None:
    source, name = unique("mounted"), unique("stored")
    secrets_file = str(secrets_of(secured, tmp_path / "secrets.json"))
    output = on_yarn.run(COPY, form(source, REST, secrets_file=secrets_file))
    assert on_yarn.states(COPY)[-1] == "success", output_tail(output)
    assert_sent_once(secured, source)
    assert "secrets.json" not in next(line for line in output.splitlines() if "Spark-Submit cmd" in line).partition("--mounted-secrets")[0]

    output = on_yarn.run(STORE, form(name, REST, secrets_file=secrets_file, topic_prefix=f"{source}-"))
    assert on_yarn.states(STORE)[-1] == "success", output_tail(output)
    assert on_yarn.results(STORE)[-1]["records"] == len(CACHES) * ENTRIES
    assert idle.applications()[-1].final_status == "SUCCEEDED"


@pytest.mark.long("test_cluster_mode_ships_secrets_through_a_private_folder")
def test_a_killed_task_kills_its_snapshot_by_the_command_and_the_retry_resumes(
    secured: Secured, on_yarn: AirflowHome, idle: YarnCluster, unique: Callable[[str], str]
) -> None:
    name = unique("killed")
    process = on_yarn.start(COPY, form(name, COMMAND))
    try:
        first = submitted(process, idle)
        os.kill(process.pid, signal.SIGTERM)  # a snapshot follows no request to stop
        assert idle.await_end(first).state == "KILLED"
        process.wait()
    finally:
        process.stop()
    assert f"yarn application -kill {first} ended with exit code 0." in process.output()
    assert on_yarn.states(COPY)[-1] == "success", process.output_tail()
    assert idle.applications()[-1].id != first
    assert_sent_once(secured, name)


@pytest.mark.long("test_cluster_mode_ships_secrets_through_a_private_folder")
def test_a_stream_that_follows_no_request_to_stop_is_killed_by_the_rest_api(
    on_yarn: AirflowHome, idle: YarnCluster, unique: Callable[[str], str]
) -> None:
    name = unique("frozen")
    process = on_yarn.start(STREAM, form(name, REST))
    try:
        app = submitted(process, idle)
        wait_until(lambda: f"connector {name} RUNNING" in process.output(), "the run's first record", poll_s=0.5)
        [driver] = idle.drivers(app)
        driver.suspend()
        os.kill(process.pid, signal.SIGTERM)
        assert idle.await_end(app).state == "KILLED"
        process.wait()
    finally:
        process.stop()
    assert "The run has not ended 3 s after the request." in process.output()
    assert f"YARN was requested to kill {app}." in process.output()
    assert on_yarn.states(STREAM) == ["failed"]
    wait_until(lambda: not idle.containers(app), "the end of all processes of the application")
