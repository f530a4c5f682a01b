"""Documents with the id of a JSON Schema as Connect columns: what was written, schemas of others, and records that are bad."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.error import SchemaRegistryError
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_schema.deserializer import JsonSchemaDeserializer
from ignite_kafka.convert.json_schema.serializer import JsonSchemaSerializer
from ignite_kafka.errors import RegistryError
from tests.support import connect_data as cases
from tests.support.registry import MemoryClient, memory_registry

ENUM = "io.confluent.connect.json.Enum"
_NAN = re.compile("[7f]f(?!80{5}$)[89a-f][0-9a-f]{5}|[7f]ff(?!0{13}$)[0-9a-f]{13}")  # bits of a float or double
LONG, FLOAT, TEXT = (ConnectSchema(one) for one in (ConnectType.INT64, ConnectType.FLOAT64, ConnectType.STRING))


def has_float(one: ConnectSchema) -> bool:
    inner = [field.schema for field in one.fields] + [item for item in (one.key_schema, one.value_schema) if item]
    return one.type in (ConnectType.FLOAT32, ConnectType.FLOAT64) or any(map(has_float, inner))


def _one_nan(value: Any) -> Any:
    """A value without the sign and the payload of NaN, which its text does not have."""
    if isinstance(value, (list, tuple)):
        return [_one_nan(one) for one in value]
    return "NaN" if isinstance(value, str) and _NAN.fullmatch(value) else value


@given(st.data(), st.sampled_from(["BASE64", "NUMERIC"]))
def test_what_is_written_is_read_and_fits_its_schema(data: st.DataObject, decimals: str) -> None:
    one = data.draw(cases.schemas())
    column = cases.column(data.draw(st.lists(cases.values(one), min_size=1, max_size=4)), one)
    client = MemoryClient()
    records = JsonSchemaSerializer(memory_registry(client), JsonFormat(decimals)).serialize(column, "t")
    found = JsonSchemaDeserializer(memory_registry(client)).deserialize(records, "t")
    assert found.bad == ()
    rows: list[Any] = [None] * len(records)
    for part in found.parts:
        assert part.column.schema == one
        for row, value in zip(part.rows.tolist(), cases.raw(part.column.data), strict=True):
            rows[row] = cases.exact(value, one)
    filled = [
        value if value is not None or one.default is None else cases.raw(connect.default_array(one))[0] for value in cases.raw(column.data)
    ]
    if not has_default(one):
        assert _one_nan(rows) == _one_nan([cases.exact(value, one) for value in filled])
    schema = json.loads(client.schemas[0][1].schema_str or "")
    jsonschema.Draft7Validator.check_schema(schema)
    if decimals == "NUMERIC" and not has_float(one):  # NaN and base64 are texts where the schema says number, as in Confluent's
        for record in records.to_pylist():
            jsonschema.Draft7Validator(schema).validate(json.loads(record[5:]))


def has_default(one: ConnectSchema) -> bool:
    inner = [field.schema for field in one.fields] + [item for item in (one.key_schema, one.value_schema) if item]
    return one.default is not None or any(map(has_default, inner))


def read(
    schema: Any,
    documents: Sequence[str | bytes],
    references: Sequence[SchemaReference] = (),
    client: MemoryClient | None = None,
    **options: Any,
) -> tuple[dict[int, tuple[Any, Any]], dict[int, str]]:
    """(schema, value) of the good rows and the reasons of the bad ones; the id is that of the schema."""
    client = client or MemoryClient()
    id = client.register_schema("t-value", Schema(json.dumps(schema), "JSON", list(references)), False)
    texts = [b"\0" + id.to_bytes(4, "big") + one.encode() if isinstance(one, str) else one for one in documents]
    found = JsonSchemaDeserializer(memory_registry(client), **options).deserialize(pa.array(texts, pa.binary()), "t")
    good = {
        row: (part.column.schema, value)
        for part in found.parts
        for row, value in zip(part.rows.tolist(), part.column.data.to_pylist(), strict=True)
    }
    assert sorted([*good, *dict(found.bad)]) == list(range(len(texts)))
    return good, dict(found.bad)


def struct(**fields: ConnectSchema) -> ConnectSchema:
    return ConnectSchema(ConnectType.STRUCT, fields=tuple(ConnectField(name, one) for name, one in fields.items()))


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "integer"}, LONG),
        ({"type": "number"}, FLOAT),
        ({"type": ["null", "string"]}, TEXT.as_optional()),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, TEXT.as_optional()),
        ({"oneOf": [{"type": "integer"}]}, LONG),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
         struct(b=LONG, a=TEXT)),
        ({"type": "object", "properties": {"b": {"type": "integer", "connect.index": 1}, "a": {"type": "string", "connect.index": 0}}},
         struct(a=TEXT, b=LONG)),
        ({"type": "object", "definitions": {"id": {"type": "integer"}}, "properties": {"id": {"$ref": "#/definitions/id"}}},
         struct(id=LONG)),
        ({"type": "object", "title": "P", "description": "d", "connect.version": 4, "properties": {"a": {"type": "boolean"}}},
         ConnectSchema(ConnectType.STRUCT, name="P", version=4, doc="d",
                       fields=(ConnectField("a", ConnectSchema(ConnectType.BOOLEAN)),))),
        ({"enum": ["A", "B"]},
         ConnectSchema(ConnectType.STRING, parameters=((ENUM, ""), (f"{ENUM}.A", "A"), (f"{ENUM}.B", "B")))),
        ({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]},
         struct(a=TEXT, b=LONG)),
    ],
)  # fmt: skip
def test_schemas_of_others_are_read(schema: Any, wanted: ConnectSchema) -> None:
    document = {
        ConnectType.INT64: "1", ConnectType.FLOAT64: "1.5", ConnectType.STRING: '"A"', ConnectType.STRUCT: '{"a":"x","b":1,"id":1}'
    }[wanted.type].replace('"x"', "true" if wanted.name == "P" else '"x"')  # fmt: skip
    good, bad = read(schema, [document])
    assert bad == {}
    assert good[0][0] == wanted


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "a choice between several types"),
        ({"type": ["string", "integer"]}, "a choice between several types"),
        ({}, "allows anything"),
        (True, "allows anything"),
        ({"type": "array"}, "did not specify the items type"),
        ({"type": "null"}, "of type null"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "refers to other.json, which the registry does not name"),
        ({"properties": {"a": {"$ref": "#"}}}, "refers to itself"),
        ({"type": "integer", "connect.type": "float32"}, "a integer with connect.type float32"),
    ],
)
def test_a_schema_that_connect_cannot_have_makes_its_records_bad(schema: Any, reason: str) -> None:
    good, bad = read(schema, ["1", "2"])
    assert good == {}
    assert set(bad) == {0, 1}
    assert reason in bad[0]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "integer", "title": connect.TIMESTAMP, "connect.type": "int64", "default": 2**62}, "is out of range"),
        ({"type": "integer", "title": connect.DATE, "connect.type": "int32", "default": 2**31 - 1}, "is out of range"),
        ({"type": {"a": 1}}, "a JSON Schema of type {'a': '1'} has no Connect schema"),
        ({"type": "string", "connect.parameters": ["a"]}, "connect.parameters of the JSON Schema is no object"),
        ({"type": "object", "properties": [1]}, "properties of the JSON Schema is no object"),
        ({"allOf": [{"properties": [1]}]}, "properties of the JSON Schema is no object"),
        ({"allOf": [{"required": True}], "type": "number"}, "where a number is due"),
        ({"type": "array", "connect.type": "map", "items": {"properties": [1]}}, "properties of the JSON Schema is no object"),
        ({"type": "object", "properties": {"a\ud800": {"type": "integer"}}}, "half of a surrogate pair"),
        ({"type": "string", "title": "\ud800"}, "half of a surrogate pair"),
        ({"type": "integer", "connect.type": ["int8"]}, "where a number is due"),
    ],
)
def test_no_schema_of_a_registry_ends_the_run(schema: Any, reason: str) -> None:
    good, bad = read(schema, ['"x"'])
    assert not good
    assert reason in bad[0]


def test_required_of_draft_3_is_not_read() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "required": True}}, "required": True}
    assert read(schema, ["{}"], required=False)[0][0][1] == {"a": None}


def test_a_referenced_schema_is_read_from_the_registry() -> None:
    client = MemoryClient()
    client.register_schema("id", Schema('{"type": "integer"}', "JSON", []), False)
    schema = {"type": "object", "properties": {"id": {"$ref": "id.json"}}}
    good, _bad = read(schema, ['{"id":7}'], [SchemaReference("id.json", "id", 1)], client)
    assert good[0] == (struct(id=LONG), {"id": 7})


def test_members_that_are_not_required_may_be_optional() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    good, bad = read(schema, ['{"a":1}'])
    assert (good, bad) == ({}, {0: "field b is null: Invalid null value for required STRING field"})
    good, bad = read(schema, ['{"a":1}', "{}"], required=False)
    assert good[0] == (struct(a=LONG, b=TEXT.as_optional()), {"a": 1, "b": None})
    assert bad == {1: "field a is null: Invalid null value for required INT64 field"}


def test_bad_records_between_good_ones() -> None:
    entry = {"type": "object", "properties": {"key": {"type": ["integer", "null"]}, "value": {"type": "string"}}}
    entries = {"type": "array", "items": entry, "connect.type": "map"}
    wrong = [b"", b"{1234}", b"\0\xff\xff\xff\xff[]", b"\0\0\0\0\x09[]"]
    good, bad = read(entries, ['[{"key":1,"value":"a"}]', *wrong, '[{"key":null,"value":"a"}]', "[1]", "[", "[]"])
    assert {row: value for row, (_, value) in good.items()} == {0: [(1, "a")], 8: []}
    assert sorted(bad) == [1, 2, 3, 4, 5, 6, 7]
    for row, reason in {1: "0 bytes, and a value", 2: "the first byte is 123, and a value", 3: "the schema id is negative"}.items():
        assert bad[row].startswith(reason)
        assert bad[row].endswith("need converter json")
    assert "Schema 9 not found" in bad[4]
    assert "null key" in bad[5]


def test_the_last_of_equal_keys_wins() -> None:
    entry = {"type": "object", "properties": {"key": {"type": ["integer", "null"]}, "value": {"type": "string"}}}
    texts = ['[{"key":1,"value":"a"},{"key":2,"value":"b"},{"key":1,"value":"c"}]', '[{"key":1,"value":"d"}]']
    good, bad = read({"type": "array", "items": entry, "connect.type": "map"}, texts)
    assert ({row: value for row, (_, value) in good.items()}, bad) == ({0: [(1, "c"), (2, "b")], 1: [(1, "d")]}, {})


def test_records_of_a_registry_that_refuses_the_credentials_are_not_bad_records() -> None:
    class Refusing(MemoryClient):
        def get_schema(self, id: int) -> Schema:
            raise SchemaRegistryError(401, 401, "Unauthorized")

    with pytest.raises(RegistryError, match="Unauthorized"):
        read({"type": "integer"}, ["1"], client=Refusing())


def test_an_avro_schema_is_refused_by_name() -> None:
    client = MemoryClient()
    client.register_schema("t-value", Schema('"long"', "AVRO", []), False)
    found = JsonSchemaDeserializer(memory_registry(client)).deserialize(pa.array([b"\0\0\0\0\x01\x02"], pa.binary()), "t")
    assert found.bad == ((0, "its schema 1 is of type AVRO: use the converter of that type"),)
