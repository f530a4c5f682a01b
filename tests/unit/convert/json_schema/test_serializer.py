"""Documents and JSON Schemas of converter json-schema; that they read back: tests/unit/convert/json_schema/test_deserializer.py."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema

from ignite_kafka.convert.connect import ConnectColumn, ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_schema.compatibility import find_refusal
from ignite_kafka.convert.json_schema.schema_from_connect import json_schema_text
from ignite_kafka.convert.json_schema.serializer import JsonSchemaSerializer
from ignite_kafka.errors import RegistryError, UnsupportedType
from tests.support.registry import MemoryClient, memory_registry

LONG, TEXT = ConnectSchema(ConnectType.INT64), ConnectSchema(ConnectType.STRING, optional=True)
BY_NUMBER = ConnectSchema(ConnectType.MAP, key_schema=ConnectSchema(ConnectType.INT32), value_schema=TEXT)
BY_NAME = ConnectSchema(ConnectType.MAP, optional=True, key_schema=ConnectSchema(ConnectType.STRING), value_schema=LONG)
ORDER = ConnectSchema(
    ConnectType.STRUCT, name="shop.Order", version=3, doc="One order",
    fields=(
        ConnectField("id", LONG), ConnectField("price", connect.decimal(2, optional=True)), ConnectField("note", TEXT),
        ConnectField("day", connect.date()), ConnectField("tags", BY_NUMBER), ConnectField("stock", BY_NAME),
    ),
)  # fmt: skip
ROWS = [
    {"id": 7, "price": Decimal("12.50"), "note": None, "day": dt.date(2026, 1, 2), "tags": [(1, "a"), (2, None)], "stock": [("x", 1)]},
    {"id": 8, "price": None, "note": "é", "day": dt.date(1970, 1, 1), "tags": [], "stock": None},
]


def schema(one: ConnectSchema, **options: Any) -> Any:
    return json.loads(json_schema_text(one, JsonFormat(), **options))


@pytest.mark.parametrize(
    ("one", "wanted"),
    [
        (ConnectSchema(ConnectType.INT8), {"type": "integer", "connect.type": "int8"}),
        (ConnectSchema(ConnectType.INT16), {"type": "integer", "connect.type": "int16"}),
        (ConnectSchema(ConnectType.INT32), {"type": "integer", "connect.type": "int32"}),
        (LONG, {"type": "integer", "connect.type": "int64"}),
        (ConnectSchema(ConnectType.FLOAT32), {"type": "number", "connect.type": "float32"}),
        (ConnectSchema(ConnectType.FLOAT64), {"type": "number", "connect.type": "float64"}),
        (ConnectSchema(ConnectType.BOOLEAN), {"type": "boolean"}),
        (ConnectSchema(ConnectType.STRING), {"type": "string"}),
        (ConnectSchema(ConnectType.BYTES), {"type": "string", "connect.type": "bytes"}),
        (TEXT, {"oneOf": [{"type": "null"}, {"type": "string"}]}),
        (ConnectSchema(ConnectType.STRING, doc="d", default="x"), {"description": "d", "default": "x", "type": "string"}),
        (
            connect.decimal(2),
            {
                "title": connect.DECIMAL,
                "type": "number",
                "connect.type": "bytes",
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
            },
        ),
        (connect.timestamp(), {"title": connect.TIMESTAMP, "type": "integer", "connect.type": "int64", "connect.version": 1}),
        (ConnectSchema(ConnectType.ARRAY, value_schema=TEXT), {"type": "array", "items": schema(TEXT)}),
        (BY_NAME, {"oneOf": [{"type": "null"}, {"type": "object", "additionalProperties": schema(LONG), "connect.type": "map"}]}),
        (
            BY_NUMBER,
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                        "value": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
                    },
                },
                "connect.type": "map",
            },
        ),
        (
            ConnectSchema(ConnectType.STRUCT, name="P", fields=(ConnectField("b", TEXT), ConnectField("a", LONG))),
            {
                "title": "P",
                "type": "object",
                "properties": {
                    "b": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 0},
                    "a": {"type": "integer", "connect.type": "int64", "connect.index": 1},
                },
            },
        ),
        (
            ConnectSchema(
                ConnectType.STRING, parameters=(("io.confluent.connect.json.Enum", ""), ("io.confluent.connect.json.Enum.RED", "RED"))
            ),
            {"enum": ["RED"]},
        ),
    ],
)
def test_schemas_are_those_of_confluents_converter(one: ConnectSchema, wanted: Any) -> None:
    assert schema(one) == wanted


def test_a_default_keeps_its_digits() -> None:
    one = replace(connect.decimal(2), default=Decimal("84789336872058.91"))
    assert '"default":84789336872058.91,' in json_schema_text(one, JsonFormat("NUMERIC"))


def test_objects_may_be_closed() -> None:
    assert schema(ORDER, additional=False)["additionalProperties"] is False
    assert "additionalProperties" not in schema(ORDER)


def test_a_record_is_the_id_and_the_document() -> None:
    client = MemoryClient()
    made = JsonSchemaSerializer(memory_registry(client), JsonFormat("NUMERIC"))
    column = ConnectColumn(pa.array(ROWS, connect.arrow_type(ORDER)), ORDER)
    first, second = made.serialize(column, "orders").to_pylist()
    document = b'{"id":7,"price":12.50,"note":null,"day":20455,"tags":[{"key":1,"value":"a"},{"key":2,"value":null}],"stock":{"x":1}}'
    assert first == b"\0\0\0\0\1" + document
    assert json.loads(second[5:])["tags"] == []
    made.serialize(column, "orders")
    assert client.requests == 1
    [(subject, registered)] = client.schemas
    assert (subject, registered.schema_type) == ("orders-value", "JSON")
    validator = jsonschema.Draft7Validator(json.loads(registered.schema_str or ""))
    jsonschema.Draft7Validator.check_schema(validator.schema)
    for record in (first, second):
        validator.validate(json.loads(record[5:]))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**json.loads(first[5:]), "id": "7"})


def test_nulls_are_tombstones_without_a_schema_and_documents_with_one() -> None:
    made = JsonSchemaSerializer(memory_registry())
    assert made.serialize(ConnectColumn(pa.array([None], pa.binary()), None), "t").to_pylist() == [None]
    assert made.serialize(ConnectColumn(pa.array([None], pa.string()), TEXT), "t").to_pylist() == [b"\0\0\0\0\1null"]
    with pytest.raises(UnsupportedType, match="writes no value without a schema"):
        made.serialize(ConnectColumn(pa.array([b"1"], pa.binary()), None), "t")
    with pytest.raises(UnsupportedType, match="neither optional nor has a default"):
        made.serialize(ConnectColumn(pa.array([None], pa.int64()), LONG), "t")


def test_a_null_is_the_default_unless_defaults_are_ignored() -> None:
    one = ConnectSchema(ConnectType.STRING, optional=True, default="x")
    column = ConnectColumn(pa.array([None], pa.string()), one)
    assert JsonSchemaSerializer(memory_registry()).serialize(column, "t").to_pylist()[0][5:] == b'"x"'
    assert JsonSchemaSerializer(memory_registry(), defaults=False).serialize(column, "t").to_pylist()[0][5:] == b"null"


def test_a_run_registers_before_its_records_and_a_plan_does_not() -> None:
    client = MemoryClient()
    made = JsonSchemaSerializer(memory_registry(client))
    made.check(ORDER, "orders")
    assert not client.schemas
    made.register(ORDER, "orders")
    assert [subject for subject, _ in client.schemas] == ["orders-value"]


LATEST = {"auto.register.schemas": "false", "use.latest.version": "true"}


def test_the_latest_schema_must_read_the_documents() -> None:
    client = MemoryClient()
    client.register_schema("t-value", Schema('{"type": "object", "properties": {"id": {"type": "string"}}}', "JSON", []), False)
    with pytest.raises(RegistryError, match="does not read the entries': id is integer, not string"):
        JsonSchemaSerializer(memory_registry(client, properties=LATEST)).register(ORDER, "t")
    lax = JsonSchemaSerializer(memory_registry(client, properties={**LATEST, "latest.compatibility.strict": "false"}))
    lax.register(ORDER, "t")


def test_a_schema_of_another_type_is_refused() -> None:
    client = MemoryClient()
    client.register_schema("t-value", Schema('"long"', "AVRO", []), False)
    with pytest.raises(RegistryError, match="is of type AVRO"):
        JsonSchemaSerializer(memory_registry(client, properties=LATEST)).register(LONG, "t")


@pytest.mark.parametrize(
    ("theirs", "wanted"),
    [
        (schema(ORDER), ""),
        ({}, ""),
        ({"type": "object"}, ""),
        ({"type": "object", "additionalProperties": False}, "id is not allowed"),
        ({"type": "object", "required": ["who"]}, "who is required"),
        ({"type": "array"}, "the whole document is object, not array"),
        ({"properties": {"id": {"type": "number"}}}, ""),
        ({"properties": {"note": {"type": "string"}}}, "note may be null"),
        ({"properties": {"note": {"type": ["null", "string"]}}}, ""),
        ({"properties": {"note": {"enum": ["a", None]}}}, "note may be null"),
        ({"properties": {"tags": {"type": "array", "items": {"properties": {"key": {"type": "string"}}}}}},
         "tags[].key is integer, not string"),
        ({"properties": {"stock": {"oneOf": [{"type": "null"}, {"type": "object", "additionalProperties": {"type": "string"}}]}}},
         "stock{} is integer, not string"),
    ],
)  # fmt: skip
def test_where_a_registered_schema_refuses_the_documents(theirs: Any, wanted: str) -> None:
    assert find_refusal(theirs, schema(ORDER)) == wanted
