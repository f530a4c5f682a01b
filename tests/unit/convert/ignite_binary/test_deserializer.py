"""Ignite binary on its way in: sound bytes pass through as they are, all others are named."""

from __future__ import annotations

import pytest

from ignite_kafka.convert.to_ignite import Entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity
from tests.support import ignite_bytes as wire
from tests.support.to_ignite_records import GrowingTypes, consumed, record_converter, rules

BOTH = rules("ignite-binary", "ignite-binary")
CACHE = CacheInfo("free", 2)


def types() -> GrowingTypes:
    made = GrowingTypes()
    made.add("Point", {"x": codes.INT})
    return made


POINT = wire.binary(types().add("Point", {"x": codes.INT}), {"x": wire.number(codes.INT, 5)})
STRANGE = wire.binary(GrowingTypes().add("Strange", {"x": codes.INT}), {"x": wire.number(codes.INT, 5)})
KEYS = [wire.number(codes.LONG, 1), wire.string("key"), POINT]
VALUES = [POINT, wire.collection([POINT, wire.string("a")]), wire.mapping([(wire.string("k"), wire.NULL)])]


def converted(keys: list[bytes | None], values: list[bytes | None]) -> Entries:
    return record_converter(CACHE, types(), BOTH).convert(consumed(values, keys))


def test_sound_bytes_pass_through() -> None:
    entries = converted([*KEYS, KEYS[0]], [*VALUES, None])
    assert entries.bad == ()
    assert entries.keys.to_pylist() == [*KEYS, KEYS[0]]
    assert entries.values.to_pylist() == [*VALUES, None]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no bytes at all"),
        (b"{}", "no value in Ignite's binary format"),
        (POINT[:-1], "no value in Ignite's binary format"),
        (POINT + b"\x65", "1 bytes follow its value"),
        (wire.number(codes.LONG, 1) * 2, "9 bytes follow its value"),
        (wire.NULL, "Ignite's null is no entry's key or value"),
        (wire.wrapped(POINT), "an object in its wrapper is no entry's"),
        (wire.string(b"caf\xe9"), "a String that is no valid UTF-8"),
        (wire.string(b"\xed\xa0\xbd"), "a String that is no valid UTF-8"),
        (STRANGE, "No such type (type id"),
        (wire.collection([STRANGE]), "No such type (type id"),
    ],
)
def test_bytes_that_are_no_value_are_named_and_their_neighbours_kept(data: bytes, reason: str) -> None:
    entries = converted([KEYS[0], KEYS[1], KEYS[2]], [VALUES[0], data, VALUES[2]])
    assert entries.rows.tolist() == [0, 2]
    assert [(bad.row, bad.stage) for bad in entries.bad] == [(1, "VALUE_CONVERTER")]
    assert reason in entries.bad[0].reason
    assert [(bad.row, bad.stage) for bad in converted([data], [POINT]).bad] == [(0, "KEY_CONVERTER")]


def test_a_json_key_with_a_binary_value() -> None:
    cache = CacheInfo("free", 2, query_entities=(QueryEntity("java.lang.Integer", "Point"),))
    entries = record_converter(cache, types(), rules(value="ignite-binary")).convert(consumed([POINT, None, b"x"]))
    assert entries.keys.to_pylist() == [wire.number(codes.INT, 0), wire.number(codes.INT, 1)]
    assert entries.values.to_pylist() == [POINT, None]
    assert [bad.row for bad in entries.bad] == [2]


@pytest.mark.parametrize("key_converter", ["json", "ignite-binary"])
def test_four_letters_that_are_null_in_json_remove_nothing(key_converter: str) -> None:
    chosen = rules(key_converter, "ignite-binary")
    keys = [b"1", b"2", b"3"] if key_converter == "json" else KEYS
    entries = record_converter(CACHE, types(), chosen).convert(consumed([POINT, b"null", None], keys))
    assert entries.values.to_pylist() == [POINT, None]
    assert entries.rows.tolist() == [0, 2]
    assert [(bad.row, bad.stage) for bad in entries.bad] == [(1, "VALUE_CONVERTER")]


def test_json_null_removes_whatever_the_keys_are() -> None:
    chosen = rules("ignite-binary", "json")
    entries = record_converter(CACHE, types(), chosen).convert(consumed([b"null", b"1"], KEYS[:2]))
    assert entries.values.is_null().to_pylist() == [True, False]


@pytest.mark.parametrize("data", [b"\xed\xa0\xbd\xed\xb8\x80", b"a\xc0\x80b", "é😀".encode(), b""])
def test_strings_in_either_form_of_ignite_pass_through(data: bytes) -> None:
    entries = converted([wire.string(data), KEYS[1]], [VALUES[0], wire.string(data)])
    assert entries.bad == ()
    assert (entries.keys[0].as_py(), entries.values[1].as_py()) == (wire.string(data), wire.string(data))
