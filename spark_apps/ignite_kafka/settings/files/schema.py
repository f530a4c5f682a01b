"""JSON Schema of connector files, generated from the settings' definitions, for editors and repository checks.

The schema accepts every file that :func:`.connector_files.read_folder` accepts, except for unquoted texts that look
like a number. It cannot check expressions, and settings that depend on each other: `ignite-kafka validate FOLDER`
checks them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..connect import strimzi
from ..connect.names import CLASSES
from ..connector import ConnectorSettings
from ..fields import Setting, SettingType
from ..sink import SinkSettings
from ..source import SourceSettings
from . import airflow_arguments
from .connector_files import STATES

# the newest version that the YAML language servers of editors support completely
_DIALECT = "http://json-schema.org/draft-07/schema#"
_TEXT_FORMS = {"int": r"^\s*[+-]?[0-9]+\s*$", "boolean": r"^\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\s*$"}
_DIRECTIONS = (SourceSettings, SinkSettings)
_SCALAR = {"type": ["string", "number", "boolean"]}


def document() -> dict[str, Any]:
    """Return the JSON Schema of one YAML document in a connector file."""
    return {
        "$schema": _DIALECT,
        "title": "Connector of ignite-kafka, or a resource of Strimzi",
        "type": "object",
        "if": {"anyOf": [{"required": ["apiVersion"]}, {"required": ["kind"]}]},
        "then": {"$ref": "#/definitions/resource"},
        "else": {"$ref": "#/definitions/connector"},
        "definitions": {
            "source": _config([SourceSettings]),
            "sink": _config([SinkSettings]),
            "config": _config([SourceSettings, SinkSettings]),
            **{
                _key(name, of): _described(of.definitions()[name], of.defaults()[name])
                for of in _DIRECTIONS
                for name in of.definitions()
            },
            "connector": _connector(),
            "resource": _resource(),
            "offset": _offset(),
        },
    }


def text() -> str:
    """Return the JSON Schema as text, to be written into its file."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def of_type(value_type: SettingType) -> dict[str, Any]:
    """Return the JSON Schema of a setting's values, given in the type's own form or as texts."""
    limits = {name: value for name, value in value_type.schema.items() if name != "type"}
    if value_type.type_name == "int":
        types = [*value_type.schema.get("type", ["integer"]), "string"]
        if "anyOf" in limits:
            limits["anyOf"] = [*limits["anyOf"], {"type": "string"}]
        return {"type": types, "pattern": _TEXT_FORMS["int"], **limits}
    if value_type.type_name == "boolean":
        return {"type": ["boolean", "string"], "pattern": _TEXT_FORMS["boolean"]}
    if value_type.type_name == "list":
        return {"type": ["array", "string"], "items": _SCALAR}
    if value_type.type_name == "mapping":
        if value_type.ordered or limits:
            return {"type": ["object", "string"], **limits}
        return {"type": "object", "additionalProperties": _SCALAR}
    if "enum" in limits:
        return {"enum": [*limits["enum"], *(alias for alias in value_type.aliases if alias not in limits["enum"])]}
    return {"type": "string", **limits}


def _described(setting: Setting, default: Any) -> dict[str, Any]:
    default = list(default) if isinstance(default, tuple) else default
    return {
        **of_type(setting.type),
        "description": f"{setting.help}. Allowed: {setting.type.allowed}.",
        "default": default,
    }


def _key(name: str, direction: type[ConnectorSettings]) -> str:
    """Return the key of a setting's schema definition; source and sink share it if their definitions are equal."""
    source, sink = (of.definitions().get(name) for of in _DIRECTIONS)
    return f"sink.{name}" if direction is SinkSettings and source is not None and source != sink else name


def _config(directions: Iterable[type[ConnectorSettings]]) -> dict[str, Any]:
    """Return the schema of a connector's `config`: our names, the GridGain connector's, and dotted names."""
    properties: dict[str, Any] = {}
    for direction in directions:
        for name, setting in direction.definitions().items():
            properties.setdefault(name, {"$ref": f"#/definitions/{_key(name, direction)}"})
            if setting.reference:
                properties.setdefault(setting.reference, {"description": f"{setting.help}."})
    unnamed: dict[str, Any] = {"listeners": {}}
    return {
        "type": "object",
        "properties": dict(sorted({**unnamed, **properties}.items())),
        "patternProperties": {r"\.": {"type": ["string", "number", "boolean", "null"]}},
        "additionalProperties": False,
    }


def _connector() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {
            "name": {
                **of_type(ConnectorSettings.definitions()["name"].type),
                "description": "Name of the connector, and of its Dag",
            },
            "class": {
                "enum": [*CLASSES],
                "description": "Direction. Without it: a sink if config names topics to read, else a source",
            },
            "config": {"$ref": "#/definitions/config"},
            "state": {
                "enum": [*STATES],
                "default": "running",
                "description": "State that `ignite-kafka apply` brings to Kafka",
            },
            "offsets": {"type": "array", "items": {"$ref": "#/definitions/offset"}},
            "dag": _arguments(airflow_arguments.DAG, "Arguments of the Dag"),
            "task": _arguments(airflow_arguments.TASK, "Arguments of the task"),
        },
        **_by_class("class", "config", lambda part: part),
    }


def _by_class(name: str, config: str, inside: Any) -> dict[str, Any]:
    """Return schema rules that, if the class is given, refuse settings of the other direction."""
    rules = []
    for direction, definition in ((SourceSettings, "source"), (SinkSettings, "sink")):
        classes = [class_name for class_name, of in CLASSES.items() if of is direction]
        condition = {"properties": {name: {"enum": classes}}, "required": [name]}
        rules.append(
            {"if": inside(condition), "then": inside({"properties": {config: {"$ref": f"#/definitions/{definition}"}}})}
        )
    return {"allOf": rules}


def _arguments(types: Mapping[str, SettingType], description: str) -> dict[str, Any]:
    properties = {name: {"anyOf": [of_type(value_type), {"type": "null"}]} for name, value_type in types.items()}
    return {
        "type": ["object", "null"],
        "description": description,
        "additionalProperties": False,
        "properties": properties,
    }


def _resource() -> dict[str, Any]:
    spec = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{name: {} for name in strimzi.SPEC},
            "class": {"enum": [*CLASSES]},
            "tasksMax": {"type": "integer", "minimum": 1},
            "state": {"enum": [*STATES]},
            "pause": {"type": "boolean"},
            "config": {"type": ["object", "null"]},
        },
        **_by_class("class", "config", lambda part: part),
    }
    connector = {
        "required": ["apiVersion", "metadata", "spec"],
        "properties": {"apiVersion": {"pattern": f"^{strimzi.GROUP}"}, "spec": spec},
    }
    return {
        "required": ["kind", "metadata"],
        "properties": {"kind": {"enum": ["KafkaConnector", "KafkaConnect", "ConfigMap"]}},
        "if": {"properties": {"kind": {"const": "KafkaConnector"}}},
        "then": connector,
    }


def _offset() -> dict[str, Any]:
    number = {"type": "integer", "minimum": 0}
    return {
        "type": "object",
        "required": ["partition", "offset"],
        "properties": {
            "partition": {
                "oneOf": [
                    {"required": ["cache", "partition"], "properties": {"partition": number}},
                    {"required": ["kafka_topic", "kafka_partition"], "properties": {"kafka_partition": number}},
                ]
            },
            "offset": {"type": ["object", "null"], "properties": {"sent": number, "kafka_offset": number}},
        },
    }
