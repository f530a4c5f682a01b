"""Whole runs of the example Dags in this process: Airflow's own scheduling, forms and database, with clusters that are simulated."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.api_fastapi.app import create_app, purge_cached_app
from airflow.models import DagRun
from airflow.providers.common.compat.sdk import DownstreamTasksSkipped, ParamValidationError
from airflow.sdk import DAG
from airflow.sdk.definitions.param import process_params
from airflow.utils.db import initdb
from fastapi.testclient import TestClient

from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from ignite_kafka.admin import backlog
from ignite_kafka.admin.backlog import CleanupResult
from ignite_kafka.errors import BacklogUnavailable, IgniteKafkaError, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import FAILED, STOPPED, RunStatus
from tests.support.airflow_versions import ERROR_IN_CALLBACKS, skip_what_it_cannot_read, sync_folder, timezone
from tests.unit.airflow.bench import Bench, run_status

EXAMPLES = Path(__file__).parents[3] / "dags"
Cleanups = list[tuple[str, bool]]


@pytest.fixture(scope="module")
def dags() -> Path:
    """Folder of Dags, with the examples, of an Airflow that has a database."""
    folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    initdb()
    sync_folder(folder)
    return folder


@pytest.fixture
def copied(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[ConnectorSettings]:
    """Settings of each copy that was submitted."""
    found: list[ConnectorSettings] = []
    monkeypatch.setattr(SparkCopyOperator, "check_clusters", lambda _operator, request, ignite: found.append(request.settings))
    return found


@pytest.fixture
def cleanups(monkeypatch: pytest.MonkeyPatch) -> Cleanups:
    """Connector and force of each cleanup."""
    calls: Cleanups = []

    def cleanup(settings: SourceSettings, _secrets: object, *, force: bool) -> CleanupResult:
        calls.append((settings.name, force))
        return CleanupResult(settings.name, None, None)

    monkeypatch.setattr(backlog, "cleanup", cleanup)
    return calls


def read(folder: Path, name: str, dag: str = "dag") -> DAG:
    skip_what_it_cannot_read(name)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, dag)
    assert isinstance(found, DAG)
    for task in found.tasks:
        task.retries = 0
    return found


def states(run: DagRun) -> dict[str, str]:
    return {"run": str(run.state), **{task.task_id: str(task.state) for task in run.get_task_instances()}}


def ends(state: str, error: IgniteKafkaError | None = None) -> Callable[[], RunStatus]:
    return lambda: run_status(state, error)


@ERROR_IN_CALLBACKS
def test_stream_that_fails_is_torn_down_and_reported(
    dags: Path,
    bench: Bench,
    cleanups: Cleanups,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench.status = ends(FAILED, SettingsError("the app did not like it"))
    dag = read(dags, "ignite_to_kafka_temporary")
    callback: Any = dag.default_args["on_failure_callback"]
    monkeypatch.setitem(callback.__globals__, "connector_status", lambda _connector: run_status(FAILED))
    with caplog.at_level(logging.ERROR):
        run = dag.test()
    assert states(run) == {"run": "failed", "copy": "failed", "clean_up": "success"}
    assert cleanups == [("temporary", True)]
    [line] = [record.getMessage() for record in caplog.records if "Records copied" in record.getMessage()]
    assert line.startswith("ignite_to_kafka_temporary.copy failed: SettingsError: the app did not like it")
    assert line.endswith("Records copied: {'flights': 10}")


def test_teardown_that_fails_does_not_fail_the_run_of_a_stream_that_ended_well(
    dags: Path, bench: Bench, copied: list[ConnectorSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cleanup(*_: Any, **__: Any) -> CleanupResult:
        raise BacklogUnavailable("no node answers")

    monkeypatch.setattr(backlog, "cleanup", cleanup)
    bench.status = ends(STOPPED)
    dag = read(dags, "ignite_to_kafka_temporary")
    for task in dag.tasks:
        task.on_failure_callback = []
    assert states(dag.test(run_conf={"run_for": "PT1H"})) == {"run": "success", "copy": "success", "clean_up": "failed"}
    [settings] = copied
    assert (settings.name, settings.run_mode) == ("temporary", "continuous")


BEYOND_THE_LIST: list[tuple[str, str, dict[str, Any]]] = [
    ("ignite_to_kafka_manual", "dag", {"cache_whitelist": ["flights", "salaries"]}),
    ("ignite_to_kafka_manual", "dag", {"cache_whitelist": [".*"]}),
    ("ignite_to_kafka_manual", "dag", {"cache_whitelist": []}),
    ("ignite_to_kafka_manual", "dag", {"cache_whitelist": None}),
    ("ignite_to_kafka_temporary", "dag", {"cache_whitelist": "flights.*"}),
    ("kafka_to_ignite_manual", "dag", {"topics": ["salaries"]}),
    ("ignite_to_kafka_stream", "cleanup_dag", {"connector": "nightly"}),
]


@pytest.mark.parametrize(("name", "dag", "conf"), BEYOND_THE_LIST)
def test_a_run_s_configuration_that_the_author_did_not_list_is_refused_at_its_creation_and_on_the_worker(
    dags: Path, name: str, dag: str, conf: dict[str, Any]
) -> None:
    """The API takes the configuration of a run from whoever may trigger the Dag."""
    [field] = conf
    # Airflow 3.2 raises a plain ValueError where the run is created
    with pytest.raises((ParamValidationError, ValueError), match=f"Invalid input for param {field}"):
        read(dags, name, dag).test(run_conf=conf)
    found = read(dags, name, dag)
    with pytest.raises(ParamValidationError, match=f"Invalid input for param {field}"):
        process_params(found, found.tasks[0], conf, suppress_exception=False)


@pytest.fixture
def api(dags: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Client of Airflow's API, in this process."""
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True")
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "of this test " * 8)
    with TestClient(create_app()) as client:
        client.headers["Authorization"] = f"Bearer {client.get('/auth/token').json()['access_token']}"
        yield client
    purge_cached_app()


