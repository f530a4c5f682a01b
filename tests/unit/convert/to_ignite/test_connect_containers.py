"""Arrays, maps and structs with Connect schemas as entries: the types within them, those that the cache declares, bad records."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.java.hash_code import java_hash
from tests.support.connect_records import (
    BOOLEAN,
    INT8,
    INT32,
    INT64,
    POINT,
    STRING,
    converted,
    fields_of,
    struct,
)
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
LISTED = ConnectSchema(ConnectType.ARRAY, value_schema=INT32)
MAPPED = ConnectSchema(ConnectType.MAP, key_schema=STRING, value_schema=INT64)
ID = "12345678-1234-1234-1234-123456789abc"


def test_structs_within_arrays_and_maps_have_their_own_types() -> None:
    types = GrowingTypes()
    unnamed = struct(None, z=INT8)
    schema = struct(
        "org.Line", start=POINT, points=ConnectSchema(ConnectType.ARRAY, value_schema=POINT),
        named=ConnectSchema(ConnectType.MAP, key_schema=STRING, value_schema=POINT), inner=unnamed,
        nested=ConnectSchema(ConnectType.ARRAY, value_schema=ConnectSchema(ConnectType.ARRAY, value_schema=unnamed)),
    )  # fmt: skip
    value = {
        "start": {"x": 1, "y": 2}, "points": [{"x": 3, "y": 4}, None], "named": {"a": {"x": 5, "y": None}, "b": None},
        "inner": {"z": 6}, "nested": [[{"z": 7}], [], None],
    }  # fmt: skip
    given_value = value | {"named": list(value["named"].items())}  # type: ignore[attr-defined]
    nothing = dict.fromkeys(value)
    for batch in ([(schema, given_value)], [(schema, nothing), (schema, None), (schema, given_value)]):
        entries = converted(FREE, types, batch)
        assert entries.bad == ()
        found = decoded(entries, types)[-1][1]
        assert fields_of(found) == value
    assert found.fields["points"][0].type_name == found.fields["start"].type_name == "org.example.Point"
    assert found.fields["inner"].type_name == "org.Line.inner"
    assert found.fields["nested"][0][0].type_name == "org.Line.nested"


@pytest.mark.parametrize(
    ("java", "schema", "values"),
    [
        ("[I", LISTED, [[1, 2], [], None, [3, None]]),
        ("[Ljava.lang.String;", ConnectSchema(ConnectType.ARRAY, value_schema=STRING), [["a", None], []]),
        ("[Ljava.util.UUID;", ConnectSchema(ConnectType.ARRAY, value_schema=STRING), [[ID], ["x"]]),
        ("[Ljava.lang.Object;", LISTED, [[1, None], [], None]),
        ("java.util.List", LISTED, [[1, None], [], None]),
        ("[I", ConnectSchema(ConnectType.ARRAY, value_schema=STRING), [["a"], [], None]),
        ("[Lorg.example.Point;", ConnectSchema(ConnectType.ARRAY, value_schema=POINT), [[{"x": 1, "y": 2}, None], []]),
        ("java.util.Map", MAPPED, [[("a", 1)], [], None]),
        ("java.lang.Integer", LISTED, [[1], None]),
        ("java.util.Map", POINT, [{"x": 1, "y": 2}, None]),
    ],
)
def test_containers_of_declared_classes(java: str, schema: ConnectSchema, values: list[Any]) -> None:
    types = GrowingTypes()
    whole = struct(None, f=schema)
    entries = converted(cache_of({"f": java}), types, [(whole, {"f": value}) for value in values])
    reasons = {
        ("[I", LISTED): {3: "field f[1] is null, which its type does not allow"},
        ("[Ljava.util.UUID;", STRING): {1: "field f[0] is x (STRING), which UUID does not hold"},
        ("[I", STRING): {0: "field f[0] is a STRING, and the cache has int for it"},
        ("java.lang.Integer", LISTED): {0: "field f is an ARRAY, and the cache has int for it"},
        ("java.util.Map", POINT): {0: "field f is a STRUCT org.example.Point, and the cache has Map for it"},
    }
    wanted = reasons.get((java, schema)) or reasons.get((java, schema.value_schema or schema), {})
    assert [bad.row for bad in entries.bad] == list(wanted)
    for bad in entries.bad:
        assert bad.reason.startswith(wanted[bad.row])
    found = [fields_of(value)["f"] for _, value in decoded(entries, types)]
    right = [dict(value) if schema is MAPPED and value is not None else value for row, value in enumerate(values) if row not in wanted]
    assert found == right


def test_a_schema_nested_deeper_than_values_may_be() -> None:
    schema: ConnectSchema = INT32
    value: Any = 1
    for _ in range(80):
        schema, value = ConnectSchema(ConnectType.ARRAY, value_schema=schema), [value]
    entries = converted(FREE, GrowingTypes(), [(struct("org.A", a=schema), {"a": value})])
    assert [bad.reason for bad in entries.bad] == ["field a" + "[0]" * 64 + " is nested deeper than 64"]


UNDEFINED = struct("o.g.k.c.s.undef")


def test_a_schema_without_fields_says_nothing_of_its_fields_type() -> None:
    types = GrowingTypes()
    first = struct("org.A", a=INT32, b=UNDEFINED, c=ConnectSchema(ConnectType.ARRAY, value_schema=UNDEFINED))
    converted(FREE, types, [(first, {"a": 1, "b": None, "c": []})])
    second = struct("org.A", a=INT32, b=INT64)
    entries = converted(
        FREE, types, [(second, {"a": 1, "b": 2}), (first, {"a": 3, "b": None, "c": [None]}), (first, {"a": 1, "b": {}, "c": []})]
    )
    assert [fields_of(value) for _, value in decoded(entries, types)] == [{"a": 1, "b": 2, "c": None}, {"a": 3, "b": None, "c": [None]}]
    assert [(bad.row, bad.reason.partition(",")[0]) for bad in entries.bad] == [(2, "field b is a STRUCT o.g.k.c.s.undef")]
    fresh = converted(FREE, GrowingTypes(), [(first, {"a": 1, "b": {}, "c": []})])
    assert fresh.bad[0].reason == "field b is a STRUCT o.g.k.c.s.undef without fields, and org.A has no such field"
    codes_of = {field.name: field.type_code for field in types.known[java_hash("org.a")].fields}
    assert codes_of == {"a": codes.INT, "b": codes.LONG, "c": codes.COLLECTION}


@pytest.mark.parametrize("java", ["[I", "[Ljava.lang.String;", "[Ljava.lang.Object;", "[Lorg.example.Point;", "java.util.List"])
@pytest.mark.parametrize("element", [UNDEFINED, BOOLEAN])
def test_an_empty_list_fits_whatever_its_elements_would_be(java: str, element: ConnectSchema) -> None:
    types = GrowingTypes()
    types.add("org.example.Point", {"x": codes.INT})  # of a class that the cluster does not know no array is made
    schema = struct(None, f=ConnectSchema(ConnectType.ARRAY, value_schema=element))
    entries = converted(cache_of({"f": java}), types, [(schema, {"f": []}), (schema, {"f": None})])
    assert entries.bad == ()
    assert [value.fields["f"] for _, value in decoded(entries, types)] == [[], None]
    if "Point" in java:  # JSON's empty array is an Object[]
        assert int.from_bytes(entries.values[0].as_py()[25:29], "little", signed=True) == java_hash("org.example.point")
        return
    wanted = record_converter(cache_of({"f": java}), types).convert(consumed([b'{"f":[]}', b'{"f":null}']))
    assert entries.values == wanted.values


def test_a_map_whose_keys_have_no_fields() -> None:
    types = GrowingTypes()
    schema = struct("org.A", m=ConnectSchema(ConnectType.MAP, key_schema=struct("org.K"), value_schema=INT32))
    entries = converted(FREE, types, [(schema, {"m": [({}, 1)]}), (schema, {"m": []}), (schema, {"m": None})])
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(0, "field m[0] is an object of org.K, of which no field is known")]
    assert [fields_of(value)["m"] for _, value in decoded(entries, types)] == [{}, None]


def test_a_map_whose_keys_are_empty_maps_of_such_keys() -> None:
    types = GrowingTypes()
    inner = ConnectSchema(ConnectType.MAP, key_schema=struct("org.K"), value_schema=INT32)
    schema = struct("org.A", m=ConnectSchema(ConnectType.MAP, key_schema=inner, value_schema=INT32))
    entries = converted(FREE, types, [(schema, {"m": [([], 1)]})])
    assert entries.bad == ()
    assert len(decoded(entries, types)) == 1


def test_reasons_within_maps_and_lists_of_values_that_python_lacks() -> None:
    types, far = GrowingTypes(), 2**62
    days = ConnectSchema(ConnectType.MAP, key_schema=connect.date(), value_schema=connect.timestamp())
    moments = ConnectSchema(ConnectType.ARRAY, value_schema=connect.timestamp())
    schema = struct("org.A", n=INT32, m=days, l=moments)
    nothing = {"n": 1, "m": None, "l": None}
    entries = converted(
        FREE, types, [(schema, nothing | {"m": [(2**31 - 1, far)]}), (schema, nothing | {"l": [0, far]}), (schema, nothing)]
    )
    assert [(bad.row, bad.reason.partition(" is ")[0]) for bad in entries.bad] == [(0, "field m[0]"), (1, "field l[1]")]
    assert entries.rows.tolist() == [2]
