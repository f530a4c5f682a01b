"""Runs through Airflow's command line: operator, spark-submit, app, both clusters."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from tests.integration.airflow.conftest import ENTRIES, Secured
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import ManagedProcess, alive, output_tail
from tests.support.waiting import wait_until

MANUAL, RETRYING = "ignite_to_kafka_manual", "copy_with_retry"


def form(name: str, **values: Any) -> dict[str, Any]:
    return {"name": name, "cache_whitelist": ["people", "places"], "topic_prefix": f"{name}-", "topic_partitions": 2, **values}


def family(process: ManagedProcess, *texts: str) -> list[psutil.Process]:
    """Descendants whose command line holds one of some texts; children start and end during the search."""
    found = []
    for member in process.family():
        with contextlib.suppress(psutil.NoSuchProcess):
            command = " ".join(member.cmdline())
            found += [member] if any(text in command for text in texts) else []
    return found


def test_test_button_lists_the_caches(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SECURED", json.dumps(secured.connections()["ignite_default"]))
    works, message = IgniteHook("secured").test_connection()
    assert works
    assert secured.ignite.address in message
    assert "people" in message


def test_a_run_from_the_form_its_retry_and_the_next_run(secured: Secured, airflow: AirflowHome, unique: Callable[[str], str]) -> None:
    name = unique("form")
    output = airflow.run(MANUAL, form(name))
    assert airflow.states(MANUAL)[-1] == "success", output_tail(output)
    assert "15100 # run " in output, "the task's log has the library's own lines"
    assert " INFO SparkContext" not in output, "and not Spark's"
    first = airflow.results(MANUAL)[-1]
    assert (first["state"], first["connector"], first["already_complete"]) == ("COMPLETED", name, False)
    assert {cache: counts["records"] for cache, counts in first["caches"].items()} == {"people": ENTRIES, "places": ENTRIES}
    assert first["records"] == 2 * ENTRIES
    assert list(airflow.private.glob("ignite-kafka-*")) == []
    assert times_sent(secured, name) == {1}

    again = airflow.run_again(MANUAL, "copy")
    assert f"snapshot {first['snapshot_id']}: {2 * ENTRIES} records" in again, output_tail(again)
    assert times_sent(secured, name) == {1}

    airflow.run(MANUAL, form(name))
    assert airflow.results(MANUAL)[-1]["snapshot_id"] != first["snapshot_id"]
    assert times_sent(secured, name) == {2}


def times_sent(secured: Secured, name: str) -> set[int]:
    """Numbers of records per key in the topics of the caches; every key must have one."""
    counts = [read_committed(secured.kafka.client_config, f"{name}-{cache}").counts() for cache in ("people", "places")]
    assert all(set(count) == {str(key).encode() for key in range(ENTRIES)} for count in counts)
    return {times for count in counts for times in count.values()}


def test_a_failure_is_the_app_s_own_and_is_not_tried_again(secured: Secured, airflow: AirflowHome, unique: Callable[[str], str]) -> None:
    wrong = {**secured.connections(), "ignite_default": {**secured.connections()["ignite_default"], "password": "not-this-one"}}
    home = AirflowHome(airflow.folder / unique("wrong"), airflow.dags, wrong).migrate()
    output = home.run(MANUAL, form(unique("refused")))
    assert home.states(MANUAL) == ["failed"]
    assert "AuthenticationFailed: " in output
    assert "not-this-one" not in output


def test_on_kill_stops_the_app_and_the_retry_resumes(secured: Secured, airflow: AirflowHome, unique: Callable[[str], str]) -> None:
    name = unique("killed")
    process = airflow.start(RETRYING, {"name": name})
    try:
        submitted = app_at_work(process, airflow)
        os.kill(process.pid, signal.SIGTERM)
        wait_until(lambda: not any(alive(member) for member in submitted), "end of the app")
        process.wait()
    finally:
        process.stop()
    assert "The task was killed and its app stopped" in process.output()
    assert airflow.states(RETRYING) == ["success"], process.output_tail()
    assert airflow.results(RETRYING)[0]["records"] == 2 * ENTRIES
    assert times_sent(secured, name) == {1}


def test_a_task_that_dies_takes_its_app_and_its_files_along(airflow: AirflowHome, unique: Callable[[str], str]) -> None:
    process = airflow.start(RETRYING, {"name": unique("dead")})
    try:
        submitted = app_at_work(process, airflow)
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(member) for member in submitted), "end of the app")
        wait_until(lambda: not list(airflow.private.glob("ignite-kafka-*")), "end of the private folders")
    finally:
        process.stop()


def app_at_work(process: ManagedProcess, airflow: AirflowHome) -> list[psutil.Process]:
    """Processes of the app, once it has started Spark and read the secrets."""
    wait_until(lambda: "15100 #" in process.output(), "the app's start")
    submitted = family(process, "org.apache.spark.deploy.SparkSubmit", "ignite_to_kafka.py", "pyspark.daemon")
    assert len(submitted) >= 2
    return submitted
