"""Forms for triggering a Dag by hand: Params from setting definitions, and the arguments that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow.sdk import Param

from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from airflow_provider_ignite_kafka.parse_check import is_of_connections
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connector import NAME, ConnectorSettings
from ignite_kafka.settings.fields import BOOLEAN, TEXT, Setting
from ignite_kafka.settings.suggestions import did_you_mean

_CONNECTION = "Airflow connection"
# templated arguments of operators that are no settings
_ARGUMENTS = {
    "connector": Setting(NAME, "Name of the connector"),
    "force": Setting(
        BOOLEAN, "Clean up even if the connector did not stop gracefully; the changes in its backlog are then lost"
    ),
    "snapshot_id": Setting(
        TEXT, "Runs of one snapshot id send each entry once, over all of them; empty: each run is a snapshot of its own"
    ),
    "run_for": Setting(
        TEXT, "Time after which a stream ends gracefully, such as 8:00:00 or PT8H; empty: it is stopped by hand"
    ),
    "ignite_conn_id": Setting(TEXT, f"{_CONNECTION} of the Ignite cluster"),
    "kafka_conn_id": Setting(TEXT, f"{_CONNECTION} of the Kafka cluster"),
    "conn_id": Setting(TEXT, f"{_CONNECTION} of Spark"),
}
_NEEDED = ("cache_whitelist", "topics")
_EMPTY = {"string": "''", "list": "[]", "mapping": "{}"}


@dataclass(frozen=True)
class Choices:
    """Values among which the user of a form field chooses; the API accepts no others either.

    :param values: values to choose from; in a list setting any number of them, but for caches and topics at least one.
    :param default: initial choice. Default: the first value, or in a list setting all values.
    :param labels: labels that the form shows instead of values.
    """

    values: Sequence[str]
    default: str | Sequence[str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """Form for triggering a copying Dag by hand.

    ::

        FORM = Form(
            IgniteToKafkaOperator,
            {"name": "manual", "cache_whitelist": Choices(["flights", "airlines"])},
            sections={"Target": {"topic_prefix": "manual-", "value_converter": "json"}},
            settings={"tasks_max": 4},
        )
        with DAG("manual", schedule=None, **FORM.dag_arguments):
            IgniteToKafkaOperator(task_id="copy", **FORM.arguments)

    Type, limits, values to choose from and description of a field are those of the setting or argument. Airflow checks
    the values, including those of the API, when the Dag is triggered, and again on the worker.

    :param operator: operator that gets the values.
    :param fields: default of each field by its name, or Choices, or a Param of the author's. A field is a setting, or
        one of ``connector``, ``force``, ``snapshot_id``, ``run_for``, ``ignite_conn_id``, ``kafka_conn_id`` and
        ``conn_id`` as the operator has them.
    :param sections: further fields by the heading of their section.
    :param settings: settings that are no fields.
    :raises SettingsError: a name is unknown (the error suggests the closest name), or a default is wrong.
    """

    operator: type[SparkCopyOperator | BacklogCleanupOperator]
    fields: Mapping[str, Any]
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Param] = field(init=False)
    """Params of the Dag, by name of the field."""

    def __post_init__(self) -> None:
        params = {name: self._param(name, value) for name, value in self.fields.items()}
        for section, fields in self.sections.items():
            for name, value in fields.items():
                params[name] = self._param(name, value, section=section)
        object.__setattr__(self, "params", params)

    @property
    def dag_arguments(self) -> dict[str, Any]:
        """Arguments of the Dag: the form's Params, and native rendering, by which values keep their types."""
        return {"params": dict(self.params), "render_template_as_native_obj": True}

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the operator: templates that read the form's fields, and the fixed settings."""
        own = {name: self._template(name) for name in self.params if name in self._own}
        settings = {**self.settings, **{name: self._template(name) for name in self.params if name not in own}}
        return {**own, "settings": settings} if settings or "connector" not in own else own

    @property
    def _own(self) -> Mapping[str, Setting]:
        return {name: argument for name, argument in _ARGUMENTS.items() if name in self.operator.template_fields}

    def _definition(self, name: str) -> Setting:
        direction = self.operator.direction
        if is_of_connections(name):
            raise SettingsError(
                "the connection decides it", "Offer the connection's id in the form", setting=name, set_in="form"
            )
        definitions = {**direction.definitions(), **self._own}
        if name not in definitions:
            raise SettingsError(
                f"{self.operator.__name__} has no such setting or argument",
                did_you_mean(name, definitions),
                setting=name,
                set_in="form",
            )
        if definitions[name].unsupported is None:
            raise SettingsError("it is not available yet", "Leave it out of the form", setting=name, set_in="form")
        return definitions[name]

    def _param(self, name: str, value: Any, **more: Any) -> Param:
        definition = self._definition(name)
        if isinstance(value, Param):
            return value
        schema = {"title": _title(name), **_schema(name, definition), **more}
        if isinstance(value, Choices):
            _check_choices(name, value)
            schema, value = _with_choices(schema, value)
        if value is not None or "null" not in schema["type"]:
            value = _checked_default(name, definition, value, self.operator.direction)
        _check_choice(name, value, schema)
        return Param(value, description=f"{definition.help}.", schema=schema)

    def _template(self, name: str) -> str:
        """Make the template that reads a field of the form; an emptied field becomes an empty value."""
        empty = _EMPTY.get(self._definition(name).type.type_name)
        nullable = "null" in self.params[name].schema.get("type", ())
        return f"{{{{ params.{name}{f' or {empty}' if nullable and empty else ''} }}}}"


