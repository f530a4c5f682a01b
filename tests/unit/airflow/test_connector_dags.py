"""Connector files become Dags; a broken one fails alone and says where."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, BaseHook

from airflow_provider_ignite_kafka.connector_dags import connector_dags
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from ignite_kafka.errors import SettingsError
from tests.support.airflow_versions import DagBag, DagSerialization
from tests.unit.airflow.bench import Bench, context

NIGHTLY = """\
name: nightly
class: IgniteSource
config:
  cache_whitelist: [flights]
  topic_names: {"(.*)": "{{ $1 }}-x"}
dag: {schedule: "0 2 * * *", tags: [team-a], start_date: 2026-01-01}
task: {retries: 3, retry_delay_s: 60, conn_id: spark_cluster, pool: ignite}
"""
STRIMZI = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {name: back, labels: {strimzi.io/cluster: connect}}
spec:
  class: org.gridgain.kafka.sink.IgniteSinkConnector
  tasksMax: 2
  autoRestart: {enabled: true, maxRestarts: 7}
  config: {topics: flights, shallProcessUpdates: true, key.converter: JsonConverter, value.converter: JsonConverter}
"""
ONE_CALL = """\
from pathlib import Path
from airflow_provider_ignite_kafka.connector_dags import connector_dags
connector_dags(Path(__file__).parent)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nightly.yaml").write_text(NIGHTLY.replace("{{ $1 }}", "$1"))
    (tmp_path / "back.yml").write_text(STRIMZI)
    return tmp_path


def copy(dag: Any) -> Any:
    return dag.get_task("copy")


def test_each_connector_is_a_dag_with_the_arguments_of_its_file(folder: Path) -> None:
    dags = connector_dags(folder, prefix="c-", dag_arguments={"tags": ["all"]}, task_arguments={"conn_id": "spark", "owner": "data"})
    assert sorted(dags) == ["c-back", "c-nightly"]
    nightly, back = (cast(Any, dag) for dag in (dags["c-nightly"], dags["c-back"]))
    assert (nightly.schedule, nightly.start_date.year, nightly.tags) == ("0 2 * * *", 2026, {"all", "ignite", "kafka", "team-a"})
    assert (nightly.catchup, nightly.max_active_runs) == (False, 1)
    task = copy(nightly)
    assert isinstance(task, IgniteToKafkaOperator)
    assert (task.retries, task.retry_delay, task.conn_id, task.pool, task.owner) == (
        3,
        timedelta(seconds=60),
        "spark_cluster",
        "ignite",
        "data",
    )
    assert task.max_active_tis_per_dag == 1
    assert "nightly.yaml`, line 1" in (nightly.doc_md or "")
    assert (back.schedule, copy(back).conn_id) == ("@continuous", "spark")


def test_a_connector_of_strimzi_streams_and_is_restarted_as_it_says(folder: Path) -> None:
    task = copy(connector_dags(folder)["back"])
    assert isinstance(task, KafkaToIgniteOperator)
    assert (task.retries, task.retry_delay, task.retry_exponential_backoff) == (7, timedelta(minutes=2), True)


def test_settings_of_a_file_reach_the_app_unrendered(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text('name: "2024"\nconfig: {cache_whitelist: [no, 1e5], topic_prefix: 007}\n')
    (tmp_path / "j.yaml").write_text('name: j\nconfig: {cache_whitelist: ["a{{ 1 }}"], backlog_cache_name: "{{ ds }}"}\n')
    for name, expected in (("2024", (["no", "1e5"], "007", "kafka-connect-backlog")), ("j", (["a{{ 1 }}"], "", "{{ ds }}"))):
        task = copy(connector_dags(tmp_path)[name])
        given = context()
        task.render_template_fields(given)
        task.execute(given)
        settings = bench.seen["request"]["settings"]
        assert (settings["cache_whitelist"], settings["topic_prefix"], settings["backlog_cache_name"]) == expected
        assert bench.seen["request"]["connector"] == name


def test_dags_of_files_can_be_stored_by_the_scheduler(folder: Path) -> None:
    for dag in connector_dags(folder).values():
        DagSerialization.from_dict(DagSerialization.to_dict(dag))


def test_a_stopped_connector_is_not_started(folder: Path) -> None:
    (folder / "back.yml").write_text(STRIMZI + "  state: stopped\n")
    back: Any = connector_dags(folder)["back"]
    assert back.schedule is None
    with pytest.raises(AirflowSkipException, match=r"state of back in back.yml, line 1, is stopped"):
        copy(back).execute({})


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (
            "name: broken\nconfig:\n  cache_whitlist: [a]\n",
            "broken",
            r"cache_whitlist, set in bad.yaml, line 3\]. Did you mean cache_whitelist",
        ),
        ("name: broken\nconfig: [\n", "broken", "not YAML: .*bad.yaml, line 2"),
        ("metadata:\n  name: broken\n\tx: 1\n", "broken", "not YAML: .*bad.yaml, line 3"),
        ("- 1\n", "bad", "the document is no mapping .*bad.yaml, line 1"),
        ("name: nightly\nconfig: {slots: 0}\n", "nightly-bad.yaml-1", "slots is wrong"),
    ],
)
def test_a_broken_file_breaks_its_own_dag_alone(folder: Path, text: str, name: str, message: str) -> None:
    (folder / "bad.yaml").write_text(text)
    dags = connector_dags(folder)
    assert {"back", "nightly"} < set(dags)
    with pytest.raises(AirflowFailException, match=message):
        copy(dags[name]).execute({})
    assert dags[name].schedule is None
    assert "It is broken" in (dags[name].doc_md or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: broken\ndag: {schedule: '61 * * * *'}\n", r"Airflow refuses the Dag: .*out of range .*bad.yaml, line 1"),
        ("name: broken\ndag: {schedule: every day}\n", "Airflow refuses the Dag: .*columns"),
        ("name: broken\ndag: {tags: [" + "x" * 101 + "]}\n", "Airflow refuses the Dag: tag cannot be longer"),
        ("name: broken\nconfig: {run_mode: continuous}\ndag: {max_active_runs: 5}\n", "Airflow refuses the Dag: .*max_active_runs"),
        ("name: not a name\n", "name is wrong"),
        ("name: " + "x" * 300 + "\n", "name is wrong"),
    ],
)
def test_what_only_airflow_refuses_breaks_its_own_dag_alone(folder: Path, text: str, message: str) -> None:
    (folder / "bad.yaml").write_text(text)
    (folder / "a file (new).yaml").write_text("- 1\n")
    (folder / "connectors.py").write_text(ONE_CALL)
    bag = DagBag(folder)
    assert bag.import_errors == {}
    assert len(bag.dags) == 4
    wrong: Any = {dag_id: dag for dag_id, dag in connector_dags(folder).items() if "bad.yaml" in (dag.doc_md or "")}
    [(dag_id, dag)] = wrong.items()
    assert ("broken" in text) is (dag_id == "broken")
    with pytest.raises(AirflowFailException, match=message):
        copy(dag).execute({})


def test_arguments_of_the_dag_file_that_airflow_refuses_are_its_import_error(folder: Path) -> None:
    with pytest.raises(TypeError, match="no_such_argument"):
        connector_dags(folder, dag_arguments={"no_such_argument": 1})


def test_two_connectors_of_one_name_are_both_broken(folder: Path) -> None:
    (folder / "again.yaml").write_text("name: nightly\n")
    dags = connector_dags(folder)
    for name, other in (("nightly", "nightly.yaml"), ("nightly-nightly.yaml-1", "again.yaml")):
        with pytest.raises(AirflowFailException, match=f"the connector nightly is in {other}, line 1, too"):
            copy(dags[name]).execute({})


def test_one_call_in_a_dag_file_is_enough(folder: Path) -> None:
    (folder / "bad.yaml").write_text("name: bad\nconfig: {tasks_max: 0}\n")
    (folder / "connectors.py").write_text(ONE_CALL)
    bag = DagBag(folder)
    assert bag.import_errors == {}
    assert sorted(bag.dags) == ["back", "bad", "nightly"]


def test_a_folder_that_is_missing_is_an_import_error() -> None:
    with pytest.raises(SettingsError, match="there is no such folder of connector files"):
        connector_dags("/not/here")


@pytest.fixture(autouse=True)
def no_lookups(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Connections are looked up by runs alone."""
    if "bench" not in request.fixturenames:

        def look_up(*_: object) -> None:
            raise AssertionError("a connection was looked up")

        monkeypatch.setattr(BaseHook, "get_connection", look_up)