def test_the_api_answers_what_is_wrong_with_a_configuration(api: TestClient, copied: list[ConnectorSettings]) -> None:
    assert api.patch("/api/v2/dags/ignite_to_kafka_manual", json={"is_paused": True}).status_code == 200
    body = {"logical_date": None, "conf": {"cache_whitelist": ["salaries"]}}
    reply = api.post("/api/v2/dags/ignite_to_kafka_manual/dagRuns", json=body)
    assert reply.status_code == 400
    assert "Invalid input for param cache_whitelist: 'salaries' is not one of ['flights'," in reply.json()["detail"]


@pytest.mark.parametrize("conf", [{"cache_prefix": ""}, {"topic_prefix": "", "cache_prefix": "x"}])
def test_prefixes_of_a_form_lead_to_no_cache_that_the_author_did_not_allow(
    dags: Path, copied: list[ConnectorSettings], conf: dict[str, Any]
) -> None:
    assert states(read(dags, "kafka_to_ignite_manual").test(run_conf=conf)) == {"run": "failed", "copy": "failed"}
    assert copied == []


def test_a_run_s_configuration_chooses_from_the_author_s_list(dags: Path, copied: list[ConnectorSettings]) -> None:
    conf = {"cache_whitelist": ["weather"], "name": "2024", "key_converter": "ignite-binary", "salaries": ["salaries"]}
    assert states(read(dags, "ignite_to_kafka_manual").test(run_conf=conf)) == {"run": "success", "copy": "success"}
    [settings] = copied
    assert isinstance(settings, SourceSettings)
    assert (settings.name, settings.cache_whitelist, settings.key_converter) == ("2024", ("weather",), "ignite-binary")


@pytest.mark.parametrize(("conf", "approval", "force"), [({}, "skipped", False), ({"force": True}, "success", True)])
def test_only_a_forced_cleanup_asks_a_person(
    dags: Path, bench: Bench, cleanups: Cleanups, conf: dict[str, Any], approval: str, force: bool
) -> None:
    dag = read(dags, "ignite_to_kafka_stream", "cleanup_dag")
    run = dag.test(run_conf=conf, mark_success_pattern="approve")  # in place of a person
    assert states(run) == {"run": "success", "forced": "success", "approve": approval, "clean_up": "success"}
    assert cleanups == [("stream", force)]


def test_a_person_who_rejects_keeps_the_backlog(dags: Path) -> None:
    approve: Any = read(dags, "ignite_to_kafka_stream", "cleanup_dag").get_task("approve")
    event = {"chosen_options": ["Reject"], "params_input": {}, "responded_at": timezone.utcnow(), "responded_by_user": None}
    with pytest.raises(DownstreamTasksSkipped) as skipped:
        approve.execute_complete({"ti": SimpleNamespace(map_index=-1, xcom_push=lambda **_: None), "task": approve}, event)
    assert skipped.value.tasks == ["clean_up"]


def test_mapped_copies_have_names_that_do_not_depend_on_their_order(dags: Path, copied: list[ConnectorSettings]) -> None:
    run = read(dags, "ignite_to_kafka_mapped").test()
    assert str(run.state) == "success"
    assert {settings.name: settings.to_dict()["cache_whitelist"] for settings in copied} == {
        "mapped-flights": ["flights"],
        "mapped-places": ["airports", "weather"],
        "mapped-fleet": ["airlines", "planes"],
    }
    shown = {task.rendered_map_index: task.map_index for task in run.get_task_instances()}
    assert shown == {"fleet": 0, "flights": 1, "places": 2}
