"""Keys with Connect schemas: one form for a key, whatever task reads it, and keys made of fields or of Kafka's own numbers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.convert.to_ignite import Stage
from ignite_kafka.errors import TypeClash
from ignite_kafka.ignite.binary.row_values import Document
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from tests.support.connect_records import Value, converted, fields_of, numbered_converter, plain, struct
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
INT32, INT64, STRING = plain("int32"), plain("int64"), plain("string")
ONE = (INT32, 1)
FIXED = (
    "field {} is not a field of {}, whose fields are fixed since they make the key: declare the key type with all its fields, or name "
    "those that all keys have in key_fields"
)


def keyed(key: str, **columns: str) -> CacheInfo:
    """A cache whose query entity has this key class and these key columns."""
    fields = tuple(QueryField(name, kind, is_key=True) for name, kind in columns.items())
    return CacheInfo("keyed", 1, query_entities=(QueryEntity(key, "Value", fields=fields),))


def keys_of(cache: CacheInfo, types: GrowingTypes, *keys: Value) -> tuple[list[bytes], list[tuple[int, str]]]:
    """The bytes of keys that one task makes, and the bad ones."""
    entries = converted(cache, types, [(struct(None, v=INT32), {"v": 1})] * len(keys), keys)
    assert all((bad.stage, bad.where) == (Stage.PUT, {"part": "key"}) for bad in entries.bad)
    return entries.keys.to_pylist(), [(bad.row, bad.reason) for bad in entries.bad]


def decoded_keys(cache: CacheInfo, types: GrowingTypes, *keys: Value) -> list[Any]:
    entries = converted(cache, types, [ONE] * len(keys), keys)
    return [key for key, _ in decoded(entries, types)]


def test_a_named_key_has_the_schemas_order_and_one_without_a_name_that_of_its_fields_names() -> None:
    types = GrowingTypes()
    named, unnamed = struct("org.Key", b=INT32, a=STRING), struct(None, b=INT64, a=STRING)
    first, second = decoded_keys(FREE, types, (named, {"b": 1, "a": "x"}), (unnamed, {"b": 1, "a": "x"}))
    assert (first.type_name, list(first.fields)) == ("org.Key", ["b", "a"])
    assert (second.type_name, list(second.fields)) == ("free.Key", ["a", "b"])


def test_a_key_without_a_name_has_the_bytes_of_the_same_key_in_json() -> None:
    types = GrowingTypes()
    ours, _ = keys_of(FREE, types, (struct(None, b=INT64, a=struct(None, d=STRING, c=INT64)), {"b": 1, "a": {"d": "x", "c": 2}}))
    json = record_converter(FREE, GrowingTypes()).convert(consumed([b"1"], [b'{"b":1,"a":{"d":"x","c":2}}']))
    assert ours == json.keys.to_pylist()


def test_a_key_type_never_grows_in_any_task() -> None:
    types = GrowingTypes()
    two, three = struct("org.Key", b=INT32, a=INT32), struct("org.Key", a=INT32, b=INT32, c=INT32)
    first, bad = keys_of(FREE, types, (two, {"b": 1, "a": 2}))
    assert not bad
    for _ in range(2):
        again, bad = keys_of(FREE, types, (three, {"a": 2, "b": 1, "c": None}), (three, {"a": 2, "b": 1, "c": 3}), (two, {"b": 1, "a": 2}))
        assert again == [first[0], first[0]]
        assert bad == [(1, FIXED.format("c", "org.Key"))]
    assert len(types.known[java_hash("org.key")].schemas) == 1
    less, bad = keys_of(FREE, types, (struct("org.Key", b=INT32), {"b": 1}), (two, {"b": 1, "a": None}))
    assert (less[0], bad) == (less[1], [])


def test_of_a_batch_the_first_record_gives_the_form() -> None:
    """Whatever its neighbours are: the bytes are those of a batch of its own."""
    less, more = (struct("org.Key", c=INT32), {"c": 1}), (struct("org.Key", a=INT32, c=INT32, b=INT32), {"a": 1, "c": 2, "b": 3})
    found, bad = keys_of(FREE, GrowingTypes(), less, more, less)
    assert found == keys_of(FREE, GrowingTypes(), less)[0] * 2
    assert bad == [(1, FIXED.format("a", "org.Key"))]
    fuller = decoded_keys(FREE, GrowingTypes(), more, less)
    assert [key.fields for key in fuller] == [{"a": 1, "c": 2, "b": 3}, {"a": None, "c": 1, "b": None}]


SAME_NAME = [struct("org.T", a=INT32), struct("org.T", b=STRING, a=INT32), struct("org.T", a=STRING), struct("org.t", a=INT32)]
SAME_NAME += [struct("org.T", a=INT32, i=struct("org.I", x=INT32)), struct("org.T", a=INT64, i=struct("org.I", y=INT32, x=STRING))]
SAME_NAME += [struct(None, i=struct(None, x=INT32)), struct(None, i=INT32)]


def value_of(schema: ConnectSchema) -> Any:
    return {one.name: value_of(one.schema) if one.schema.fields else "x" if one.schema == STRING else 1 for one in schema.fields}


@pytest.mark.parametrize("side", ["key", "value"])
@given(records=st.lists(st.sampled_from(SAME_NAME), min_size=1, max_size=6), ends=st.sets(st.integers(1, 5)), again=st.booleans())
def test_batches_decide_nothing_about_structs_of_one_name(side: str, records: list[ConnectSchema], ends: set[int], again: bool) -> None:
    """Records in one batch, and in several of one task or of tasks that follow each other, give the same entries and bad records."""
    chosen: list[Value] = [(schema, value_of(schema)) for schema in records]
    numbers: list[Value] = [(INT32, row) for row in range(len(chosen))]
    values, keys = (numbers, chosen) if side == "key" else (chosen, numbers)

    def outcome(bounds: list[int]) -> tuple[list[Any], list[tuple[int, str]], Any]:
        types = GrowingTypes()
        task = numbered_converter(FREE, types, values, keys)
        found: list[Any] = []
        bad: list[tuple[int, str]] = []
        for start, end in itertools.pairwise(bounds):
            texts = [str(row).encode() for row in range(start, end)]
            entries = (numbered_converter(FREE, types, values, keys) if again else task).convert(consumed(texts, texts))
            made = entries.keys if side == "key" else entries.values
            shown = [entry[0 if side == "key" else 1] for entry in decoded(entries, types)]
            # objects of an earlier batch lack the fields that their type got later
            found += made.to_pylist() if side == "key" else [(one.type_name, _without_nulls(fields_of(one))) for one in shown]
            bad += [(start + one.row, one.reason) for one in entries.bad]
        return found, bad, {one.name: [(field.name, field.type_code) for field in one.fields] for one in types.known.values()}

    several = [0, *sorted(end for end in ends if end < len(chosen)), len(chosen)]
    assert outcome([0, len(chosen)]) == outcome(several)


def _without_nulls(value: Any) -> Any:
    return {name: _without_nulls(one) for name, one in value.items() if one is not None} if isinstance(value, dict) else value


def test_objects_within_keys_do_not_grow_and_a_type_that_values_have_too_is_fixed() -> None:
    types = GrowingTypes()
    inner, more = struct("org.Inner", x=INT32), struct("org.Inner", x=INT32, y=INT32)
    many = ConnectSchema(ConnectType.ARRAY, value_schema=more)
    first, _ = keys_of(FREE, types, (struct("org.Key", i=inner), {"i": {"x": 1}}))
    again, bad = keys_of(FREE, types, (struct("org.Key", i=more), {"i": {"x": 1, "y": 2}}), (struct("org.Key", i=inner), {"i": {"x": 1}}))
    assert (again, bad) == (first, [(0, "field i." + FIXED.format("y", "org.Inner")[6:])])
    held = GrowingTypes()
    converter = numbered_converter(
        FREE, held, [(more, {"x": 1, "y": None}), (many, [{"x": 1, "y": 2}])], [(inner, {"x": 1}), (inner, {"x": 2})]
    )
    for row in (b"0", b"1"):
        entries = converter.convert(consumed([row], [row]))
        assert not entries.bad
    assert len(held.known[java_hash("org.inner")].schemas) == 1


def test_a_declared_key_type_has_its_own_name_order_and_classes() -> None:
    cache, types = keyed("org.Declared", ID="java.lang.Long", CODE="java.util.UUID"), GrowingTypes()
    text = "12345678-1234-1234-1234-123456789abc"
    schema = struct("some.other.Key", code=STRING, id=INT32, more=INT32)
    good, short = {"code": text, "id": 7, "more": None}, {"code": "x", "id": 7, "more": None}
    entries = converted(
        cache, types, [(struct(None, v=INT32), {"v": 1})] * 3, [(schema, good), (schema, short), (schema, good | {"more": 1})]
    )
    ((key, _),) = decoded(entries, types)
    assert (key.type_name, [(name, str(value)) for name, value in key.fields.items()]) == ("org.Declared", [("ID", "7"), ("CODE", text)])
    assert [bad.reason.partition(":")[0] for bad in entries.bad] == [
        "field CODE is x (STRING), which UUID does not hold", FIXED.format("more", "org.Declared").partition(":")[0],
    ]  # fmt: skip


def test_two_forms_of_a_key_type_end_the_run() -> None:
    types = GrowingTypes()
    types.add("org.Key", {"a": codes.INT, "b": codes.INT}, ["a", "b"], ["b", "a"])
    with pytest.raises(TypeClash, match="holds 2 forms"):
        keys_of(FREE, types, (struct("org.Key", a=INT32, b=INT32), {"a": 1, "b": 2}))


def test_keys_of_simple_types() -> None:
    types = GrowingTypes()
    keys, bad = keys_of(FREE, types, (INT32, 7), (INT64, 7), (STRING, "a"), (STRING, None), (None, b"7"), (None, b"null"))
    assert [key[0] for key in keys] == [codes.INT, codes.LONG, codes.STRING, codes.LONG]
    assert bad == [(3, "the key is null"), (5, "the key is null")]
    keys, bad = keys_of(keyed("java.lang.Integer"), types, (INT64, 7), (INT64, 1 << 40))
    assert keys == [b"\x03\x07\0\0\0"]
    assert bad[0][1].startswith("it is 1099511627776 (INT64), which int does not hold")


VALUE = struct("org.Order", id=INT32, name=STRING, place=struct(None, x=INT32))
ORDERS: list[Any] = [(VALUE, {"id": 7, "name": "a", "place": {"x": 1}}), (VALUE, {"id": None, "name": "b", "place": None})]


def policy_keys(cache: CacheInfo, policy: str, *names: str, values: list[Any] = ORDERS, keys: Any = None) -> tuple[list[Any], list[Any]]:
    types = GrowingTypes()
    entries = converted(cache, types, values, keys, key_policy=policy, key_fields=names)
    found = [key for key, _ in decoded(entries, types)]
    return [(key.type_name, list(key.fields.items())) if isinstance(key, Document) else key for key in found], [
        (bad.row, bad.reason) for bad in entries.bad
    ]


NO_ID = (1, "field id, which is to make the key, is null or missing")


def test_fields_of_the_value_make_the_key() -> None:
    assert policy_keys(FREE, "value", "ID") == ([7], [(1, NO_ID[1].replace("id", "ID"))])
    assert policy_keys(FREE, "value", "name", "id") == ([("free.Key", [("id", 7), ("name", "a")])], [NO_ID])
    assert policy_keys(FREE, "value", "place") == ([("free.Key", [("x", 1)])], [(1, NO_ID[1].replace("id", "place"))])
    assert policy_keys(keyed("java.lang.Long"), "value", "id") == ([7], [NO_ID])
    declared = keyed("org.K", NAME="java.lang.String", ID="java.lang.Short")
    assert policy_keys(declared, "value", "id", "name") == ([("org.K", [("NAME", "a"), ("ID", 7)])], [NO_ID])
    assert policy_keys(FREE, "value", "none")[1] == [(row, NO_ID[1].replace("id", "none")) for row in (0, 1)]


def test_values_without_fields_a_schema_or_anything() -> None:
    values = [(INT32, 1), (None, b'{"id":3}'), None, (VALUE, None), ORDERS[0]]
    found, bad = policy_keys(FREE, "value", "id", values=values)
    assert found == [3, 7]
    assert bad == [
        (0, "it has no field id, which is to make the key: it is a whole INT32"),
        (2, "a tombstone has no fields to make a key of: key_policy is value"), (3, "the key is null"),
    ]  # fmt: skip


def test_fields_of_the_key_and_kafkas_own_numbers() -> None:
    keys = [(struct("org.K", a=INT32, b=STRING), {"a": 1, "b": "x"})] * 2
    assert policy_keys(FREE, "key", "a", keys=keys) == ([1, 1], [])
    assert policy_keys(FREE, "key", "b", "a", keys=keys) == ([("free.Key", [("a", 1), ("b", "x")])] * 2, [])
    found, bad = policy_keys(FREE, "kafka")
    assert [key[1][2] for key in found] == [("__connect_offset", 100), ("__connect_offset", 101)]
    assert bad == []


def test_each_side_has_its_own_converter() -> None:
    types = GrowingTypes()
    entries = converted(FREE, types, [(INT32, 5)])
    assert decoded(entries, types) == [(0, 5)]
    entries = numbered_converter(FREE, types, [], [(STRING, "k")], value="ignite-binary").convert(consumed([b"\x03\x05\0\0\0"], [b"0"]))
    assert decoded(entries, types) == [("k", 5)]
    entries = numbered_converter(FREE, types, [(STRING, "v")], None, key="ignite-binary").convert(consumed([b"0"], [b"\x03\x05\0\0\0"]))
    assert decoded(entries, types) == [(5, "v")]
