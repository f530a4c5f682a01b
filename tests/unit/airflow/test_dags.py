"""The example Dags parse without connections, and their forms have every needed field."""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException, ParamValidationError
from airflow.sdk import DAG
from airflow.sdk.definitions.mappedoperator import MappedOperator

from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from airflow_provider_ignite_kafka.operators.verify import VerifyOperator
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor
from ignite_kafka.plan.cache_changes import CacheState, state_of, state_to_dict
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import CacheStatus, RunStatus
from tests.support.airflow_versions import HASHABLE_ASSETS, DagSerialization, check_cycle, skip_what_it_cannot_read

DAGS = Path(__file__).parents[3] / "dags"
NAMES = [
    "ignite_cache_watch",
    "ignite_replicate",
    "ignite_switchover",
    "ignite_to_kafka_manual",
    "ignite_to_kafka_mapped",
    "ignite_to_kafka_snapshot",
    "ignite_to_kafka_stream",
    "ignite_to_kafka_temporary",
    "ignite_verify",
    "kafka_to_ignite_manual",
    "kafka_to_ignite_scheduled",
]


def read(name: str, dag: str = "dag") -> DAG:
    return getattr(module(name), dag)


def module(name: str) -> ModuleType:
    skip_what_it_cannot_read(name)
    spec = importlib.util.spec_from_file_location(name, DAGS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_all_examples_are_tested() -> None:
    assert sorted(path.stem for path in DAGS.glob("*.py")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_dag_is_read_without_connections(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [variable for variable in os.environ if variable.startswith("AIRFLOW_CONN_")]:
        monkeypatch.delenv(variable)
    dag = read(name)
    check_cycle(dag)
    assert dag.dag_id == name
    if name == "ignite_verify":
        verify = dag.get_task("verify")
        assert isinstance(verify, VerifyOperator)
        assert [outlet.name for outlet in verify.outlets] == ["verified nightly"]
        return
    if name == "ignite_switchover":
        return
    task = dag.get_task("copy")
    if isinstance(task, MappedOperator):
        task = task.unmap({"op_kwargs": {"group": "flights"}})
    assert isinstance(task, KafkaToIgniteOperator if name.startswith("kafka") else IgniteToKafkaOperator)
    assert (task.ignite_conn_id, task.kafka_conn_id, task.conn_id) == ("ignite_default", "kafka_default", "spark_default")


def rendered(dag: DAG, task_id: str, **context: Any) -> Any:
    """A task of a Dag, rendered for a run with the form's defaults."""
    task = dag.get_task(task_id)
    given: Any = {"params": dag.params.validate(), "dag": dag, **context}
    task.render_template_fields(given, jinja_env=dag.get_template_env())
    return task


def test_stream_runs_on_with_settings_of_its_form() -> None:
    task = rendered(read("ignite_to_kafka_stream"), "copy")
    assert isinstance(task, IgniteToKafkaOperator)
    watch = read("ignite_to_kafka_stream", "watch_dag").get_task("watch")
    assert isinstance(watch, IgniteCacheWatchSensor)
    assert isinstance(task.settings, dict)
    assert watch.cache_whitelist == task.settings["cache_whitelist"]
    assert task.settings == {
        "name": "stream",
        "run_mode": "continuous",
        "failover_policy": "BACKLOG",
        "cache_whitelist": ["flights.*", "air.*"],
        "topic_prefix": "stream-",
        "process_removals": True,
    }


def both(dag: DAG) -> tuple[IgniteToKafkaOperator, KafkaToIgniteOperator]:
    copy, store = dag.get_task("copy"), dag.get_task("store")
    assert isinstance(copy, IgniteToKafkaOperator)
    assert isinstance(store, KafkaToIgniteOperator)
    assert (copy.ignite_conn_id, store.ignite_conn_id) == ("ignite_default", "ignite_other")
    assert isinstance(copy.settings, dict)
    assert isinstance(store.settings, dict)
    source, sink = SourceSettings.from_dict(copy.settings), SinkSettings.from_dict(store.settings)
    assert source.name != sink.name
    assert (source.topic_prefix, source.value_converter, source.key_converter) == (
        sink.topic_prefix,
        sink.value_converter,
        sink.key_converter,
    )
    assert sink.topics_regex == f"{source.topic_prefix}.*"
    assert sink.source_types_topic == f"{source.internal_topic_prefix}-types"
    assert sink.process_updates
    return copy, store


def test_replication_of_a_snapshot_stores_what_was_copied() -> None:
    copy, store = both(read("ignite_replicate"))
    assert store.upstream_task_ids == {"copy"}
    assert (copy.run_mode, store.run_mode) == (None, None)


def test_replication_of_changes_runs_both_at_once() -> None:
    dag = read("ignite_replicate", "stream_dag")
    check_cycle(dag)
    copy, store = both(dag)
    assert not store.upstream_task_ids
    assert (copy.run_mode, store.run_mode, copy.failover_policy) == ("continuous", "continuous", "BACKLOG")


def test_cleaning_up_after_the_stream_is_not_forced() -> None:
    task = rendered(read("ignite_to_kafka_stream", "cleanup_dag"), "clean_up")
    assert isinstance(task, BacklogCleanupOperator)
    assert (task.connector, task.force) == ("stream", False)


def test_watch_beside_the_stream_waits_until_new_caches_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    dag = read("ignite_to_kafka_stream", "watch_dag")
    found = SimpleNamespace(xcom_pull=lambda **_: {"created": ["air", "flights-2"]})
    task = rendered(dag, "taken_up", ti=found)
    assert task.op_args == (["air", "flights-2"],)
    taken: dict[str, CacheStatus] = {}
    monkeypatch.setitem(
        task.python_callable.__globals__, "connector_status", lambda name: RunStatus("RUNNING", name, "r", caches=taken) if taken else None
    )
    answers = []
    for name in ("air", "flights-2"):
        answers.append(task.python_callable(*task.op_args))
        taken[name] = CacheStatus(f"stream-{name}")
    assert [*answers, task.python_callable(*task.op_args)] == [False, False, True]


@pytest.mark.parametrize(
    ("name", "direction", "listed"),
    [("ignite_to_kafka_manual", SourceSettings, "cache_whitelist"), ("kafka_to_ignite_manual", SinkSettings, "topics")],
)
def test_form_of_the_manual_dag_fills_every_setting_with_its_type(name: str, direction: type[ConnectorSettings], listed: str) -> None:
    dag = read(name)
    params = dag.params.validate()
    task = rendered(dag, "copy")
    assert isinstance(task, SparkCopyOperator)
    assert isinstance(task.settings, dict)
    filled = {name: "" if value is None else value for name, value in params.items()}
    assert {**task.settings, "run_for": task.run_for} == filled
    direction.from_dict(task.settings)
    assert isinstance(task.settings[listed], list)
    assert isinstance(task.settings["tasks_max"], int)


@pytest.mark.parametrize("name", NAMES)
def test_form_can_be_sent_as_it_is(name: str) -> None:
    """The web UI disables the trigger button while a field is empty whose type excludes null."""
    forms = [dag.params for dag in vars(module(name)).values() if isinstance(dag, DAG)]
    assert forms
    for form in forms:
        for field in form:
            schema = form.get_param(field).schema
            if "null" not in schema["type"]:
                assert form[field] not in (None, ""), f"{field} cannot be sent as it is"
                assert not re.fullmatch(schema.get("pattern", "."), ""), f"{field} cannot be sent empty, though it may be"


@pytest.mark.parametrize("name", ["ignite_to_kafka_manual", "kafka_to_ignite_manual", "ignite_to_kafka_stream"])
def test_emptied_fields_are_empty_texts(name: str) -> None:
    dag = read(name)
    emptied = [field for field in dag.params if "null" in dag.params.get_param(field).schema["type"]]
    assert "topic_prefix" in emptied
    dag.params.update(dict.fromkeys(emptied))
    task = rendered(dag, "copy")
    assert isinstance(task, SparkCopyOperator)
    assert isinstance(task.settings, dict)
    assert {task.settings[field] for field in emptied if field not in ("run_for", "tasks_max")} == {""}
    assert (task.run_for, task.settings.get("tasks_max")) == ("", None)


DEAD_LETTERS: list[dict[str, object]] = [{"error_handling_policy": "IGNORE"}, {"dead_letter_topic": "a b"}]


@pytest.mark.parametrize(
    "wrong", [{"name": "a b"}, {"cache_whitelist": []}, {"tasks_max": 0}, {"key_converter": "xml"}, {"topic_prefix": "a/b"}, *DEAD_LETTERS]
)
def test_form_refuses_what_no_setting_can_be(wrong: dict[str, object]) -> None:
    params = read("ignite_to_kafka_manual").params
    with pytest.raises((ValueError, ParamValidationError), match="Invalid input"):
        params.update(wrong)


@pytest.mark.parametrize("wrong", [{"topics": []}, {"topics": ["a b"]}, *DEAD_LETTERS])
def test_form_of_a_sink_refuses_what_no_setting_can_be(wrong: dict[str, object]) -> None:
    params = read("kafka_to_ignite_manual").params
    with pytest.raises((ValueError, ParamValidationError), match="Invalid input"):
        params.update(wrong)


@pytest.mark.parametrize("name", ["2024", "1e5", "007", "None", "True", "1_000", "[1]"])
def test_text_that_looks_like_a_literal_stays_text(name: str) -> None:
    for dag, fields in (
        (read("ignite_to_kafka_manual"), ("name", "topic_prefix")),
        (read("kafka_to_ignite_manual"), ("name", "topic_prefix", "cache_prefix")),
        (read("ignite_to_kafka_stream"), ("topic_prefix",)),
    ):
        for field in fields:
            if not (schema := dag.params.get_param(field).schema).get("pattern") or re.fullmatch(schema["pattern"], name):
                dag.params[field] = name
        settings = rendered(dag, "copy").settings
        assert {field: settings[field] for field in fields} == {field: dag.params[field] for field in fields}
        assert isinstance(settings.get("tasks_max", 1), int)


def test_connector_that_is_watched_is_the_one_that_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    task = rendered(read("ignite_to_kafka_stream", "watch_dag"), "taken_up", ti=SimpleNamespace(xcom_pull=lambda **_: {"created": ["air"]}))
    monkeypatch.setitem(task.python_callable.__globals__, "connector_status", asked.append)
    task.python_callable(*task.op_args)
    stream = read("ignite_to_kafka_stream")
    stream.params.update({name: "another" for name in stream.params if name == "name"})
    assert asked == [rendered(stream, "copy").settings["name"]]


ONE_AT_A_TIME = ["ignite_cache_watch", "ignite_to_kafka_snapshot", "ignite_to_kafka_stream", "ignite_to_kafka_temporary"]


@pytest.mark.parametrize("name", [*ONE_AT_A_TIME, "kafka_to_ignite_scheduled"])
def test_runs_of_one_connector_wait_for_each_other_in_a_backfill_too(name: str) -> None:
    as_the_scheduler_reads_it = DagSerialization.from_dict(DagSerialization.to_dict(read(name)))
    assert as_the_scheduler_reads_it.get_task("copy").max_active_tis_per_dag == 1


@pytest.mark.parametrize(("ts", "snapshot"), [({"ts": "2025-01-01T02:00:00+00:00"}, "2025-01-01T02:00:00+00:00"), ({}, "backfill__1")])
def test_backfill_sends_nothing_for_a_logical_date_that_has_its_snapshot(ts: dict[str, str], snapshot: str) -> None:
    """A backfill's run has another run id than the scheduled run of the same logical date."""
    assert rendered(read("ignite_to_kafka_snapshot"), "copy", run_id="backfill__1", **ts).snapshot_id == snapshot


def test_backfill_of_a_dag_that_ignores_the_logical_date_is_refused() -> None:
    as_the_scheduler_reads_it = DagSerialization.from_dict(DagSerialization.to_dict(read("kafka_to_ignite_scheduled")))
    allowed: Any = as_the_scheduler_reads_it.allowed_run_types
    assert {kind.value for kind in allowed} == {"manual", "scheduled"}


@dataclass(frozen=True)
class Event:
    """An asset event as a task gets it."""

    id: int
    extra: dict[str, Any]


def found_by(new: list[Event], copied: list[Event]) -> dict[str, Any]:
    """Caches that the asset's Dag copies, given all events of its two assets."""
    dag_file = module("ignite_cache_watch")
    task = dag_file.asset_dag.get_task("new_caches")
    return task.python_callable(inlet_events={dag_file.NEW_CACHES: new, dag_file.COPIED: copied})


def came(number: int, *caches: str) -> Event:
    return Event(number, {"payload": {"cache_whitelist": list(caches)}})


@HASHABLE_ASSETS
def test_asset_dag_copies_the_events_that_no_run_was_given_and_those_of_a_failed_copy() -> None:
    """Airflow passes a run the events until the first queued run and drops the rest; a failed run has copied nothing."""
    events = [came(3, "a"), came(4, "b"), came(7, "c", "a")]
    assert found_by(events, []) == {"caches": ["a", "b", "c"], "last_event": 7}
    assert found_by(events, [Event(5, {"last_event": 3})]) == {"caches": ["a", "b", "c"], "last_event": 7}
    assert found_by(events, [Event(5, {"last_event": 3}), Event(8, {"last_event": 4})]) == {"caches": ["a", "c"], "last_event": 7}


@HASHABLE_ASSETS
@pytest.mark.parametrize(("events", "copied"), [([], []), ([came(3, "a")], [Event(4, {"last_event": 3})])])
def test_asset_dag_that_is_triggered_by_hand_skips_where_nothing_is_new(events: list[Event], copied: list[Event]) -> None:
    with pytest.raises(AirflowSkipException, match="no new cache"):
        found_by(events, copied)


@HASHABLE_ASSETS
def test_asset_dag_notes_what_it_copied_after_the_copy() -> None:
    dag_file = module("ignite_cache_watch")
    task = dag_file.asset_dag.get_task("copied")
    assert task.upstream_task_ids == {"copy", "new_caches"}
    assert task.outlets == [dag_file.COPIED]
    noted = SimpleNamespace(extra={})
    task.python_callable(7, outlet_events={dag_file.COPIED: noted})
    assert noted.extra == {"last_event": 7}


@pytest.mark.parametrize("name", ["ignite_to_kafka_snapshot", "ignite_to_kafka_mapped", "kafka_to_ignite_scheduled"])
def test_scheduled_dag_never_runs_twice_at_once(name: str) -> None:
    assert read(name).max_active_runs == 1


def test_watching_dags_copy_what_is_new_one_run_after_the_other() -> None:
    dag = read("ignite_cache_watch")
    diff = {"cache_whitelist": ["air", r"a\.b"]}
    task = dag.get_task("copy")
    context: Any = {"ti": SimpleNamespace(xcom_pull=lambda **_: diff)}
    task.render_template_fields(context, dag.get_template_env())
    assert isinstance(task, IgniteToKafkaOperator)
    assert isinstance(task.settings, dict)
    assert task.settings["cache_whitelist"] == ["air", r"a\.b"]
    watch = dag.get_task("watch")
    known = {"air": CacheState(1, 2, "PARTITIONED", "ATOMIC", ("a'b → c",)).to_dict()}
    for pushed in (None, known):
        rendered = read("ignite_cache_watch").get_task("watch")
        context = {"ti": SimpleNamespace(xcom_pull=lambda pushed=pushed, **_: pushed)}
        rendered.render_template_fields(context, dag.get_template_env())
        assert isinstance(rendered, IgniteCacheWatchSensor)
        state = state_of(rendered.known)
        assert (None if state is None else state_to_dict(state)) == pushed
    assert isinstance(watch, IgniteCacheWatchSensor)
    assert dag.max_active_runs == 1