def _title(name: str) -> str:
    words, unit = (name.removesuffix("_ms"), " (ms)") if name.endswith("_ms") else (name, "")
    return words.replace("_", " ").capitalize() + unit


def _schema(name: str, definition: Setting) -> dict[str, Any]:
    """Make the JSON Schema of a form field from its setting; it allows null if the field may be emptied."""
    limits = dict(definition.type.schema)
    match definition.type.type_name:
        case "boolean":
            return {"type": "boolean"}
        case "int":
            return limits
        case "mapping":
            return {"type": ["object", "null"]}
        case "list" if name in _NEEDED:
            return {"type": "array", "items": {"type": "string"}, "minItems": 1}
        case "list":
            return {"type": ["array", "null"], "items": {"type": "string"}}
    if "enum" in limits:
        return {
            "type": "string",
            "enum": [value for value in limits["enum"] if value not in (definition.unsupported or ())],
        }
    return {"type": ["string", "null"] if _may_be_empty(definition) else "string", **limits}


def _may_be_empty(definition: Setting) -> bool:
    try:
        definition.type.parse("")
    except ValueError:
        return False
    return True


def _check_choices(name: str, choices: Choices) -> None:
    if (
        isinstance(choices.values, str)
        or not choices.values
        or not all(isinstance(value, str) for value in choices.values)
    ):
        raise SettingsError(
            "Choices has no list of texts",
            "Name at least one value",
            setting=name,
            value=repr(choices.values),
            set_in="form",
        )


def _with_choices(schema: Mapping[str, Any], choices: Choices) -> tuple[dict[str, Any], Any]:
    """Add choices to the JSON Schema of a form field; also return the field's default."""
    values = list(choices.values)
    labels = {"values_display": dict(choices.labels)} if choices.labels else {}
    if "array" in schema["type"]:
        items = {"type": "string", "enum": values}
        return {**schema, **labels, "items": items, "examples": values}, values if choices.default is None else list(
            choices.default
        )
    without_pattern = {name: limit for name, limit in schema.items() if name != "pattern"}
    return {**without_pattern, **labels, "type": "string", "enum": values}, values[
        0
    ] if choices.default is None else choices.default


def _checked_default(name: str, definition: Setting, value: object, direction: type[ConnectorSettings]) -> Any:
    """Check the default of a form field, and convert it to the form's type."""
    if name in direction.definitions():
        parsed = direction.parsed(name, value, {name: "form"})
    else:
        try:
            parsed = definition.type.parse(value)
        except ValueError as error:
            raise SettingsError(f"{name} is wrong: {error}", setting=name, value=repr(value), set_in="form") from error
    return list(parsed) if isinstance(parsed, tuple) else parsed


def _check_choice(name: str, value: object, schema: Mapping[str, Any]) -> None:
    choices = schema.get("enum", schema.get("items", {}).get("enum"))
    wrong = (
        []
        if choices is None
        else [item for item in (value if isinstance(value, list) else [value]) if item not in choices]
    )
    if wrong:
        raise SettingsError(
            "the default is none of the values to choose from", setting=name, value=repr(wrong[0]), set_in="form"
        )
