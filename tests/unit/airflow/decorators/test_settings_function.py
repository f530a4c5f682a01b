"""Decorated functions that return the settings of a copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, TaskDeferred
from airflow.sdk import DAG, XComArg, task

from airflow_provider_ignite_kafka import get_provider_info
from airflow_provider_ignite_kafka.decorators.ignite_to_kafka import IgniteToKafkaDecoratedOperator, ignite_to_kafka_task
from airflow_provider_ignite_kafka.decorators.kafka_to_ignite import KafkaToIgniteDecoratedOperator
from airflow_provider_ignite_kafka.decorators.settings_function import SettingsFunction
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.state.status import RUNNING
from tests.support.airflow_versions import DagSerialization, ProvidersManagerTaskRuntime
from tests.unit.airflow.bench import Bench, context, run_status


@pytest.fixture
def copied(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[ConnectorSettings]:
    """Settings of each copy that was submitted."""
    found: list[ConnectorSettings] = []
    monkeypatch.setattr(SparkCopyOperator, "check_clusters", lambda _operator, request, ignite: found.append(request.settings))
    return found


def decorated(function: Callable[..., Any], *args: Any, arguments: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    """The task of a decorated function, called with these arguments."""
    with DAG("nightly", schedule=None, render_template_as_native_obj=True):
        made = task.ignite_to_kafka(**(arguments or {}))(function)(*args, **kwargs)
    return operator_of(made)


def operator_of(made: XComArg) -> Any:
    [(operator, _)] = made.iter_references()
    return operator


def rendered(operator: Any, **given: Any) -> Any:
    operator.render_template_fields({**context(), **given}, jinja_env=operator.dag.get_template_env())
    return operator


def assert_has(settings: ConnectorSettings, expected: dict[str, Any]) -> None:
    given = settings.to_dict()
    assert {name: given[name] for name in expected} == expected


def copy(caches: Any, prefix: str = "") -> dict[str, Any]:
    return {"cache_whitelist": caches, "topic_prefix": prefix}


def test_decorators_are_registered_by_the_provider_info() -> None:
    names = {entry["name"]: entry["class-name"] for entry in get_provider_info()["task-decorators"]}
    assert set(names) == {"ignite_to_kafka", "kafka_to_ignite"}
    registered = dict(ProvidersManagerTaskRuntime().taskflow_decorators)
    assert set(names) <= set(registered)
    assert registered["ignite_to_kafka"] is ignite_to_kafka_task


def test_the_task_copies_with_the_settings_that_the_function_returns(copied: list[ConnectorSettings]) -> None:
    operator = rendered(decorated(copy, ["flights"], prefix="{{ params.prefix }}"))
    assert isinstance(operator, IgniteToKafkaDecoratedOperator)
    assert operator.task_id == "copy"
    assert operator.execute(context())["state"] == "COMPLETED"
    [settings] = copied
    assert_has(settings, {"name": "nightly.copy", "cache_whitelist": ["flights"], "topic_prefix": "p-"})


def test_the_function_gets_the_context_that_it_names(copied: list[ConnectorSettings]) -> None:
    def copy(params: Any = None, run_id: Any = None) -> dict[str, Any]:
        return {"cache_whitelist": ["a"], "topic_prefix": f"{params['prefix']}{run_id[:6]}-"}

    decorated(copy).execute(context())
    assert copied[0].to_dict()["topic_prefix"] == "p-manual-"


def test_settings_beside_the_function_are_kept_unless_it_returns_them(copied: list[ConnectorSettings]) -> None:
    base = {"topic_prefix": "base-", "name": "{{ params.prefix }}c", "tasks_max": 3}
    rendered(decorated(copy, ["a"], "own-", arguments={"settings": base})).execute(context())
    assert_has(copied[0], {"topic_prefix": "own-", "name": "p-c", "tasks_max": 3})


@pytest.mark.parametrize(
    ("base", "message"),
    [({"topic_prefx": "a"}, "Did you mean topic_prefix.*"), ({"tasks_max": 0}, "out of range"), ({"cache_whitelist": []}, "is empty")],
)
def test_settings_beside_the_function_are_checked_when_the_dag_is_parsed(base: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        decorated(copy, ["a"], arguments={"settings": base})
    assert (refused.value.where["dag"], refused.value.where["task"]) == ("nightly", "copy")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "copy returned NoneType, not a mapping of settings"),
        ({"topic_prefx": "a"}, "Did you mean topic_prefix"),
        ({"cache_whitelist": []}, "cache_whitelist was given and is empty"),
    ],
)
def test_wrong_settings_of_the_function_fail_without_a_retry(bench: Bench, returned: Any, message: str) -> None:
    def copy() -> Any:
        return returned

    with pytest.raises(AirflowFailException, match=message):
        decorated(copy).execute(context())
    assert not (bench.folder / "seen.json").exists()


def test_a_text_of_the_function_is_no_template(copied: list[ConnectorSettings]) -> None:
    """A text may come from a form, whose sender must not read Airflow's variables."""
    with pytest.raises(AirflowFailException, match=r"topic_prefix.*\{\{ var.value.password \}\}"):
        rendered(decorated(copy, ["a"], "{{ params.typed }}"), params={"typed": "{{ var.value.password }}"}).execute(context())
    assert copied == []


