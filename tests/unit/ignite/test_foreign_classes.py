"""Classes of values that Java's optimized marshaller wrote, found in the bytes of a request."""

from __future__ import annotations

import struct

import pytest

from ignite_kafka.ignite.binary.optimized import SQL_DATE
from ignite_kafka.ignite.foreign_classes import class_hashes
from ignite_kafka.ignite.types import type_codes as codes
from tests.support.randomness import generator


def value(name_hash: int, kind: int = 102, data: bytes = b"fields") -> bytes:
    payload = struct.pack("<Bih", kind, name_hash, 0) + data
    return struct.pack("<Bi", codes.OPTIMIZED, len(payload)) + payload


def test_each_class_is_found_once_wherever_it_is() -> None:
    payload = b"head" + value(7) + bytes([codes.OBJECT]) + bytes(23) + value(-8, 101) + bytes([codes.OPTIMIZED]) + value(7)
    assert class_hashes(payload) == (7, -8)
    assert class_hashes(value(1, data=value(2))) == (1, 2)


def test_at_most_five_are_named() -> None:
    assert class_hashes(b"".join(map(value, range(20)))) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xfe",
        value(7)[:-1],  # longer than the request
        value(7, kind=100),
        struct.pack("<Bi", codes.OPTIMIZED, -1) + struct.pack("<Bih", 102, 7, 0),
        struct.pack("<Bi", codes.OPTIMIZED, 6) + struct.pack("<Bih", 102, 7, 0),
        value(SQL_DATE, data=bytes(8)),  # of Java itself
    ],
)
def test_other_bytes_have_no_class(payload: bytes) -> None:
    assert class_hashes(payload) == ()


def test_any_bytes_are_searched() -> None:
    random = generator(11)
    for size in (10, 1_000, 100_000):
        found = class_hashes(bytes(random.choice((0xFE, 0x65, 0x66, 0)) for _ in range(size)))
        assert len(found) <= 5
