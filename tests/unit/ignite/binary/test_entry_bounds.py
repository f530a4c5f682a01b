"""Where entries begin and end: every fast way gives what the slow one gives, and broken pages are refused."""

from __future__ import annotations

import re
import sys
import uuid

import numpy as np
import pytest

from ignite_kafka.errors import DecodeError
from ignite_kafka.ignite.binary import entry_bounds, raw_entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from tests.support.ignite_bytes import Types, binary, boolean, decimal, number, page, string, uuid_, wrapped, written
from tests.support.randomness import generator

POINT = Types().add("Point", {"x": codes.LONG, "label": codes.STRING})


def point(row: int) -> bytes:
    return binary(POINT, {"x": number(codes.LONG, row), "label": string("l" * (row % 50))})


def lookalike(row: int) -> bytes:
    """An object whose text looks like a wrapped object."""
    return binary(POINT, {"x": number(codes.LONG, row), "label": string(wrapped(point(1)) if row % 3 == 0 else b"")})


KEYS = {
    "long": lambda row: number(codes.LONG, row),
    "string": lambda row: string(f"key {row}" * (row % 4)),
    "uuid": lambda row: uuid_(uuid.UUID(int=row)),
    "object": lambda row: wrapped(point(row)),
    "mixed": lambda row: number(codes.LONG, row) if row % 2 else string(str(row)),
    "boolean": lambda row: boolean(row % 2 == 0),
}
VALUES = {
    "object": lambda row: wrapped(point(row)),
    "lookalike": lambda row: wrapped(lookalike(row)),
    "unwrapped": point,
    "long": lambda row: number(codes.LONG, row),
    "string": lambda row: string("v" * row),
    "decimal": lambda row: decimal(__import__("decimal").Decimal(row)),
    "list": lambda row: written(["a", row, [1.5, None]]),
    "offset": lambda row: wrapped(point(row), before=b"12345"),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", VALUES)
def test_bounds_of_every_kind(key: str, value: str) -> None:
    entries = [(KEYS[key](row), VALUES[value](row)) for row in range(300)]
    one = page(entries)
    bounds = entry_bounds(one)
    data = bytes(one.data)
    for row, (key_bytes, value_bytes) in enumerate(entries):
        assert data[bounds.key_start[row] : bounds.key_end[row]] == bare(key_bytes)
        assert data[bounds.value_start[row] : bounds.value_end[row]] == bare(value_bytes)
    assert len(bounds.key_start) == 300
    assert list(raw_entries(one)) == [(bare(key_bytes), bare(value_bytes)) for key_bytes, value_bytes in entries]


def bare(data: bytes) -> bytes:
    if data[0] != codes.WRAPPED:
        return data
    offset = int.from_bytes(data[-4:], "little")
    return data[5 + offset : -4]


def test_no_entries() -> None:
    assert entry_bounds(page([])).key_start.size == 0


@pytest.mark.parametrize("rows", [0, 1, 3, 299, 301, -1, 1 << 30])
def test_another_number_of_rows_is_refused(rows: int) -> None:
    sound = page([(number(codes.LONG, row), wrapped(point(row))) for row in range(300)])
    with pytest.raises(DecodeError):
        entry_bounds(Page(sound.partition, rows, sound.data, True), "trades")


@pytest.mark.parametrize(
    ("entry", "message", "position"),
    [
        (number(codes.LONG, 1)[:-1] + b"", "ends 1 bytes after its limit", 0),
        (number(codes.LONG, 1), "end where a value is due", 9),
        (number(codes.LONG, 1) + b"\x2a", "no type code 42", 9),
        (number(codes.LONG, 1) + b"\x09\xff\xff\xff\xff", "length -1 is negative", 9),
        (number(codes.LONG, 1) + b"\x18\xff\xff\xff\x7f\x01", "more elements than bytes", 9),
        (number(codes.LONG, 1) + number(codes.LONG, 1) + b"\x00", "1 bytes are left", 18),
        (number(codes.LONG, 1) + b"\x1b\x02\x00\x00\x00\x65\x65\x02\x00\x00\x00", "offset 2 of a wrapped object", 9),
        (number(codes.LONG, 1) + b"\x67\x01\x00\x00" + bytes(20), "shorter than its header", 9),
        (number(codes.LONG, 1) + b"\x1c\x00\x00\x00\x00\x01", "not followed by a class name", 9),
    ],
)
def test_errors_name_the_place(entry: bytes, message: str, position: int) -> None:
    with pytest.raises(DecodeError, match=re.escape(message)) as caught:
        entry_bounds(Page(17, 1, memoryview(entry), True), "trades")
    assert caught.value.where == {"cache": "trades", "partition": 17, "position": position}


def test_objects_are_found_without_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("one by one")

    monkeypatch.setattr(sys.modules[entry_bounds.__module__], "_measure_each", never)
    rows = generator(1).sample(range(1000), 1000)
    for key in ("long", "string", "uuid", "object"):
        assert entry_bounds(page([(KEYS[key](row), VALUES["object"](row)) for row in rows])).key_start.size == 1000
    fixed = entry_bounds(page([(KEYS["long"](row), VALUES["long"](row)) for row in rows]))
    assert (np.diff(fixed.key_start) == 18).all()
