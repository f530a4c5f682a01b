"""Objects with the fields that they have values for: the bytes of each are those of an object that is encoded alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.ignite.binary import ObjectLayout, encode_objects, encoded
from ignite_kafka.ignite.binary.encode_sparse import Schema
from ignite_kafka.ignite.binary.object_layout import is_optional, optional
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.type_table import MARK, object_field
from ignite_kafka.java.hash_code import java_hash
from tests.support.ignite_bytes import schema_id
from tests.support.randomness import generator

INNER = [optional(pa.field("x", pa.int64())), optional(pa.field("y", pa.string()))]
FIELDS = [
    pa.field("always", pa.int64()),
    optional(pa.field("a", pa.string())),
    optional(object_field("b", "T.b", INNER)),
    optional(pa.field("c", pa.list_(object_field("item", "T.c", INNER)), metadata={MARK: b"collection"})),
]
EMPTY = bytes([codes.OBJECT, 1])


def alone(value: Any, field: pa.Field, *, compact: bool) -> bytes:
    """The bytes of one value, whose objects are each encoded with a layout of exactly their fields."""
    if value is None:
        return bytes([codes.NULL])
    if pa.types.is_list(field.type):
        inner = b"".join(alone(one, field.type.value_field, compact=compact) for one in value)
        return struct.pack("<BiB", codes.COLLECTION, len(value), 1) + inner
    if not pa.types.is_struct(field.type):
        return bytes(encoded(pa.array([value], field.type), field)[0].as_py())
    name = str(field.metadata[b"ignite.type"], "utf-8")
    fields = [one for one in field.type if not is_optional(one) or value.get(one.name) is not None]
    if not fields:
        flags = 1 | (codes.FLAG_COMPACT if compact else 0)
        return EMPTY + struct.pack("<Hiiiii", flags, java_hash(name.lower()), 1, codes.HEADER, schema_id(""), codes.HEADER)
    columns = [pa.array([alone(value.get(one.name), one, compact=compact)], pa.binary()) for one in fields]
    layout = ObjectLayout(name, tuple(pa.field(one.name, pa.binary(), metadata={MARK: b"encoded"}) for one in fields), compact=compact)
    return bytes(encode_objects(layout, columns)[0].as_py())


def rows_of(count: int) -> list[dict[str, Any] | None]:
    chance = generator(5)

    def inner() -> dict[str, Any]:
        return {"x": chance.choice([None, 1, 2]), "y": chance.choice([None, "q", "q" * 300, "q" * 70_000])}

    def one() -> dict[str, Any]:
        a, b = chance.choice([None, "t"]), chance.choice([None, inner()])
        return {"always": chance.choice([None, 5]), "a": a, "b": b, "c": chance.choice([None, [], [inner(), None, inner()]])}

    return [chance.choice([None, one(), one(), one()]) for _ in range(count)]


@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("compact", [True, False])
def test_each_object_is_as_if_it_was_alone(always: bool, compact: bool) -> None:
    field = object_field("", "T", FIELDS if always else FIELDS[1:])
    rows = rows_of(120)
    found = encoded(pa.array(rows, field.type), field, compact=compact).to_pylist()
    assert found == [alone(row, field, compact=compact) for row in rows]


class Budget:
    """Accepts so many schemas of each type."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.asked: list[tuple[str, Schema]] = []
        self.used: list[tuple[str, Schema]] = []

    def accepted(self, type_name: str, schemas: Sequence[Schema]) -> list[bool]:
        self.asked += [(type_name, schema) for schema in schemas]
        return [number < self.most for number in range(len(schemas))]

    def use(self, type_name: str, schema: Schema) -> None:
        self.used.append((type_name, schema))

    def whole(self, type_name: str) -> tuple[pa.Field, ...]:
        return tuple(optional(pa.field(name, pa.int64())) for name in "abcd")


def test_objects_whose_schemas_are_refused_have_all_fields_of_their_type() -> None:
    field = object_field("", "T", [optional(pa.field(name, pa.int64())) for name in "abc"])
    given: list[dict[str, int] | None] = [{"b": 1}, None, {"a": 2, "c": 3}, {"b": 4}, {"a": 5}]
    budget = Budget(2)
    data = encoded(pa.array(given, field.type), field, schemas=budget)
    ids = {name: java_hash(name) for name in "abcd"}
    assert budget.asked == [("T", (ids["b"],)), ("T", (ids["a"], ids["c"])), ("T", (ids["a"],))]
    assert budget.used == [("T", tuple(ids.values()))]
    whole = object_field("", "T", [pa.field(name, pa.int64()) for name in "abcd"])
    expected = [alone(row, whole if row == {"a": 5} else field, compact=True) for row in given]
    assert data.to_pylist() == expected
