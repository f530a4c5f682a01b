"""Keys of JSON records back to keys of Ignite."""

from __future__ import annotations

import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.convert import converter
from ignite_kafka.convert.json_keys import declared_key_codes, key_forms, key_of
from ignite_kafka.errors import UnknownBinaryType
from ignite_kafka.pipelines.stream.take import page_of_states
from ignite_kafka.thin import codes
from ignite_kafka.thin.model import BinaryType, CacheInfo, QueryEntity


class NoTypes:
    def binary_type(self, type_id: int) -> BinaryType:
        raise UnknownBinaryType("none", type_id=type_id)


def text_of(key: bytes) -> bytes:
    """What a record has."""
    (text,) = converter("json").convert([page_of_states([(key, None)])], CacheInfo("c", 1), NoTypes()).keys.to_pylist()
    return bytes(text)


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
    text = text_of(key)
    assert key_of(text, {code}) == key
    assert key in key_forms(text)


def test_uuids_are_as_java_writes_them() -> None:
    value = uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")
    key = key_of(f'"{value}"'.encode(), {codes.UUID})
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
    assert key_of(text, kinds) is None


def test_one_of_two_types_may_be_the_only_one_that_fits() -> None:
    assert key_of(b"5", {codes.INT, codes.STRING}) == struct.pack("<Bi", codes.INT, 5)


def test_query_entities_tell_a_simple_key_type() -> None:
    entities = (QueryEntity("java.lang.Long", "V"), QueryEntity("org.example.Key", "V"))
    assert declared_key_codes(CacheInfo("c", 1, query_entities=entities)) == {codes.LONG}
