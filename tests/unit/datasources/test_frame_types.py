"""Ignite types of a DataFrame's columns, by the cache and the cluster's types; without servers."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.to_ignite import Entries
from ignite_kafka.datasources.frame_arrays import conform
from ignite_kafka.datasources.frame_types import Part, list_layouts, make_parts
from ignite_kafka.errors import EncodeError, IgniteKafkaError, SettingsError, UnsupportedType
from ignite_kafka.ignite.binary import encoded
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.ignite.types.type_table import java_type, mark_of, type_name_of
from tests.support.to_ignite_records import GrowingTypes, cache_of, decoded

UTC_US, LONG = pa.timestamp("us", "UTC"), pa.int64()
ALL = {
    "flag": "java.lang.Boolean", "small": "java.lang.Short", "number": "java.lang.Integer", "big": "java.lang.Long",
    "ratio": "java.lang.Double", "name": "java.lang.String", "id": "java.util.UUID", "price": "java.math.BigDecimal",
    "at": "java.sql.Timestamp", "made": "java.util.Date", "day": "java.sql.Date", "data": "[B",
}  # fmt: skip


def parts(schema: dict[str, pa.DataType], cache: CacheInfo, keys: str = "_key", **named: str) -> tuple[Part, Part]:
    types = GrowingTypes()
    return make_parts(pa.schema(list(schema.items())), cache, types, keys.split(","), named.get("key_type"), named.get("value_type"))


def value_field(name: str, kind: pa.DataType, cache: CacheInfo) -> pa.Field:
    _, value = parts({"_key": pa.int64(), name: kind}, cache)
    return value.field.type[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("flag", pa.bool_()),
        ("number", pa.int8()),
        ("number", pa.int32()),
        ("big", pa.int16()),
        ("ratio", pa.float32()),
        ("name", pa.string()),
        ("id", pa.string()),
        ("price", pa.decimal128(10, 1)),
        ("price", pa.decimal128(38, 2)),
        ("at", UTC_US),
        ("made", UTC_US),
        ("day", pa.date32()),
        ("data", pa.binary()),
    ],
)
def test_a_column_that_fits_is_written_as_the_cache_has_it(name: str, kind: pa.DataType) -> None:
    assert java_type(value_field(name, kind, cache_of(ALL, scale=2))) == ALL[name]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("flag", pa.int32(), "Column value.flag is int32, and the cache has boolean for it"),
        ("small", pa.int32(), "the cache has short"),
        ("number", pa.int64(), "the cache has int for it"),
        ("number", pa.string(), "the cache has int for it"),
        ("big", pa.float64(), "the cache has long"),
        ("ratio", pa.int32(), "the cache has double"),
        ("name", pa.int32(), "the cache has String"),
        ("price", pa.decimal128(10, 3), "the cache has BigDecimal of scale 2"),
        ("price", pa.float64(), "BigDecimal"),
        ("at", pa.timestamp("us"), "the cache has Timestamp"),
        ("day", UTC_US, "the cache has"),
        ("data", pa.string(), r"the cache has byte\[\]"),
        ("flag", pa.struct([("inner", pa.int32())]), "the cache has boolean"),
        ("other", pa.int32(), "Column other is no field of Trade, the type of the cache's values, which has flag, small, number"),
    ],
)
def test_a_column_that_does_not_fit_is_refused(name: str, kind: pa.DataType, message: str) -> None:
    with pytest.raises(UnsupportedType, match=message) as raised:
        value_field(name, kind, cache_of(ALL, scale=2))
    assert raised.value.where["cache"] == "tested"


def test_fields_have_the_order_and_the_names_of_the_cache() -> None:
    key, value = parts({"PRICE": pa.decimal128(9, 2), "_key": pa.int32(), "Flag": pa.bool_(), "big": pa.int64()}, cache_of(ALL, scale=2))
    assert [one.name for one in value.field.type] == ["flag", "big", "price"]
    assert (type_name_of(value.field), value.columns, value.whole) == ("Trade", ("PRICE", "Flag", "big"), False)
    assert (java_type(key.field), key.columns, key.whole) == ("java.lang.Long", ("_key",), True)  # the cache's keys are long


def test_columns_alone_give_the_types_of_an_undeclared_cache() -> None:
    inner = pa.struct([("city", pa.string()), ("lines", pa.list_(pa.struct([("text", pa.string())])))])
    key, value = parts(
        {"day": pa.date32(), "n": pa.int32(), "where": inner, "m": pa.map_(pa.string(), pa.int64())}, CacheInfo("c", 1), "day,n"
    )
    assert [type_name_of(field) for field in (key.field, value.field)] == ["c.Key", "c.Value"]
    assert [layout.type_name for layout in list_layouts(value.field)] == ["c.Value.where.lines", "c.Value.where", "c.Value"]
    assert mark_of(value.field.type[0].type[1]) == "collection"


def test_types_have_the_given_names() -> None:
    key, value = parts({"a": pa.int32(), "b": pa.int32(), "c": pa.int32()}, CacheInfo("c", 1), "a,b", key_type="K", value_type="V")
    assert (type_name_of(key.field), type_name_of(value.field)) == ("K", "V")


def test_known_binary_types_apply_without_a_query_entity() -> None:
    types, cache = GrowingTypes(), CacheInfo("c", 1)

    def of(*keys: str, **columns: pa.DataType) -> tuple[Part, Part]:
        return make_parts(pa.schema(list(columns.items())), cache, types, keys, None, None)

    for part in of("a", "b", a=LONG, b=LONG, v=pa.int32(), code=pa.string()):
        for layout in list_layouts(part.field):
            types.register(layout.metadata)
    key, value = of("a", "b", more=pa.bool_(), V=pa.int16(), b=LONG, a=LONG)
    assert [one.name for one in key.field.type] == ["a", "b"]  # as it was first: in another order it would be another key
    assert [(one.name, one.type) for one in value.field.type] == [("v", pa.int32()), ("more", pa.bool_())]
    with pytest.raises(UnsupportedType, match="the cache has int for it"):
        of("a", "b", a=LONG, b=LONG, v=LONG)
    with pytest.raises(UnsupportedType, match=r"Column c is no field of c\.Key, the type of the cache's keys"):
        of("a", "b", "c", a=LONG, b=LONG, c=LONG, v=pa.int32())


def test_one_of_several_query_entities_is_chosen() -> None:
    entities = (QueryEntity("java.lang.Long", "A", fields=(QueryField("a", "java.lang.Long"),)), QueryEntity("java.lang.Integer", "B"))
    cache = CacheInfo("two", 1, query_entities=entities)
    _, value = parts({"_key": pa.int64(), "a": pa.int64()}, cache, value_type="A")
    assert type_name_of(value.field) == "A"
    with pytest.raises(SettingsError, match="several query entities: A, B"):
        parts({"_key": pa.int64(), "a": pa.int64()}, cache)
    with pytest.raises(SettingsError, match="value_type is C, and the cache has A, B"):
        parts({"_key": pa.int64(), "a": pa.int64()}, cache, value_type="C")


PAIR_FIELDS = (
    QueryField("x", "java.lang.Long", is_key=True),
    QueryField("y", "java.lang.Long", is_key=True),
    QueryField("v", "java.lang.Long", not_null=True),
)
PAIR = QueryEntity("Pair", "Trade", fields=PAIR_FIELDS)


@pytest.mark.parametrize(
    ("schema", "keys", "error", "message"),
    [
        ({"a": LONG, "b": LONG}, "_key", SettingsError, "no column _key for the key; it has a, b"),
        ({"_key": LONG}, "_key", SettingsError, "no column is left"),
        ({"_key": LONG, "_type": pa.string(), "v": LONG}, "_key", SettingsError, "several types"),
        ({"x": LONG, "v": LONG, "V": LONG}, "x", UnsupportedType, "Columns v and V have one name"),
        ({"x": LONG, "v": LONG}, "x", UnsupportedType, "There is no column y, which every object of Pair has"),
        ({"_key": LONG, "v": LONG}, "_key", UnsupportedType, "objects of Pair"),
        ({"x": LONG, "y": LONG, "z": LONG, "v": LONG}, "x,y,z", UnsupportedType, "Column z is no field of Pair"),
        ({"_key": pa.struct([("x", LONG)]), "v": LONG}, "_key", UnsupportedType, "no column y, which every object of Pair has"),
        ({"x": LONG, "y": LONG, "w": LONG}, "x,y", UnsupportedType, "Column w is no field of Trade"),
        ({"x": LONG, "y": LONG, "_value": LONG}, "x,y", UnsupportedType, "Column value is int64, and the cache has objects of Trade"),
    ],
)
def test_a_dataframe_that_cannot_be_entries_is_refused(
    schema: dict[str, pa.DataType], keys: str, error: type[IgniteKafkaError], message: str
) -> None:
    with pytest.raises(error, match=message):
        parts(schema, CacheInfo("c", 1, query_entities=(PAIR,)), keys)


def test_columns_that_are_no_object_are_refused() -> None:
    plain = CacheInfo("c", 1, query_entities=(QueryEntity("java.lang.Long", "java.lang.String"),))
    _, value = parts({"_key": LONG, "_value": pa.string()}, plain)
    assert (value.whole, java_type(value.field)) == (True, "java.lang.String")
    with pytest.raises(UnsupportedType, match="the values of the cache are String, and columns a, b would be fields of an object"):
        parts({"_key": LONG, "a": LONG, "b": LONG}, plain)


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.duration("us"), pa.time64("ns"), pa.null()])
def test_a_column_without_an_ignite_type_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedType, match=r"Column value\.a is .*, and Ignite has no such type"):
        parts({"_key": LONG, "a": kind}, CacheInfo("c", 1))


def test_rows_survive_encoding_and_decoding() -> None:
    inner = pa.struct([("City", pa.string()), ("at", UTC_US)])
    kinds = {
        "_key": pa.int32(), "inner": inner, "list": pa.list_(inner), "map": pa.map_(pa.string(), pa.list_(pa.int32())),
        "price": pa.decimal128(9, 2), "day": pa.date32(),
    }  # fmt: skip
    at = datetime.datetime(2026, 3, 1, 12, 30, 0, 123456, UTC)
    place, there = {"City": "Köln", "at": at}, datetime.date(1, 1, 1)
    full: tuple[object, ...] = (1, place, [place, None], [("a", [1, None]), ("b", None)], Decimal("-1.50"), there)
    nothing = (2, None, None, None, None, None)
    empty: tuple[object, ...] = (3, {"City": None, "at": None}, [], [], Decimal("9999999.99"), there)
    rows = [dict(zip(kinds, row, strict=True)) for row in (nothing, full, nothing, empty, full)]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema(list(kinds.items()))).slice(1, 3)  # begins elsewhere in its buffers
    types = GrowingTypes()
    key, value = make_parts(batch.schema, CacheInfo("c", 1), types, ("_key",), None, None)
    for layout in list_layouts(value.field):
        types.register(layout.metadata)
    struct = pa.StructArray.from_arrays([batch.column(name) for name in value.columns], value.columns)
    keys = encoded(conform(batch.column("_key"), key.field), key.field)
    entries = Entries(np.arange(3), keys, encoded(conform(struct, value.field), value.field))
    made = decoded(entries, types)
    assert [key for key, _ in made] == [1, 2, 3]
    one, two, three = (value.fields for _, value in made)
    assert [one["inner"].fields["City"], one["price"], one["list"][1]] == ["Köln", Decimal("-1.50"), None]
    assert one["list"][0].fields == one["inner"].fields
    assert one["map"].items == (("a", [1, None]), ("b", None))
    assert set(two.values()) == {None}
    assert (three["inner"].fields, three["list"], three["map"].items) == ({"City": None, "at": None}, [], ())
    assert three["price"] == Decimal("9999999.99")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_instants_are_the_same_in_every_zone(zone: str) -> None:
    array = pa.array([0, None, 86_400_000_001], pa.timestamp("us", zone))
    assert conform(array, pa.field("at", UTC_US)) == array.cast(UTC_US)


def test_a_decimal_that_the_declared_scale_leaves_no_digits_for_is_refused() -> None:
    field = pa.field("price", pa.decimal128(38, 12))
    assert conform(pa.array([Decimal("1.5")], pa.decimal128(38, 1)), field).to_pylist() == [Decimal("1.5")]
    with pytest.raises(EncodeError, match=r"more than 26 digits before the point.* in field price"):
        conform(pa.array([Decimal("45592147986558795081908112040000000")], pa.decimal128(38, 0)), field)


def test_an_instant_with_microseconds_is_refused_for_a_date() -> None:
    field = value_field("made", UTC_US, cache_of(ALL))
    whole = conform(pa.array([1_000], UTC_US), field)
    assert whole.cast(pa.int64()).to_pylist() == [1]
    with pytest.raises(EncodeError, match=r"would lose data.* in field made"):
        conform(pa.array([1_001], UTC_US), field)
