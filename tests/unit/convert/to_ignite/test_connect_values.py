"""Values with Connect schemas as entries: the types that schemas give, those that the cache has, nulls, bad records."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.convert.to_ignite import Stage
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from tests.support.connect_records import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    POINT,
    STRING,
    converted,
    fields_of,
    numbered_converter,
    struct,
)
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded

FREE = CacheInfo("free", 2)
LISTED = ConnectSchema(ConnectType.ARRAY, value_schema=INT32)
MAPPED = ConnectSchema(ConnectType.MAP, key_schema=STRING, value_schema=INT64)

OWN: list[tuple[ConnectSchema, Any, int]] = [
    (INT8, -1, codes.BYTE), (INT16, 300, codes.SHORT), (INT32, 70_000, codes.INT), (INT64, 1 << 40, codes.LONG),
    (FLOAT, 1.5, codes.FLOAT), (DOUBLE, 0.1, codes.DOUBLE), (BOOLEAN, True, codes.BOOL), (STRING, "é", codes.STRING),
    (BYTES, b"\0\xff", codes.BYTE_ARRAY), (connect.decimal(2), Decimal("12.50"), codes.DECIMAL),
    (connect.date(), datetime.date(2026, 2, 3), codes.OBJECT), (connect.time(), datetime.time(1, 2, 3, 4000), codes.TIME),
    (connect.timestamp(), datetime.datetime(2026, 2, 3, 4, 5, 6, 7000, UTC), codes.TIMESTAMP),
    (LISTED, [1, None], codes.COLLECTION), (MAPPED, [("a", 1)], codes.MAP), (POINT, {"x": 1, "y": 2}, codes.OBJECT),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "code"), OWN, ids=[str(code) for *_, code in OWN])
def test_a_field_has_the_schemas_type_even_if_its_first_value_is_null(schema: ConnectSchema, value: Any, code: int) -> None:
    types = GrowingTypes()
    whole = struct("org.example.Whole", a=schema)
    first = converted(FREE, types, [(whole, {"a": None})])
    (known,) = types.known[java_hash("org.example.whole")].fields
    assert (known.name, known.type_code) == ("a", code)
    entries = converted(FREE, types, [(whole, {"a": value})])
    assert (first.bad, entries.bad) == ((), ())
    assert decoded(first, types)[0][1].fields == {"a": None}
    found = decoded(entries, types)[0][1]
    assert found.type_name == "org.example.Whole"
    assert first.values[0].as_py()[20:24] != b""
    assert entries.values[0].as_py()[24] == (codes.OPTIMIZED if schema == connect.date() else code)


def test_a_value_that_does_not_fit_is_bad_and_names_field_value_types_and_the_way_out() -> None:
    types = GrowingTypes()
    cache = cache_of({"n": "java.lang.Integer", "s": "java.lang.String"})
    schema = struct(None, n=INT64, s=STRING)
    entries = converted(cache, types, [(schema, {"n": 1, "s": "a"}), (schema, {"n": 1 << 40, "s": "b"}), (schema, {"n": None, "s": None})])
    assert [(bad.row, bad.stage, bad.where) for bad in entries.bad] == [(1, Stage.PUT, {"part": "value"})]
    assert entries.bad[0].reason == (
        "field n is 1099511627776 (INT64), which int does not hold: cast it where the topic is written, or declare a type that holds it"
    )
    assert [value.fields for _, value in decoded(entries, types)] == [{"n": 1, "s": "a"}, {"n": None, "s": None}]


def test_a_null_value_removes_its_key_and_the_topic_is_known_to_the_deserializer() -> None:
    types = GrowingTypes()
    entries = converted(FREE, types, [(INT32, None), (INT32, 5), None, (None, b"null"), (None, b'"text"')])
    assert [value for _, value in decoded(entries, types)] == [None, 5, None, None, "text"]
    assert entries.values.null_count == 3


def test_schemas_of_one_batch_each_with_its_type() -> None:
    types = GrowingTypes()
    dog, cat = struct("org.Dog", name=STRING), struct("org.Cat", name=STRING, lives=INT8)
    entries = converted(FREE, types, [(dog, {"name": "a"}), (cat, {"name": "b", "lives": 7}), (dog, {"name": "c"})])
    assert [(value.type_name, dict(value.fields)) for _, value in decoded(entries, types)] == [
        ("org.Dog", {"name": "a"}), ("org.Cat", {"name": "b", "lives": 7}), ("org.Dog", {"name": "c"}),
    ]  # fmt: skip


def test_the_declared_type_wins_over_the_structs_name() -> None:
    types = GrowingTypes()
    cache = cache_of({"ID": "java.lang.Long", "PLACE": "org.Place"})
    schema = struct("server.db.orders.Value", id=INT32, place=struct("server.db.place", x=INT32), more=STRING)
    entries = converted(cache, types, [(schema, {"id": 7, "place": {"x": 1}, "more": "a"})])
    found = decoded(entries, types)[0][1]
    assert (found.type_name, found.fields["PLACE"].type_name) == ("Trade", "org.Place")
    assert fields_of(found) == {"ID": 7, "PLACE": {"x": 1}, "more": "a"}
    assert not isinstance(found.fields["ID"], bool)
    assert [one.type_code for one in types.known[java_hash("trade")].fields][:1] == [codes.LONG]


@pytest.mark.parametrize("name", ["server-1.Value", "1x", "", "a..b", None])
def test_a_name_that_is_no_javas_is_the_caches(name: str | None) -> None:
    types = GrowingTypes()
    entries = converted(FREE, types, [(struct(name, a=INT32), {"a": 1})], [(struct(name, b=INT32), {"b": 1})])
    ((key, value),) = decoded(entries, types)
    assert (key.type_name, value.type_name) == ("free.Key", "free.Value")


def test_a_field_never_changes_its_type() -> None:
    types = GrowingTypes()
    one, other = struct("org.A", n=INT32, t=STRING), struct("org.A", n=INT64, t=INT32, more=DOUBLE)
    converted(FREE, types, [(one, {"n": 1, "t": "a"})])
    entries = converted(FREE, types, [(other, {"n": 2, "t": None, "more": 0.5}), (other, {"n": 3, "t": 4, "more": None}), (one, None)])
    assert [fields_of(value) for _, value in decoded(entries, types)] == [{"n": 2, "t": None, "more": 0.5}, None]
    assert [(bad.row, bad.reason) for bad in entries.bad] == [
        (1, "field t is an INT32, and the cache has String for it: cast it where the topic is written, or declare another type")
    ]
    assert [(field.name, field.type_code) for field in types.known[java_hash("org.a")].fields] == [
        ("n", codes.INT), ("t", codes.STRING), ("more", codes.DOUBLE),
    ]  # fmt: skip


def test_tasks_that_learn_a_field_at_once_take_the_type_of_the_first() -> None:
    types = GrowingTypes()
    one, other = struct("org.A", a=INT32, n=INT32), struct("org.A", a=INT32, n=STRING)
    base = struct("org.A", a=INT32)
    first = numbered_converter(FREE, types, [(base, {"a": 1}), (one, {"a": 1, "n": 2})])
    second = numbered_converter(FREE, types, [(base, {"a": 1}), (other, {"a": 1, "n": "x"}), (other, {"a": 3, "n": None})])
    for converter in (first, second):
        converter.convert(consumed([b"0"]))
    first.convert(consumed([b"1"]))
    entries = second.convert(consumed([b"1", b"2"]))
    assert [fields_of(value) for _, value in decoded(entries, types)] == [{"a": 3, "n": None}]
    assert [bad.reason for bad in entries.bad] == [
        "field n is a STRING, and the cache has int for it: cast it where the topic is written, or declare another type"
    ]


def test_query_entities_of_several_types_are_told_apart_by_the_structs_name() -> None:
    entities = tuple(
        QueryEntity("java.lang.Integer", name, fields=(QueryField("N", java),))
        for name, java in (("org.Dog", "java.lang.Integer"), ("org.Cat", "java.lang.Short"))
    )
    cache, types = CacheInfo("pets", 1, query_entities=entities), GrowingTypes()
    values: list[Any] = [(struct(name, n=INT64), {"n": 7}) for name in ("org.Dog", "org.Cat", "org.Cow")]
    values += [(INT32, 1), (None, b'{"n":1}'), (None, b"null"), None]
    entries = converted(cache, types, values)
    assert [value and (value.type_name, value.fields) for _, value in decoded(entries, types)] == [
        ("org.Dog", {"N": 7}), ("org.Cat", {"N": 7}), None, None,
    ]  # fmt: skip
    assert entries.values[1].as_py()[24] == codes.SHORT
    assert [(bad.row, bad.reason.partition(", and")[0]) for bad in entries.bad] == [
        (2, "it is STRUCT org.Cow"), (3, "it is INT32"), (4, "it has no schema"),
    ]  # fmt: skip


def test_what_a_type_declares_as_not_null() -> None:
    types = GrowingTypes()
    entity = QueryEntity(
        "java.lang.Long", "T", fields=(QueryField("a", "java.lang.Integer", not_null=True), QueryField("b", "java.lang.Long"))
    )
    cache = CacheInfo("tested", 1, query_entities=(entity,))
    both, lacking = struct(None, a=INT32, b=INT64), struct(None, b=INT64)
    entries = converted(cache, types, [(both, {"a": 1, "b": None}), (both, {"a": None, "b": 1}), (lacking, {"b": 1})])
    assert entries.rows.tolist() == [0]
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(row, "field a is null, which its type does not allow") for row in (1, 2)]


def test_names_that_ignite_takes_as_one() -> None:
    types = GrowingTypes()
    schema = struct("org.A", id=INT32, ID=INT32, az=INT32, **{"b[": INT32})
    nothing = {"id": 1, "ID": None, "az": 2, "b[": None}
    entries = converted(FREE, types, [(schema, nothing), (schema, nothing | {"ID": 3}), (schema, nothing | {"b[": 3})])
    assert decoded(entries, types)[0][1].fields == {"id": 1, "az": 2}
    assert [bad.reason.partition(",")[0] for bad in entries.bad] == [
        "field ID differs from another field in upper and lower case only",
        "field b[ has the field id of 'az': Ignite does not tell these names apart",
    ]


@pytest.mark.parametrize("schema", [struct("org.Empty"), struct("org.kafka.undef"), struct("org.A", inner=struct())])
def test_a_struct_without_fields_is_no_object(schema: ConnectSchema) -> None:
    value: dict[str, Any] = {"inner": None} if schema.fields else {}
    entries = converted(FREE, GrowingTypes(), [(schema, value), (schema, None)])
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(0, f"it is an object of {schema.name}, of which no field is known")]


def test_bytes_that_the_deserializer_refuses_are_bad_at_their_rows() -> None:
    types = GrowingTypes()
    entries = numbered_converter(FREE, types, [(INT32, 5), (None, b"6")]).convert(consumed([b"x", b"0", None, b"1", b"y"]))
    assert [(bad.row, bad.stage, bad.reason) for bad in entries.bad] == [(row, Stage.VALUE, "no number") for row in (0, 4)]
    assert [value for _, value in decoded(entries, types)] == [5, None, 6]
    assert numbered_converter(FREE, types, []).convert(consumed([b"x"])).rows.tolist() == []
    assert len(numbered_converter(FREE, types, []).convert(consumed([]))) == 0


SCALARS = {
    INT8: st.integers(-128, 127), INT64: st.integers(-(2**63), 2**63 - 1), DOUBLE: st.floats(allow_nan=False), BOOLEAN: st.booleans(),
    STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=4), BYTES: st.binary(max_size=4),
    connect.decimal(2): st.integers(-(10**37), 10**37).map(lambda number: Decimal(number).scaleb(-2)),
}  # fmt: skip


def containers(inner: st.SearchStrategy[ConnectSchema]) -> st.SearchStrategy[ConnectSchema]:
    return (
        inner.map(lambda schema: ConnectSchema(ConnectType.ARRAY, value_schema=schema))
        | inner.map(lambda schema: ConnectSchema(ConnectType.MAP, key_schema=STRING, value_schema=schema))
        | st.dictionaries(st.sampled_from("abcd"), inner, min_size=1).map(lambda fields: struct(None, **fields))
    )


SCHEMAS = st.recursive(st.sampled_from(list(SCALARS)), containers, max_leaves=6)


def values_of(schema: ConnectSchema) -> st.SearchStrategy[Any]:
    some: st.SearchStrategy[Any]
    if schema.type is ConnectType.ARRAY:
        some = st.lists(values_of(schema.value_schema), max_size=3)  # type: ignore[arg-type]
    elif schema.type is ConnectType.MAP:
        items = values_of(schema.value_schema)  # type: ignore[arg-type]
        some = st.dictionaries(SCALARS[STRING], items, max_size=3).map(lambda pairs: list(pairs.items()))
    elif schema.type is ConnectType.STRUCT:
        some = st.fixed_dictionaries({one.name: values_of(one.schema) for one in schema.fields})
    else:
        some = SCALARS[schema]
    return st.none() | some


def plainly(schema: ConnectSchema, value: Any) -> Any:
    """The value as it is decoded."""
    if value is None:
        return None
    if schema.type is ConnectType.ARRAY:
        return [plainly(schema.value_schema, one) for one in value]  # type: ignore[arg-type]
    if schema.type is ConnectType.MAP:
        return {key: plainly(schema.value_schema, one) for key, one in value}  # type: ignore[arg-type]
    if schema.type is ConnectType.STRUCT:
        return {one.name: plainly(one.schema, value[one.name]) for one in schema.fields}
    return value


@given(data=st.data())
def test_any_schema_and_value_come_back_from_the_bytes(data: st.DataObject) -> None:
    schemas = data.draw(st.lists(st.dictionaries(st.sampled_from("abcd"), SCHEMAS, min_size=1), min_size=1, max_size=3), "schemas")
    types = GrowingTypes()
    for number, fields in enumerate(schemas):
        schema = struct(f"org.T{number}", **fields)
        values = data.draw(st.lists(values_of(schema), min_size=1, max_size=4), "values")
        entries = converted(FREE, types, [(schema, value) for value in values])
        assert entries.bad == ()
        assert [fields_of(value) for _, value in decoded(entries, types)] == [plainly(schema, value) for value in values]
        again = converted(FREE, types, [(schema, value) for value in values])
        assert again.values == entries.values  # what the cluster knows of the type changes no byte
