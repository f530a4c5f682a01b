"""Hash codes against Java's definitions written out, and partitions against pairs that Ignite gave."""

from __future__ import annotations

import struct
import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.ignite.binary import ObjectLayout, encode_objects, encoded
from ignite_kafka.ignite.binary.key_hashes import _BLOCK, array_hashes, key_hashes, partitions_of
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.type_table import field_of


def signed(number: int) -> int:
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def java_array_hash(data: bytes) -> int:
    number = 1
    for byte in data:
        number = (31 * number + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
    return signed(number)


def java_string_hash(text: str) -> int:
    number = 0
    for (unit,) in struct.iter_unpack("<H", text.encode("utf-16-le")):
        number = 31 * number + unit
    return signed(number)


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(0, 8))
def test_hash_of_bytes(rows: list[bytes], first: int) -> None:
    assert array_hashes(pa.array(rows, pa.binary()).slice(first)).tolist() == [java_array_hash(row) for row in rows[first:]]


def test_hash_of_rows_longer_than_a_block() -> None:
    rows = [b"ab", bytes(range(256)) * (_BLOCK // 100), b"", b"\xff" * _BLOCK, b"c" * 5]
    assert array_hashes(pa.array(rows, pa.binary())).tolist() == [java_array_hash(row) for row in rows]


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_hash_of_strings(texts: list[str]) -> None:
    hashes, known = key_hashes(encoded(pa.array(texts), pa.field("key", pa.string())))
    assert hashes.tolist() == [java_string_hash(text) for text in texts]
    assert known.all()


def test_hash_of_strings_in_the_second_form_and_of_what_is_no_text() -> None:
    given = [b"plain", b"\xed\xa0\xbd\xed\xb8\x80", b"caf\xe9", b"a\xc0\x80b", b"\xed\xa0\xbd", "é".encode(), b""]
    hashes, known = key_hashes(pa.array([struct.pack("<Bi", codes.STRING, len(data)) + data for data in given], pa.binary()))
    assert known.tolist() == [True, True, False, True, False, True, True]
    assert hashes[known].tolist() == [java_string_hash(text) for text in ("plain", "😀", "a\0b", "é", "")]


# from Java: Long.hashCode(...), Double.valueOf(...).hashCode() and so on
@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (pa.field("k", pa.int8()), -7, -7),
        (pa.field("k", pa.int16()), -300, -300),
        (pa.field("k", pa.int32()), -(2**31), -(2**31)),
        (pa.field("k", pa.int64()), 1 << 40, 256),
        (pa.field("k", pa.int64()), -1, 0),
        (pa.field("k", pa.float32()), 1.5, 1069547520),
        (pa.field("k", pa.float32()), float("nan"), 2143289344),
        (pa.field("k", pa.float64()), 1.5, 1073217536),
        (pa.field("k", pa.float64()), float("nan"), 2146959360),
        (pa.field("k", pa.bool_()), True, 1231),
        (pa.field("k", pa.bool_()), False, 1237),
        (pa.field("k", pa.timestamp("us", "UTC")), 1_700_000_000_123_456, -807048720),
        (field_of("k", pa.int32(), "char"), 0xFFFF, 65535),
        (field_of("k", pa.timestamp("ms", "UTC"), "date"), -1, 0),
    ],
)
def test_hash_of_numbers(field: pa.Field, value: object, expected: int) -> None:
    hashes, known = key_hashes(encoded(pa.array([value], field.type), field))
    assert (hashes.tolist(), known.tolist()) == ([expected], [True])


def test_hash_of_uuids() -> None:
    values = [uuid.UUID(int=0x0123456789ABCDEFFEDCBA9876543210), uuid.UUID(int=5)]
    hashes, _ = key_hashes(encoded(pa.array(list(map(str, values))), field_of("k", pa.string(), "uuid")))
    folded = [(value.int >> 64) ^ (value.int & (1 << 64) - 1) for value in values]
    assert hashes.tolist() == [signed((number >> 32) ^ number) for number in folded]


def test_keys_of_several_kinds() -> None:
    layout = ObjectLayout("Key", (pa.field("a", pa.int32()),))
    objects = encode_objects(layout, [pa.array([1, 2], pa.int32())])
    longs = encoded(pa.array([5, 6]), pa.field("k", pa.int64()))
    unknown = encoded(pa.array([b"x"]), pa.field("k", pa.binary()))
    hashes, known = key_hashes(pa.concat_arrays([longs, unknown, objects]))
    bodies = [object_[24:29] for object_ in objects.to_pylist()]
    assert hashes.tolist() == [5, 6, 0, *map(java_array_hash, bodies)]
    assert known.tolist() == [True, True, False, True, True]


def test_partitions() -> None:
    hashes = np.array([0, 1, -1, 1 << 16, -(2**31), 2**31 - 1, 123_456_789], np.int32)
    assert partitions_of(hashes, 1024).tolist() == [0, 1, 0, 1, 0, 0, 590]
    assert partitions_of(hashes, 7).tolist() == [0, 1, 1, 2, 2, 1, 1]
