"""Conversion of Connect schemas into JSON Schemas, as Confluent's JsonSchemaConverter does it.

A value that may be null is ``oneOf`` null and its type; ``connect.type``, ``connect.index``, ``connect.version`` and
``connect.parameters`` keep the properties unknown to JSON Schema. Members have the order of Confluent's JSON Schema
library: title, description, default, members of the type, Connect's members.

Source: io.confluent.connect.json.JsonSchemaData.rawSchemaFromConnectSchema.
"""

from __future__ import annotations

import json
from typing import Any

from ...errors import UnsupportedType
from ..connect import ConnectColumn, ConnectSchema, ConnectType
from ..connect.map_entries import is_listed
from ..connect.schema import DECIMAL, default_array
from ..json.write_columns import JsonFormat
from ..json_with_schemas.payloads import payload

_NAMESPACE = "io.confluent.connect.json"
_ENUM = f"{_NAMESPACE}.Enum"
_NULL = {"type": "null"}
_CONNECT_TYPES = {
    ConnectType.INT8: "int8", ConnectType.INT16: "int16", ConnectType.INT32: "int32", ConnectType.INT64: "int64",
    ConnectType.FLOAT32: "float32", ConnectType.FLOAT64: "float64", ConnectType.BYTES: "bytes",
}  # fmt: skip
_INTEGERS = {ConnectType.INT8, ConnectType.INT16, ConnectType.INT32, ConnectType.INT64}


def json_schema_text(schema: ConnectSchema, form: JsonFormat, *, additional: bool = True) -> str:
    """Convert a Connect schema to the text of a JSON Schema.

    :param form: JSON form of decimals in defaults.
    :param additional: whether objects may have members that the schema does not name.
    :raises UnsupportedType: a default does not fit its schema.
    """
    return _text(_schema(schema, form, additional))


class _Json(str):
    """A JSON text written unchanged into the schema, so that numbers in a default keep their digits."""


def _text(node: Any) -> str:
    if isinstance(node, _Json):
        return node
    if isinstance(node, dict):
        return "{" + ",".join(f"{_text(name)}:{_text(item)}" for name, item in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(_text, node)) + "]"
    return json.dumps(node, ensure_ascii=False)


def _schema(schema: ConnectSchema, form: JsonFormat, additional: bool, index: int | None = None) -> dict[str, Any]:
    place = {} if index is None else {"connect.index": index}
    if schema.optional:
        return {"oneOf": [_NULL, _schema(schema.as_optional(False), form, additional)], **place}
    members: dict[str, Any] = {}
    if schema.name is not None:
        members["title"] = schema.name
    if schema.doc is not None:
        members["description"] = schema.doc
    if schema.default is not None:
        members["default"] = _Json(payload(ConnectColumn(default_array(schema), schema), form)[0].as_py().decode())
    members |= _type(schema, form, additional)
    if schema.version is not None:
        members["connect.version"] = schema.version
    if parameters := {name: value for name, value in schema.parameters if not name.startswith(_NAMESPACE)}:
        members["connect.parameters"] = parameters
    return {**members, **place}


def _type(schema: ConnectSchema, form: JsonFormat, additional: bool) -> dict[str, Any]:
    kind = schema.type
    if kind is ConnectType.STRUCT:
        properties = {
            field.name: _schema(field.schema, form, additional, number) for number, field in enumerate(schema.fields)
        }
        return {"type": "object", "properties": properties, **({} if additional else {"additionalProperties": False})}
    if kind is ConnectType.ARRAY:
        return {"type": "array", "items": _schema(_inner(schema.value_schema), form, additional)}
    if kind is ConnectType.MAP:
        return {**_map(schema, form, additional), "connect.type": "map"}
    if kind is ConnectType.STRING:
        symbols = [value for name, value in schema.parameters if name.startswith(f"{_ENUM}.")]
        return {"enum": symbols} if any(name == _ENUM for name, _value in schema.parameters) else {"type": "string"}
    if kind is ConnectType.BOOLEAN:
        return {"type": "boolean"}
    if kind is ConnectType.BYTES:
        return {"type": "number" if schema.name == DECIMAL else "string", "connect.type": "bytes"}
    return {"type": "integer" if kind in _INTEGERS else "number", "connect.type": _CONNECT_TYPES[kind]}


def _map(schema: ConnectSchema, form: JsonFormat, additional: bool) -> dict[str, Any]:
    if not is_listed(schema):
        return {"type": "object", "additionalProperties": _schema(_inner(schema.value_schema), form, additional)}
    sides = (("key", schema.key_schema), ("value", schema.value_schema))
    properties = {name: _schema(_inner(side), form, additional, number) for number, (name, side) in enumerate(sides)}
    return {"type": "array", "items": {"type": "object", "properties": properties}}


def _inner(schema: ConnectSchema | None) -> ConnectSchema:
    if schema is None:
        raise UnsupportedType("an ARRAY or MAP without the schema of its content", "Correct the schema.")
    return schema