def test_the_function_may_skip(bench: Bench) -> None:
    def copy() -> dict[str, Any]:
        raise AirflowSkipException("nothing is new")

    with pytest.raises(AirflowSkipException, match="nothing is new"):
        decorated(copy).execute(context())


def test_the_other_direction(copied: list[ConnectorSettings]) -> None:
    with DAG("nightly", schedule=None):

        @task.kafka_to_ignite(settings={"process_updates": True}, retries=2)
        def store(topics: list[str]) -> dict[str, Any]:
            """Store topics."""
            return {"topics": topics}

        operator = operator_of(store(["t"]))
    assert isinstance(operator, KafkaToIgniteDecoratedOperator)
    assert (operator.retries, operator.doc_md, operator.multiple_outputs) == (2, "Store topics.", False)
    operator.execute(context())
    assert_has(copied[0], {"topics": ["t"], "process_updates": True})


def test_override_and_several_calls_make_tasks_of_their_own(bench: Bench) -> None:
    with DAG("nightly", schedule=None) as dag:
        made = task.ignite_to_kafka(retries=1)(copy)
        made(["a"])
        made(["b"])
        made.override(task_id="other", run_mode="continuous", settings={"name": "other"})(["c"])
    assert set(dag.task_ids) == {"copy", "copy__1", "other"}
    other: Any = dag.get_task("other")
    assert (other.run_mode, other.settings, other.retries) == ("continuous", {"name": "other"}, 1)


def test_runs_wait_for_each_other(bench: Bench) -> None:
    assert decorated(copy, ["a"]).max_active_tis_per_dag == 1
    assert decorated(copy, ["a"], arguments={"max_active_tis_per_dag": 4}).max_active_tis_per_dag == 4


def test_mapped_calls_have_connectors_and_snapshots_of_their_own(copied: list[ConnectorSettings], bench: Bench) -> None:
    with DAG("nightly", schedule=None) as dag:
        task.ignite_to_kafka(settings={"topic_prefix": "m-"})(copy).partial(prefix="x-").expand(caches=[["a"], ["b"]])
    DagSerialization.from_dict(DagSerialization.to_dict(dag))
    mapped: Any = dag.get_task("copy")
    for index, caches in enumerate((["a"], ["b"])):
        operator = mapped.unmap({"op_kwargs": {"prefix": "x-", "caches": caches}})
        operator.execute(context(map_index=index))
        assert copied[index].to_dict()["cache_whitelist"] == caches
    assert [settings.name for settings in copied] == ["nightly.copy.0", "nightly.copy.1"]


def test_deferred_copy_knows_its_settings_after_its_trigger(bench: Bench, connect: Any, copied: list[ConnectorSettings]) -> None:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    calls: list[int] = []

    def copy() -> dict[str, Any]:
        calls.append(1)
        return {"cache_whitelist": ["a"], "name": "c"}

    bench.status = lambda: run_status(RUNNING)
    arguments = {"deferrable": True, "secrets_file": str(secrets(bench.folder))}
    with pytest.raises(TaskDeferred) as deferred:
        decorated(copy, arguments=arguments).execute(context())
    event = {"run": deferred.value.trigger.serialize()[1]["run"], "reason": "ended"}
    bench.status = lambda: run_status("COMPLETED")
    resumed = decorated(copy, arguments=arguments)  # in another process
    assert resumed.execute_complete(context(), event)["records"] == 10
    assert (len(calls), resumed.settings["name"]) == (2, "c")


def secrets(folder: Path) -> Path:
    path = folder / "secrets.json"
    path.touch(0o600)
    path.write_text(json.dumps({"ignite": {"username": "ignite", "password": "ignite-sesame"}, "kafka": {"sasl.password": "kafka-sesame"}}))
    return path


def test_lineage_is_empty_until_the_function_was_called(bench: Bench) -> None:
    operator = decorated(copy, ["a"])
    found = operator.get_openlineage_facets_on_start()
    assert (found.inputs, found.outputs) == ([], [])


def test_the_operator_keeps_its_fields() -> None:
    assert set(IgniteToKafkaOperator.template_fields) | {"op_args", "op_kwargs"} == set(IgniteToKafkaDecoratedOperator.template_fields)
    assert issubclass(IgniteToKafkaDecoratedOperator, SettingsFunction)
    assert IgniteToKafkaDecoratedOperator.custom_operator_name == "@task.ignite_to_kafka"
