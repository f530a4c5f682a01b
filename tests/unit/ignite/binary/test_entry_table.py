"""One table of entries of several types: unified columns, clashes, declared types, casts that are exact or refused."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations

import pyarrow as pa
import pytest

from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.binary import decode_entries
from ignite_kafka.ignite.binary.entry_table import entries_schema, to_batch
from ignite_kafka.ignite.binary.row_values import Date
from ignite_kafka.ignite.binary.unify_types import cast_exactly, unify_fields
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, decimal, number, page, string, wrapped, written


def int_key(row: int) -> bytes:
    return number(codes.INT, row)


def table(values: list[bytes], types: Types, cache: CacheInfo = CACHE) -> pa.Table:
    groups = decode_entries([page([(int_key(row), value) for row, value in enumerate(values)])], cache, types)
    schema = entries_schema(cache, types, groups)
    return pa.Table.from_batches([to_batch(group, schema) for group in groups], schema)


def test_one_type_is_flat() -> None:
    types = Types()
    kind = types.add("T", {"a": codes.INT, "b": codes.DATE})
    found = table([binary(kind, {"a": number(codes.INT, 5), "b": written(Date(7))})], types)
    assert dict(zip(found.schema.names, found.schema.types, strict=True)) == {
        "_key": pa.int32(),
        "a": pa.int32(),
        "b": pa.timestamp("us", "UTC"),
    }
    assert found.select(["_key", "a"]).to_pylist() == [{"_key": 0, "a": 5}]


def test_several_types_are_united_and_clashes_get_a_column_of_their_own() -> None:
    types = Types()
    one = types.add("org.One", {"id": codes.INT, "same": codes.STRING, "x": codes.STRING})
    two = types.add("org.Two", {"ID": codes.LONG, "x": codes.DOUBLE, "_type": codes.INT})
    values = [
        binary(one, {"id": number(codes.INT, 1), "same": string("s"), "x": string("text")}),
        binary(two, {"ID": number(codes.LONG, 1 << 40), "x": number(codes.DOUBLE, 0.5), "_type": number(codes.INT, 9)}),
        number(codes.LONG, 77),
    ]
    found = table(values, types)
    assert found.schema.names == ["_key", "id", "same", "x", "x_Two", "_type_Two", "_value", "_type"]
    assert found.schema.field("id").type == pa.int64()
    assert found.drop_columns(["_key"]).to_pylist() == [
        {"id": 1, "same": "s", "x": "text", "x_Two": None, "_type_Two": None, "_value": None, "_type": "org.One"},
        {"id": 1 << 40, "same": None, "x": None, "x_Two": 0.5, "_type_Two": 9, "_value": None, "_type": "org.Two"},
        {"id": None, "same": None, "x": None, "x_Two": None, "_type_Two": None, "_value": 77, "_type": "long"},
    ]


def test_the_order_of_columns_is_not_that_of_the_entries() -> None:
    types = Types()
    one, two = types.add("One", {"b": codes.INT, "x": codes.STRING}), types.add("Two", {"a": codes.INT, "x": codes.DOUBLE})
    values = [binary(one, {"b": NULL, "x": string("s")}), binary(two, {"a": NULL, "x": number(codes.DOUBLE, 1)}), string("plain")]
    orders = [table(list(some), types) for some in permutations(values)]
    assert {tuple(found.schema.names) for found in orders} == {("_key", "b", "x", "a", "x_Two", "_value", "_type")}


def test_a_type_that_the_sample_did_not_show_is_refused() -> None:
    types = Types()
    one, two = types.add("One", {"a": codes.INT}), types.add("Two", {"a": codes.INT})
    seen, unseen = (decode_entries([page([(int_key(1), binary(kind, {"a": NULL}))])], CACHE, types) for kind in (one, two))
    schema = entries_schema(CACHE, types, seen)
    with pytest.raises(UnsupportedType, match="Values of type Two are not in the schema"):
        to_batch(unseen[0], schema)


def entity(*fields: QueryField, value: str = "T") -> CacheInfo:
    return CacheInfo("declared", 2, query_entities=(QueryEntity("java.lang.Integer", value, fields=fields),))


def test_an_empty_cache_has_the_columns_of_its_query_entity() -> None:
    cache = entity(QueryField("A", "java.math.BigDecimal", scale=3, precision=10), QueryField("B", "java.sql.Date"))
    schema = entries_schema(cache, Types(), [])
    assert dict(zip(schema.names, schema.types, strict=True)) == {"_key": pa.int32(), "A": pa.decimal128(38, 3), "B": pa.date32()}
    simple = entries_schema(entity(value="java.lang.String"), Types(), [])
    assert dict(zip(simple.names, simple.types, strict=True)) == {"_key": pa.int32(), "_value": pa.string()}


def test_nothing_known_is_said() -> None:
    with pytest.raises(UnsupportedType, match="empty and has no query entity"):
        entries_schema(CACHE, Types(), [])


def test_declared_scale_holds_decimals_of_any_smaller_one() -> None:
    types = Types()
    kind = types.add("T", {"amount": codes.DECIMAL, "none": codes.OBJECT})
    cache = entity(QueryField("amount", "java.math.BigDecimal", scale=3, precision=10), QueryField("none", "java.lang.Long"))
    values = [binary(kind, {"amount": decimal(Decimal(text)), "none": NULL}) for text in ("1.5", "2.125")]
    found = table(values, types, cache)
    assert found.schema.field("none").type == pa.int64()
    assert found["amount"].to_pylist() == [Decimal("1.500"), Decimal("2.125")]
    with pytest.raises(UnsupportedType, match="Field amount holds"):
        table([binary(kind, {"amount": decimal(Decimal("1.5001")), "none": NULL})], types, cache)


def test_keys_that_no_column_unites() -> None:
    types = Types()
    groups = decode_entries([page([(int_key(1), string("a")), (string("k"), string("b"))])], CACHE, types)
    with pytest.raises(UnsupportedType, match="no column unites: string and int32"):
        entries_schema(CACHE, types, groups)


def test_keys_of_two_widths_are_one_column() -> None:
    groups = decode_entries([page([(int_key(1), string("a")), (number(codes.LONG, 2), string("b"))])], CACHE, Types())
    schema = entries_schema(CACHE, Types(), groups)
    assert pa.Table.from_batches([to_batch(group, schema) for group in groups])["_key"].to_pylist() == [1, 2]


def test_object_keys_are_a_struct() -> None:
    types = Types()
    kind = types.add("K", {"a": codes.INT})
    groups = decode_entries([page([(wrapped(binary(kind, {"a": number(codes.INT, 4)})), string("v"))])], CACHE, types)
    schema = entries_schema(CACHE, types, groups)
    assert to_batch(groups[0], schema).to_pylist() == [{"_key": {"a": 4}, "_value": "v"}]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.null(), pa.string(), pa.string()),
        (pa.list_(pa.null()), pa.list_(pa.int32()), pa.list_(pa.int32())),
        (
            pa.struct([("a", pa.int8())]),
            pa.struct([("a", pa.int16()), ("b", pa.string())]),
            pa.struct([("a", pa.int16()), ("b", pa.string())]),
        ),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int32())),
        (pa.int64(), pa.float64(), None),
        (pa.string(), pa.binary(), None),
        (pa.struct([("a", pa.int8())]), pa.struct([("a", pa.string())]), None),
    ],
)
def test_united_types(first: pa.DataType, second: pa.DataType, joined: pa.DataType | None) -> None:
    for one, other in ((first, second), (second, first)):
        found = unify_fields(pa.field("f", one), pa.field("f", other))
        assert (found.type if found is not None else None) == joined


def test_casts_inside_containers_are_exact() -> None:
    array = pa.array([[{"a": 1}], None, [], [{"a": None}, None]], pa.list_(pa.struct([("a", pa.int8())])))
    wide = pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())]))
    assert cast_exactly(array, wide, "f").to_pylist() == [[{"a": 1, "b": None}], None, [], [{"a": None, "b": None}, None]]
    with pytest.raises(UnsupportedType, match=r"Field f\[\]\.a holds int64, its column is int8"):
        cast_exactly(pa.array([[{"a": 300}]], pa.list_(pa.struct([("a", pa.int64())]))), array.type, "f")
    maps = pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int8()))
    assert cast_exactly(maps, pa.map_(pa.string(), pa.int64()), "m").to_pylist() == maps.to_pylist()
    with pytest.raises(UnsupportedType, match="Field f holds double, its column is int64"):
        cast_exactly(pa.array([1.0]), pa.int64(), "f")
