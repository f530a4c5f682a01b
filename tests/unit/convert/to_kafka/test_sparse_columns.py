"""Objects that leave out their null fields have the same bytes as a column for each schema gives, and cost few columns."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.connect.columns import ConnectColumn, Serializer, SparsePart
from ignite_kafka.convert.connect.schema import ConnectSchema
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_schema.serializer import JsonSchemaSerializer
from ignite_kafka.convert.json_with_schemas.serializer import ConnectJsonSerializer
from ignite_kafka.convert.to_kafka.connect_schemas import SchemaRules
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.convert.to_kafka.sparse_columns import sparse_parts
from ignite_kafka.ignite.binary import decode_entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType
from ignite_kafka.ignite.types.type_table import TYPE_NAME
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, boolean, collection, decimal, mapping, number, page, string
from tests.support.randomness import examples
from tests.support.registry import MemoryClient, memory_registry

TYPES = Types()
FIELDS = {
    "n": codes.LONG, "text": codes.STRING, "rate": codes.DOUBLE, "flag": codes.BOOL, "price": codes.DECIMAL, "in": codes.OBJECT,
    "list": codes.COLLECTION, "map": codes.MAP, "any": codes.OBJECT, 'odd "name': codes.INT,
}  # fmt: skip
LEFT, RIGHT = list(FIELDS), list(reversed(FIELDS))
WIDE = TYPES.add("Wide", FIELDS, LEFT, RIGHT, LEFT[:4], RIGHT[2:])
INNER, ITEM = (TYPES.add(name, {"x": codes.LONG, "text": codes.STRING}) for name in ("Inner", "Item"))


def objects(kind: BinaryType) -> st.SearchStrategy[bytes]:
    one, text = number(codes.LONG, 1), string("b")
    return st.sampled_from([binary(kind, {"x": x, "text": y}) for x, y in ((one, NULL), (NULL, text), (one, text))])


VALUES: dict[str, st.SearchStrategy[bytes]] = {
    "n": st.sampled_from([number(codes.LONG, 7), number(codes.LONG, -(1 << 40))]),
    "text": st.sampled_from([string(""), string('"n":null'), string("é\\")]),
    "rate": st.sampled_from([number(codes.DOUBLE, value) for value in (0.5, 1e20, float("nan"))]),
    "flag": st.booleans().map(boolean),
    "price": st.sampled_from([decimal(Decimal(text)) for text in ("1.5", "2.5", "2.25")]),
    "in": objects(INNER),
    "list": st.lists(objects(ITEM) | st.just(NULL), max_size=2).map(collection),
    "map": st.sampled_from([mapping([]), mapping([(string("n"), NULL), (string("b"), number(codes.LONG, 1))])]),
    "any": st.sampled_from([number(codes.LONG, 1), string("a")]),
    'odd "name': st.just(number(codes.INT, 3)),
}


@st.composite
def wide(draw: st.DrawFn) -> bytes:
    names = draw(st.sampled_from([LEFT, RIGHT, LEFT[:4], RIGHT[2:]]))
    return binary(WIDE, {name: draw(VALUES[name]) if draw(st.integers(0, 4)) else NULL for name in names})


class Dense:
    """A serializer that writes a column for each schema."""

    def __init__(self, inner: Serializer) -> None:
        self._inner, self.name = inner, inner.name

    def check(self, schema: ConnectSchema, topic: str) -> None:
        self._inner.check(schema, topic)

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        return self._inner.serialize(column, topic)


CLIENT = MemoryClient()
SERIALIZERS: dict[str, Callable[[], Serializer]] = {
    "json": ConnectJsonSerializer,
    "json-numeric": lambda: ConnectJsonSerializer(JsonFormat("NUMERIC")),
    "json-schema": lambda: JsonSchemaSerializer(memory_registry(CLIENT)),
    "avro": lambda: AvroSerializer(memory_registry(CLIENT), AvroOptions(scrub=True)),
}


@pytest.mark.parametrize("name", SERIALIZERS)
@settings(max_examples=examples(12))
@given(values=st.lists(wide(), min_size=1, max_size=12))
def test_the_bytes_are_those_of_a_column_for_each_schema(name: str, values: list[bytes]) -> None:
    made = SERIALIZERS[name]()
    pages = [page([(number(codes.LONG, row), value) for row, value in enumerate(values)])]
    found: list[list[Any]] = []
    for serializer in (made, Dense(made)):
        side = ConnectSide("value", serializer, SchemaPolicy(), JsonConverter("value"))
        found.append(EntryConverter(JsonConverter("key"), side).convert(pages, CACHE, TYPES, topic="t", in_order=True).values.to_pylist())
    assert found[0] == found[1]


def test_sets_of_null_fields_are_one_column() -> None:
    kind = TYPES.add("Nulls", {f"f{at}": codes.LONG for at in range(6)})
    values = [binary(kind, {f"f{at}": number(codes.LONG, at) if pattern >> at & 1 else NULL for at in range(6)}) for pattern in range(64)]
    (group,) = decode_entries([page([(number(codes.LONG, row), one) for row, one in enumerate(values)])], CACHE, TYPES, documents=True)
    field = pa.field("", group.value.type, metadata={TYPE_NAME: b"Nulls"})
    parts = sparse_parts(group.value, field, SchemaRules(TYPES))
    sparse = [part for part in parts if isinstance(part, SparsePart)]
    assert [len(part.column.schemas) for part in sparse] == [len(parts) * 64]
    assert sparse[0].rows.tolist() == list(range(64))
