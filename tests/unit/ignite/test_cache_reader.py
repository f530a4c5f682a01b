"""Which keys are asked for where a column shows one."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from ignite_kafka.ignite.cache_reader import encodable, wire_keys
from ignite_kafka.ignite.types import type_codes as codes

FIVE = [
    struct.pack("<Bb", codes.BYTE, 5),
    struct.pack("<Bh", codes.SHORT, 5),
    struct.pack("<Bi", codes.INT, 5),
    struct.pack("<Bq", codes.LONG, 5),
]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_an_integer_is_asked_for_in_every_width(kind: pa.DataType) -> None:
    assert wire_keys([5, 5], kind) == (4, b"".join(FIVE))


@pytest.mark.parametrize(
    ("key", "widths"),
    [
        (127, 4),
        (128, 3),
        (-128, 4),
        (-129, 3),
        (32_767, 3),
        (32_768, 2),
        (1 << 31, 1),
        (-(1 << 31), 2),
        ((1 << 63) - 1, 1),
        (-(1 << 63), 1),
    ],
)
def test_only_in_those_that_hold_it(key: int, widths: int) -> None:
    count, data = wire_keys([key], pa.int64())
    assert count == widths
    assert data.endswith(struct.pack("<Bq", codes.LONG, key))


def test_a_string_has_one_form() -> None:
    assert wire_keys(["a", "b", "a"], pa.string()) == (2, b"".join(struct.pack("<Bi", codes.STRING, 1) + letter for letter in (b"a", b"b")))


@pytest.mark.parametrize(
    ("key", "column", "can"),
    [
        (5, pa.field("_key", pa.int8()), True),
        (128, pa.field("_key", pa.int8()), False),
        (True, pa.field("_key", pa.int64()), False),
        (None, pa.field("_key", pa.int64()), False),
        (65, pa.field("_key", pa.int32(), metadata={"ignite": "char"}), False),
        ("5", pa.field("_key", pa.int64()), False),
        ("a", pa.field("_key", pa.string()), True),
        (0.5, pa.field("_key", pa.float64()), False),
    ],
)
def test_what_can_be_asked_for(key: object, column: pa.Field, can: bool) -> None:
    assert encodable(key, column) is can
