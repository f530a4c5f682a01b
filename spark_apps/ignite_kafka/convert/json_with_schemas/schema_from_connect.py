"""Writer of Connect schemas as JSON, byte for byte as Kafka's JsonConverter with ``schemas.enable=true``.

Source: org.apache.kafka.connect.json.JsonConverter.asJsonSchema (4.3.1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ...java.jackson_text import escape
from ..connect import ConnectColumn, ConnectSchema, ConnectType
from ..connect.schema import default_array
from ..json.write_columns import JsonFormat
from .payloads import payload


def quoted(text: str) -> str:
    """Return a text as a JSON string with Jackson's escapes; half of a surrogate pair becomes an escape."""
    return escape(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")).decode("utf-8")


def schema_json(schema: ConnectSchema | None, form: JsonFormat) -> str:
    """Return a Connect schema as compact JSON; ``null`` without a schema.

    :param form: JSON form of decimals in defaults.
    :raises UnsupportedType: a default does not fit its schema.
    """
    if schema is None:
        return "null"
    return "{" + _members(schema, form) + "}"


def _members(schema: ConnectSchema, form: JsonFormat) -> str:
    return ",".join(f'"{name}":{value}' for name, value in _parts(schema, form))


def _parts(schema: ConnectSchema, form: JsonFormat) -> Iterable[tuple[str, str]]:
    yield "type", f'"{schema.type}"'
    if schema.type is ConnectType.ARRAY:
        yield "items", schema_json(schema.value_schema, form)
    elif schema.type is ConnectType.MAP:
        yield "keys", schema_json(schema.key_schema, form)
        yield "values", schema_json(schema.value_schema, form)
    elif schema.type is ConnectType.STRUCT:
        fields = (f'{{{_members(field.schema, form)},"field":{quoted(field.name)}}}' for field in schema.fields)
        yield "fields", f"[{','.join(fields)}]"
    yield "optional", "true" if schema.optional else "false"
    if schema.name is not None:
        yield "name", quoted(schema.name)
    if schema.version is not None:
        yield "version", str(schema.version)
    if schema.doc is not None:
        yield "doc", quoted(schema.doc)
    if schema.parameters:
        pairs = dict(schema.parameters)
        yield "parameters", "{" + ",".join(f"{quoted(name)}:{quoted(value)}" for name, value in pairs.items()) + "}"
    if schema.default is not None:
        yield "default", payload(ConnectColumn(default_array(schema), schema), form)[0].as_py().decode()
