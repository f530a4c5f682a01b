"""One small record never stalls a sink: what is beyond a limit is bad, its neighbours are stored, and work is linear in the bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.common.record_limits import MAX_DEPTH, MAX_FIELDS, MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES
from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.ignite_types import known_type, object_types
from ignite_kafka.convert.ignite_types.object_types import ObjectTypes
from ignite_kafka.convert.json.read_rows import parse
from ignite_kafka.convert.json.values import DuplicateNames, Refused
from ignite_kafka.convert.json_schema.schema_to_connect import SchemaReader
from ignite_kafka.convert.json_with_schemas.schema_to_connect import connect_schema
from ignite_kafka.convert.to_ignite import ConversionRules, SideRules
from ignite_kafka.convert.to_ignite.connect_resolver import Place, Resolver
from ignite_kafka.convert.to_ignite.connect_targets import ObjectTarget, RefusingTarget
from ignite_kafka.ignite.binary import value_end
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support import ignite_bytes as wire
from tests.support.randomness import examples
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter, rules

CACHE = CacheInfo("free", 2)


def of_fields(count: int) -> bytes:
    return b"{%s}" % b",".join(b'"k%d":1' % number for number in range(count))


def nested(levels: int) -> bytes:
    return struct.pack("<Bib", codes.COLLECTION, 1, 1) * levels + wire.number(codes.INT, 1)


def calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    """A list with one number, the calls of a function from now on."""
    counted, function = [0], getattr(module, name)

    def counting(*given: Any, **named: Any) -> Any:
        counted[0] += 1
        return function(*given, **named)

    monkeypatch.setattr(module, name, counting)
    return counted


def test_a_field_is_hashed_a_few_times_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = calls(monkeypatch, known_type, "java_hash")
    monkeypatch.setattr(object_types, "java_hash", vars(known_type)["java_hash"])
    found = []
    for count in (250, 500):
        hashed[0] = 0
        assert not record_converter(CACHE, GrowingTypes()).convert(consumed([of_fields(count)])).bad
        found.append(hashed[0])
    assert found[1] < 2.5 * found[0]


def test_records_give_a_type_so_many_fields_and_no_more() -> None:
    types = GrowingTypes()
    reader = record_converter(CACHE, types)
    found = reader.convert(consumed([of_fields(MAX_FIELDS + 1), b'{"a":1}', of_fields(MAX_FIELDS - 1)]))
    assert [(bad.row, bad.reason) for bad in found.bad] == [
        (0, f"field k{MAX_FIELDS - 1} is not a field of free.Value, to which records add no field beyond {MAX_FIELDS}")
    ]
    assert [value.fields["a"] for _, value in decoded(found, types)] == [1, None]
    later = reader.convert(consumed([b'{"a":2,"b":null}', b'{"a":3,"b":1}', b'{"k7":4}']))
    assert [bad.row for bad in later.bad] == [1]  # a null adds nothing, and fields that exist are taken


def test_a_schema_adds_no_field_to_a_full_type() -> None:
    kind = ConnectSchema(ConnectType.INT32, optional=True)
    schema = ConnectSchema(ConnectType.STRUCT, fields=tuple(ConnectField(f"k{number}", kind) for number in range(MAX_FIELDS + 1)))
    target = Resolver(ObjectTypes(GrowingTypes()), "UTC").target(schema, None, Place("", "free.Value", of_key=False))
    assert isinstance(target, ObjectTarget)
    ((number, name, refusing),) = target.unwritten
    assert (number, name) == (MAX_FIELDS, f"k{MAX_FIELDS}")
    assert isinstance(refusing, RefusingTarget)
    assert "no field beyond" in refusing.reason


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 5_000])
def test_binary_values_that_no_reader_decodes_are_bad(levels: int) -> None:
    converter = record_converter(CACHE, GrowingTypes(), rules("ignite-binary", "ignite-binary"))
    key = wire.number(codes.LONG, 1)
    found = converter.convert(consumed([nested(levels), nested(MAX_DEPTH)], [key, key]))
    assert [(bad.row, bad.reason) for bad in found.bad] == [
        (0, f"a value that no reader of the cache decodes: A value is nested deeper than {MAX_DEPTH} levels")
    ]
    assert found.values.to_pylist() == [nested(MAX_DEPTH)]


def test_each_container_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = calls(monkeypatch, value_end, "_variable")
    found = []
    for levels in (500, 1_000):
        measured[0] = 0
        wire.nested_type_ids([wire.page([(wire.number(codes.INT, 1), nested(levels))])], GrowingTypes())
        found.append(measured[0])
    assert found[1] < 2.5 * found[0]


def test_a_name_that_stands_twice_is_found_in_one_pass() -> None:
    pairs = [(str(number), 1) for number in range(100_000)]
    assert DuplicateNames([*pairs, ("7", 1)])._twice == ["7"]


def test_elements_of_one_kind_share_their_field() -> None:
    found = record_converter(CACHE, GrowingTypes()).convert(consumed([b'{"a":[%s1]}' % (b"[]," * 50_000)]))
    assert not found.bad


def doubling(levels: int) -> dict[str, Any]:
    """A JSON Schema whose references double with each level."""
    made: dict[str, Any] = {"D0": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    for level in range(1, levels):
        reference = {"$ref": f"#/definitions/D{level - 1}"}
        made[f"D{level}"] = {"type": "object", "properties": {"x": reference, "y": reference}}
    return {"$ref": f"#/definitions/D{levels - 1}", "definitions": made}


def test_references_are_read_once_and_count_at_each_place(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [calls(monkeypatch, SchemaReader, "_fields")]
    assert SchemaReader(doubling(10), lambda _: None).schema().fields[0].schema.fields[0].name == "x"
    assert found[0][0] == 10
    with pytest.raises(Refused, match=f"more than {MAX_SCHEMA_NODES} types"):
        SchemaReader(doubling(40), lambda _: None).schema()
    with pytest.raises(Refused, match=f"nested more than {MAX_SCHEMA_DEPTH} deep"):
        SchemaReader(doubling(MAX_SCHEMA_DEPTH), lambda _: None).schema()


def test_a_schema_of_a_record_has_so_many_types() -> None:
    node: dict[str, Any] = {"type": "struct", "fields": [{"field": str(number), "type": "int8"} for number in range(MAX_SCHEMA_NODES)]}
    with pytest.raises(Refused, match=f"more than {MAX_SCHEMA_NODES} types"):
        connect_schema(parse(json.dumps(node).encode()))
    node["fields"].pop()
    assert len(connect_schema(parse(json.dumps(node).encode())).fields) == MAX_SCHEMA_NODES - 1  # type: ignore[union-attr]


def test_an_object_of_two_fields_is_refused() -> None:
    types = GrowingTypes()
    kind = types.add("Node", {"a": codes.OBJECT, "b": codes.OBJECT})
    value = wire.binary(kind, {"a": wire.NULL, "b": wire.NULL}, width=4)
    for _ in range(40):  # each level doubles the ways to the last object
        value = wire.binary(kind, {"a": value, "b": wire.NULL}, width=4)
        value = value[:-4] + value[-8:-4]
    converter = record_converter(CACHE, types, rules("ignite-binary", "ignite-binary"))
    found = converter.convert(consumed([value], [wire.number(codes.LONG, 1)]))
    assert "Two fields share the bytes of an object" in found.bad[0].reason
    assert wire.nested_type_ids([wire.page([(wire.NULL, value)])], types) == {kind.type_id}  # a source sends what the cache has


BOMBS = [
    of_fields(MAX_FIELDS + 1),
    b'{"a":[%s1]}' % (b"[]," * 20_000),
    b'{"a":' * 5_000,
    b"[" * 5_000 + b"]" * 5_000,
    b'{"a":%s}' % (b"1" * 50_000),
    b'{"a":1e999999999,"a":2}',
    b'{"schema":%s{"type":"int8"}%s,"payload":[]}' % (b'{"type":"array","items":' * 900, b"}" * 900),
    nested(5_000),
    struct.pack("<Bib", codes.MAP, 1, 1) * 5_000,
]


@given(bomb=st.sampled_from(BOMBS), cut=st.integers(0, 60), changed=st.dictionaries(st.integers(0, 60), st.integers(0, 255), max_size=3))
@settings(max_examples=examples(60))
def test_each_record_is_stored_or_bad(bomb: bytes, cut: int, changed: dict[int, int]) -> None:
    data = bytearray(bomb)
    for place, byte in changed.items():
        data[place % len(data)] = byte
    data = data[: len(data) - cut]
    enveloped = ConversionRules(SideRules("json"), SideRules("json", {"schemas.enable": "true"}))
    for converter, key in ((rules(), b"1"), (enveloped, b"1"), (rules("ignite-binary", "ignite-binary"), wire.number(codes.LONG, 1))):
        found = record_converter(CACHE, GrowingTypes(), converter).convert(consumed([bytes(data)], [key]))
        assert len(found.rows) + len(found.bad) == 1
