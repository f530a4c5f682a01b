"""Keys of JSON records back to keys of Ignite."""

from __future__ import annotations

import struct
import uuid
from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.convert import converter
from ignite_kafka.convert.to_kafka.json_keys import declared_kinds, key_forms, key_of, proved_kind
from ignite_kafka.convert.to_kafka.object_keys import KeyKind, kind_of
from ignite_kafka.ignite.binary import ObjectLayout, encode_objects
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity
from ignite_kafka.source.stream.batch import page_of_states
from tests.support.ignite_bytes import Types, binary

NONE = Types()


def record_of(key: bytes, types: Types = NONE) -> tuple[bytes, frozenset[KeyKind]]:
    """The key that a record has, and the kind that is remembered with it."""
    records = converter("json").convert([page_of_states([(key, None)])], CacheInfo("c", 1), types)
    (text,) = records.keys.to_pylist()
    return bytes(text), records.key_kinds


def integers(code: int, form: str, bits: int) -> st.SearchStrategy[tuple[int, bytes]]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1).map(lambda value: (code, struct.pack(f"<B{form}", code, value)))


def string(text: str) -> bytes:
    return struct.pack("<Bi", codes.STRING, len(text.encode())) + text.encode()


KEYS = st.one_of(
    integers(codes.BYTE, "b", 8),
    integers(codes.SHORT, "h", 16),
    integers(codes.INT, "i", 32),
    integers(codes.LONG, "q", 64),
    integers(codes.DATE, "q", 52),
    st.integers(0, 0xFFFF).map(lambda value: (codes.CHAR, struct.pack("<BH", codes.CHAR, value))),
    st.booleans().map(lambda value: (codes.BOOL, struct.pack("<B?", codes.BOOL, value))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: (codes.DOUBLE, struct.pack("<Bd", codes.DOUBLE, value))),
    st.text(st.characters(exclude_categories=["Cs"])).map(lambda value: (codes.STRING, string(value))),
    st.binary(min_size=16, max_size=16).map(lambda value: (codes.UUID, bytes([codes.UUID]) + value)),
)


@given(KEYS)
def test_a_key_comes_back_where_its_type_is_known(known: tuple[int, bytes]) -> None:
    code, key = known
    text, kinds = record_of(key)
    assert kinds == {(code,)}
    assert key_of(text, kinds, NONE) == key
    assert key_forms(text, kinds, NONE) == [key]


def test_uuids_are_as_java_writes_them() -> None:
    value = uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")
    key = key_of(f'"{value}"'.encode(), {(codes.UUID,)}, NONE)
    assert key == bytes([codes.UUID, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8])


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (b"5", {codes.INT, codes.LONG}),  # either
        (b"5", set()),
        (b"5", {codes.STRING}),
        (b"300", {codes.BYTE}),
        (b'"x"', {codes.UUID}),
        (b'"x"', {codes.STRING, codes.DECIMAL}),  # a decimal is a string, too
        (b'{"id":1}', {codes.OBJECT}),
        (b"true", {codes.INT}),
        (b'"\\ud800"', {codes.STRING}),
        (b"no json", {codes.STRING}),
        (b"null", {codes.LONG}),
    ],
)
def test_what_cannot_be_told_is_not_guessed(text: bytes, kinds: set[int]) -> None:
    assert key_of(text, {(code,) for code in kinds}, NONE) is None


def test_one_of_two_types_may_be_the_only_one_that_fits() -> None:
    assert key_of(b"5", {(codes.INT,), (codes.STRING,)}, NONE) == struct.pack("<Bi", codes.INT, 5)


def test_query_entities_tell_a_simple_key_type() -> None:
    entities = (QueryEntity("java.lang.Long", "V"), QueryEntity("org.example.Key", "V"))
    assert declared_kinds(CacheInfo("c", 1, query_entities=entities)) == {(codes.LONG,)}


ID, SHOP, LINE = pa.field("id", pa.int64()), pa.field("shop", pa.string()), pa.field("line", pa.int32())
ORDER = ObjectLayout("org.example.OrderKey", (ID, SHOP, LINE))
SHORT = ObjectLayout(ORDER.type_name, (LINE, ID))
"""Another schema of the same type."""


def order_types() -> Types:
    types = Types()
    schemas = [[field.name for field in layout.fields] for layout in (ORDER, SHORT)]
    types.add(ORDER.type_name, {"id": codes.LONG, "shop": codes.STRING, "line": codes.INT}, *schemas)
    return types


def order(*values: object, kind: ObjectLayout = ORDER) -> bytes:
    columns = [pa.array([value], field.type) for field, value in zip(kind.fields, values, strict=True)]
    return bytes(encode_objects(kind, columns)[0].as_py())


@given(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    st.none() | st.integers(0, 9),
)
def test_an_object_comes_back_byte_for_byte(number: int, shop: str | None, line: int | None) -> None:
    types, key = order_types(), order(number, shop, line)
    text, kinds = record_of(key, types)
    assert kinds == {kind_of(key)}
    assert key_of(text, kinds, types) == key


def test_the_schema_tells_how_an_object_was_written() -> None:
    types, key = order_types(), order(3, 7, kind=SHORT)
    text, kinds = record_of(key, types)
    assert text == b'{"line":3,"id":7}'
    assert key_of(text, kinds, types) == key
    assert key_of(text, kinds | {kind_of(order(1, "x", 1))}, types) == key, "the other schema has one field more"
    assert key_of(b'{"id":7,"shop":"x","line":3}', kinds, types) is None, "that schema has no such field"
    assert key_of(b'{"id":7,"line":3}', kinds, types) is None, "nor that order"


def test_objects_that_do_not_come_back_the_same_are_not_guessed() -> None:
    types = order_types()
    key = bytearray(order(1, "x", 2))
    text, _ = record_of(bytes(key), types)
    key[8] ^= 1  # the hash code of a client that counts in another way
    assert proved_kind(bytes(key), text, types) == (codes.OBJECT,)
    assert key_of(text, {(codes.OBJECT,)}, types) is None
    types.add("Timed", {"at": codes.TIMESTAMP})
    timed = ObjectLayout("Timed", (pa.field("at", pa.timestamp("us", "UTC")),))
    moment = order(datetime(2020, 1, 1, microsecond=1), kind=timed)
    assert record_of(moment, types)[1] == {(codes.OBJECT,)}


def test_kinds_without_metadata_or_of_another_form_tell_nothing() -> None:
    key = order(1, "x", 2)
    text, kinds = record_of(key, order_types())
    assert key_of(text, kinds, NONE) is None
    assert key_of(b"5", kinds, order_types()) is None
    (kind,) = kinds
    assert key_of(text, {(*kind[:3], kind[3] & ~codes.FLAG_HAS_SCHEMA)}, order_types()) is None


def test_an_object_with_a_full_footer_comes_back() -> None:
    types = order_types()
    fields = {"id": struct.pack("<Bq", codes.LONG, 5), "shop": string("x" * 300), "line": bytes([codes.NULL])}
    full = bytearray(binary(types.binary_type(ORDER.type_id), fields, compact=False))
    full[8:12] = order(5, "x" * 300, None)[8:12]  # the hash code is that of the fields
    text, kinds = record_of(bytes(full), types)
    assert key_of(text, kinds, types) == bytes(full)
