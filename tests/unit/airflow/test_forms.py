"""Forms: fields with type, limits, choices and description of the settings, and arguments that read them."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.common.compat.sdk import ParamValidationError
from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.forms import Choices, Form
from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

Operator = type[SparkCopyOperator | BacklogCleanupOperator]
NOT_OFFERED = ("ignite_address", "ignite_tls_", "bootstrap_servers", "metrics_host")


def offered(operator: Operator) -> dict[str, Any]:
    """Each setting that a form can offer, with its default."""
    known, defaults = operator.direction.definitions(), operator.direction.defaults()
    return {
        name: defaults[name] or {"name": "c", "topics": ["t"], "cache_whitelist": ["a"]}.get(name, defaults[name])
        for name, setting in known.items()
        if setting.unsupported is not None and not name.startswith(NOT_OFFERED)
    }


def rendered(form: Form, **given: Any) -> Any:
    """A task that has read the form of a run with these values."""
    with DAG("d", schedule=None, **form.dag_arguments) as dag:
        task: Any = form.operator(task_id="copy", **form.arguments)
    dag.params.update(given)
    task.render_template_fields({"params": dag.params.validate()}, jinja_env=dag.get_template_env())
    return task


@pytest.mark.parametrize("operator", [IgniteToKafkaOperator, KafkaToIgniteOperator, BacklogCleanupOperator])
def test_every_setting_can_be_a_field_and_comes_back_as_it_is(operator: Operator) -> None:
    own = {"connector": "c"} if operator is BacklogCleanupOperator else {}
    form = Form(operator, {**own, **offered(operator)})
    task = rendered(form)
    expected = {**operator.direction.defaults(), **offered(operator)}
    built = operator.direction.from_dict(task.settings).to_dict()
    assert built == operator.direction.from_dict({name: expected[name] for name in built if name in task.settings}).to_dict()
    assert all(param.description for param in form.params.values())


@pytest.mark.parametrize("operator", [IgniteToKafkaOperator, KafkaToIgniteOperator])
def test_emptied_fields_are_the_empty_values_of_their_settings(operator: Operator) -> None:
    form = Form(operator, offered(operator))
    emptied = {name: None for name, param in form.params.items() if "null" in param.schema["type"]}
    assert {"dead_letter_topic", "overrides", "tasks_max", "transforms", "cache_filter"} - set(emptied) == {"cache_filter"}, "not available"
    operator.direction.from_dict(rendered(form, **emptied).settings)


def test_enumerations_and_limits_are_those_of_the_settings() -> None:
    form = Form(
        IgniteToKafkaOperator, {"run_mode": "once", "value_converter": "json", "tasks_max": 2, "slots": None, "cache_blacklist": []}
    )
    schemas = {name: param.schema for name, param in form.params.items()}
    assert schemas["run_mode"]["enum"] == ["once", "continuous"]
    assert {"json", "ignite-binary", "avro"} <= set(schemas["value_converter"]["enum"])
    assert (schemas["tasks_max"]["type"], schemas["tasks_max"]["minimum"]) == (["integer", "null"], 1)
    assert (schemas["slots"]["maximum"], schemas["slots"]["title"]) == (10_000, "Slots")
    assert schemas["cache_blacklist"]["type"] == ["array", "null"]
    assert form.params["tasks_max"].description == f"{SourceSettings.definitions()['tasks_max'].help}."


@pytest.mark.parametrize("number", [0, -2, 1.5, "2"])
def test_numbers_out_of_range_are_refused(number: object) -> None:
    form = Form(IgniteToKafkaOperator, {"topic_partitions": -1})
    with pytest.raises(ParamValidationError):
        rendered(form, topic_partitions=number)
    assert rendered(form, topic_partitions=8).settings == {"topic_partitions": 8}


def test_choices_are_the_only_values() -> None:
    labels = {"air": "Airlines and airports"}
    caches = Choices(["flights", "air", "2024"], default=["2024"], labels=labels)
    form = Form(IgniteToKafkaOperator, {"name": Choices(["a", "2024"]), "cache_whitelist": caches})
    assert form.params["name"].schema["enum"] == ["a", "2024"]
    assert form.params["cache_whitelist"].schema["examples"] == ["flights", "air", "2024"], "the form offers them"
    assert form.params["cache_whitelist"].schema["values_display"] == labels
    assert rendered(form).settings == {"name": "a", "cache_whitelist": ["2024"]}
    assert rendered(form, name="2024", cache_whitelist=["air"]).settings == {"name": "2024", "cache_whitelist": ["air"]}
    refused: list[dict[str, Any]] = [{"name": "b"}, {"cache_whitelist": ["air", "b"]}, {"cache_whitelist": []}, {"cache_whitelist": "air"}]
    for wrong in refused:
        with pytest.raises(ParamValidationError):
            rendered(form, **wrong)


def test_sections_constants_and_params_of_the_author() -> None:
    own = Param("p-", type="string", pattern="^p-")
    form = Form(
        KafkaToIgniteOperator,
        {"topics": Choices(["t"])},
        sections={"Target": {"cache_prefix": own, "process_updates": True}},
        settings={"name": "fixed", "batch_size": 5},
    )
    assert form.params["process_updates"].schema["section"] == "Target"
    assert form.params["cache_prefix"] is own
    settings = rendered(form).settings
    assert settings == {"name": "fixed", "batch_size": 5, "topics": ["t"], "cache_prefix": "p-", "process_updates": True}
    assert SinkSettings.from_dict(settings).topics == ("t",)


def test_arguments_of_the_operator_are_no_settings() -> None:
    form = Form(IgniteToKafkaOperator, {"run_for": None, "snapshot_id": None, "ignite_conn_id": Choices(["ignite_eu", "ignite_us"])})
    assert set(form.arguments) == {"run_for", "snapshot_id", "ignite_conn_id", "settings"}
    task = rendered(form, ignite_conn_id="ignite_us", run_for="PT8H")
    assert (task.ignite_conn_id, task.run_for, task.snapshot_id, task.settings) == ("ignite_us", "PT8H", "", {})
    cleanup = rendered(Form(BacklogCleanupOperator, {"connector": Choices(["2024", "b"]), "force": False}), force=True)
    assert (cleanup.connector, cleanup.force, cleanup.settings) == ("2024", True, None)
    with_settings = Form(BacklogCleanupOperator, {"connector": "c"}, settings={"internal_topic_prefix": "own"})
    assert rendered(with_settings).settings == {"internal_topic_prefix": "own"}


@pytest.mark.parametrize(
    ("operator", "field", "value", "message"),
    [
        (IgniteToKafkaOperator, "cache_whitlist", ["a"], "no such setting or argument .*Did you mean cache_whitelist"),
        (IgniteToKafkaOperator, "topics", ["a"], "no such setting or argument"),
        (IgniteToKafkaOperator, "force", True, "no such setting or argument"),
        (BacklogCleanupOperator, "snapshot_id", "a", "no such setting or argument"),
        (IgniteToKafkaOperator, "tasks_max", 0, "tasks_max is wrong: it is out of range"),
        (IgniteToKafkaOperator, "name", "a b", "name is wrong"),
        (IgniteToKafkaOperator, "name", None, "name is wrong"),
        (BacklogCleanupOperator, "connector", "a b", "connector is wrong"),
        (IgniteToKafkaOperator, "cache_filter", "com.example.Filter", "not available yet"),
        (IgniteToKafkaOperator, "bootstrap_servers", "a:9092", "the connection decides"),
        (IgniteToKafkaOperator, "ignite_tls_verify", False, "the connection decides"),
        (IgniteToKafkaOperator, "metrics_host", "0.0.0.0", "the Dag's author decides it"),
        (IgniteToKafkaOperator, "cache_whitelist", Choices(["a"], default=["b"]), "none of the values"),
        (IgniteToKafkaOperator, "name", Choices(["a"], default="b"), "none of the values"),
        (IgniteToKafkaOperator, "cache_whitelist", Choices([]), "Choices has no list of texts"),
        (IgniteToKafkaOperator, "cache_whitelist", Choices("flights"), "Choices has no list of texts"),
        (IgniteToKafkaOperator, "cache_whitelist", Choices([2024]), "Choices has no list of texts"),  # type: ignore[list-item]
    ],
)
def test_wrong_forms_are_import_errors(operator: Operator, field: str, value: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Form(operator, {field: value})


def test_values_of_a_form_are_no_templates() -> None:
    """Airflow renders a template once, so an expression that somebody types stays a text."""
    form = Form(KafkaToIgniteOperator, {"topics": ["t"], "cache_prefix": ""})
    assert rendered(form, cache_prefix="{{ var.value.password }}").settings["cache_prefix"] == "{{ var.value.password }}"


CHOICES = {
    "where": "price > 1 AND day = DATE '2024-01-31'",
    "filter": "acme.filters:rich",
    "select": "price, day, symbol AS s",
    "transforms": ["mask"],
    "transform_config": {"mask": {"type": "org.apache.kafka.connect.transforms.MaskField$Value", "fields": "s", "predicate": "old"}},
    "predicates": ["old"],
    "predicate_config": {"old": {"type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches", "pattern": "old.*"}},
}


@pytest.mark.parametrize("operator", [IgniteToKafkaOperator, KafkaToIgniteOperator])
def test_filters_fields_and_transforms_are_chosen_in_a_form(operator: Operator) -> None:
    empty: dict[str, Any] = {name: value if isinstance(value, str) and not value else type(value)() for name, value in CHOICES.items()}
    needed = {"name": "c", "topics": ["t"]} if operator is KafkaToIgniteOperator else {"name": "c", "cache_whitelist": ["a"]}
    built = operator.direction.from_dict(rendered(Form(operator, empty, settings=needed), **CHOICES).settings)
    assert {name: built.to_dict()[name] for name in CHOICES} == CHOICES


@pytest.mark.parametrize("operator", [IgniteToKafkaOperator, KafkaToIgniteOperator])
def test_filters_fields_and_transforms_of_an_operator_are_templates(operator: Operator) -> None:
    given = {
        "where": "day = DATE '{{ params.day }}'", "filter": "acme.{{ params.team }}:rich", "select": "{{ params.field }} AS s",
        "transforms": ["{{ params.team }}"],
    }  # fmt: skip
    copies: Any = operator
    with DAG("d", schedule=None, params={"day": "2024-01-31", "team": "mask", "field": "symbol"}) as dag:
        task = copies(task_id="copy", settings=given)
    task.render_template_fields({"params": dag.params.dump()}, jinja_env=dag.get_template_env())
    assert task.settings == {
        "where": "day = DATE '2024-01-31'", "filter": "acme.mask:rich", "select": "symbol AS s", "transforms": ["mask"],
    }  # fmt: skip
