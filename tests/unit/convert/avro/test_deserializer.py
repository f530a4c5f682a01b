"""Records of several schemas in one batch, each read with its own; what cannot be read costs its row."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from ignite_kafka.convert.avro.deserializer import AvroDeserializer
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.errors import RegistryError
from ignite_kafka.registry.schema import AVRO, Reference, RegistrySchema

INT, RECORD, JSON, TREE, OUTER, NESTED, USER, REFUSED = 1, 2, 3, 4, 5, 6, 7, 99
_TREE = {"type": "record", "name": "Tree", "fields": [{"name": "left", "type": ["null", "Tree"]}]}
_OUTER = {"type": "record", "name": "Outer", "fields": [{"name": "one", "type": "a.R"}, {"name": "two", "type": "a.R"}]}
_RECORD = {"type": "record", "name": "a.R", "fields": [{"name": "x", "type": "int"}]}
_NESTED = {"type": "record", "name": "a.N", "fields": [
    {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
    {"name": "id", "type": {"type": "fixed", "name": "b.Id", "size": 2}},
]}  # fmt: skip
_USER = {"type": "record", "name": "U", "namespace": "a", "fields": [
    {"name": "n", "type": "N"}, {"name": "color", "type": "Color"}, {"name": "id", "type": "b.Id"}, {"name": "r", "type": "a.R"},
]}  # fmt: skip


class Registry:
    """A registry of seven schemas."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._schemas = {
            INT: RegistrySchema('"int"', AVRO),
            RECORD: RegistrySchema(json.dumps(_RECORD), AVRO),
            JSON: RegistrySchema("{}", "JSON"),
            TREE: RegistrySchema(json.dumps(_TREE), AVRO),
            OUTER: RegistrySchema(json.dumps(_OUTER), AVRO, (Reference("a.R", "r", 1),)),
            NESTED: RegistrySchema(json.dumps(_NESTED), AVRO),
            USER: RegistrySchema(json.dumps(_USER), AVRO, (Reference("a.N", "n", 1), Reference("a.R", "r", 1))),
        }

    def schema(self, id: int, subject: str | None = None) -> RegistrySchema:
        self.asked.append(id)
        if id not in self._schemas:
            status, code = (401, None) if id == REFUSED else (404, 40403)
            raise RegistryError("reading a schema failed", id=id, status=status, code=code)
        return self._schemas[id]

    def referenced(self, reference: Reference) -> RegistrySchema:
        return self._schemas[{"r": RECORD, "n": NESTED}[reference.subject]]


def _value(id: int, body: bytes) -> bytes:
    return b"\x00" + id.to_bytes(4, "big") + body


def test_each_row_is_read_with_the_schema_of_its_id() -> None:
    registry = Registry()
    deserializer = AvroDeserializer(registry, AvroOptions())
    rows = [_value(RECORD, b"\x02"), _value(INT, b"\x04"), _value(RECORD, b"\x06"), _value(OUTER, b"\x08\x0a")]
    found = deserializer.deserialize(pa.array([b"sliced off", *rows], pa.binary()).slice(1), "t")
    assert found.bad == ()
    assert [(part.rows.tolist(), part.column.data.to_pylist()) for part in found.parts] == [
        ([1], [2]),
        ([0, 2], [{"x": 1}, {"x": 3}]),
        ([3], [{"one": {"x": 4}, "two": {"x": 5}}]),
    ]
    assert [part.column.schema.name for part in found.parts if part.column.schema] == [None, "a.R", "Outer"]
    deserializer.deserialize(pa.array(rows, pa.binary()), "t")
    assert registry.asked == [INT, RECORD, OUTER]


def test_types_within_a_referenced_schema_are_known_by_their_full_names() -> None:
    found = AvroDeserializer(Registry(), AvroOptions()).deserialize(pa.array([_value(USER, b"\x02ab\x00cd\x0a")], pa.binary()), "t")
    assert found.bad == ()
    [part] = found.parts
    assert part.column.data.to_pylist() == [{"n": {"color": "BLUE", "id": b"ab"}, "color": "RED", "id": b"cd", "r": {"x": 5}}]


def test_what_cannot_be_read_is_bad_with_the_reason() -> None:
    rows = [b"", b"{}", b"\x01\x00\x00\x00\x01\x02", b"\x00\x80\x00\x00\x01\x02", _value(8, b""), _value(JSON, b"{}"),
            _value(TREE, b"\x00"), _value(INT, b""), _value(INT, b"\x02")]  # fmt: skip
    found = AvroDeserializer(Registry(), AvroOptions()).deserialize(pa.array(rows, pa.binary()), "t")
    assert [(row, reason.split(" [")[0]) for row, reason in found.bad] == [
        (0, "0 bytes, and a value of a schema registry has 5 before its body"),
        (1, "2 bytes, and a value of a schema registry has 5 before its body"),
        (2, "the first byte is 1, and a value of a schema registry begins with 0"),
        (3, "the schema id is negative"),
        (4, "the registry has no schema of id 8: reading a schema failed"),
        (5, "Avro of schema id 3: its schema is one of JSON. Use the converter of that format."),
        (6, "Avro of schema id 4: the Avro type Tree contains itself, which columns cannot hold. Write these records with another schema"),
        (7, "Avro of schema id 1: the value: the bytes end within the value"),
    ]
    [part] = found.parts
    assert (part.rows.tolist(), part.column.data.to_pylist()) == ([8], [1])


def test_a_registry_that_refuses_the_credentials_ends_the_run() -> None:
    with pytest.raises(RegistryError):
        AvroDeserializer(Registry(), AvroOptions()).deserialize(pa.array([_value(REFUSED, b"")], pa.binary()), "t")


def test_an_empty_batch() -> None:
    assert AvroDeserializer(Registry(), AvroOptions()).deserialize(pa.array([], pa.binary()), "t").parts == ()
