"""Batches with entries that are no records: the others are converted all the same, in order, and each bad one is told with its bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest

from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.connect_converters import serializer
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.json_schema.serializer import JsonSchemaSerializer
from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.to_kafka.bad_entries import ENTRY_ERRORS, separate_bad_entries
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.converter import KeyConverter
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.errors import DecodeError, IgniteKafkaError, RecordTooLarge, UnknownBinaryType, UnsupportedType, ValueNotWritten
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.kafka.records import Records
from ignite_kafka.settings.converters import SCALARS, parse_properties
from tests.support.converters import converter
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, boolean, mapping, number, page, string, wrapped
from tests.support.randomness import generator
from tests.support.registry import memory_registry

TYPES = Types()
POINT = TYPES.add("Point", {"name": codes.STRING, "x": codes.LONG})
UNKNOWN = Types().add("Unknown", {"x": codes.LONG})
NO_NULL_KEYS = mapping([(NULL, string("v"))])


def long(value: int) -> bytes:
    return number(codes.LONG, value)


def point(name: bytes, x: int) -> bytes:
    return binary(POINT, {"name": name, "x": long(x)})


BROKEN_FIELD = point(bytes([codes.STRING]) + (99).to_bytes(4, "little") + b"abc", 1)
"""An object whose own length is sound, and that of its string is not."""
OF_UNKNOWN_TYPE = binary(UNKNOWN, {"x": long(1)})
WITH_RAW_DATA = bytes([*point(string("a"), 1)[:2], point(string("a"), 1)[2] | codes.FLAG_HAS_RAW, *point(string("a"), 1)[3:]])


def nothing_refused(_: Records) -> Mapping[int, IgniteKafkaError]:
    return {}


def good(key: int) -> tuple[bytes, bytes]:
    return long(key), wrapped(point(string(f"n{key}"), key))


PAGES = [
    page([good(1), (long(2), wrapped(BROKEN_FIELD)), good(3)], 4),
    page([], 5),
    page([(long(6), wrapped(OF_UNKNOWN_TYPE))], 6),
    page([(wrapped(OF_UNKNOWN_TYPE), string("v")), (long(8), NO_NULL_KEYS), good(9), (string("k"), long(5)), (long(11), NULL)], 7),
    page([(long(12), wrapped(WITH_RAW_DATA))], 8),
]


def test_json_of_the_good_entries_and_the_bytes_of_the_others() -> None:
    found = separate_bad_entries(converter("json"), PAGES, CACHE, TYPES, nothing_refused)
    assert list(zip(found.records.keys.to_pylist(), found.records.values.to_pylist(), strict=True)) == [
        (b"1", b'{"name":"n1","x":1}'), (b"3", b'{"name":"n3","x":3}'), (b"9", b'{"name":"n9","x":9}'), (b'"k"', b"5"), (b"11", b"null")
    ]  # fmt: skip
    assert [(bad.row, bad.key, bad.value, bad.stage, bad.error.where.get("part"), type(bad.error)) for bad in found.bad] == [
        (1, long(2), BROKEN_FIELD, Stage.POLL, "value", DecodeError),
        (3, long(6), OF_UNKNOWN_TYPE, Stage.POLL, "value", UnknownBinaryType),
        (4, OF_UNKNOWN_TYPE, string("v"), Stage.POLL, "key", UnknownBinaryType),
        (5, long(8), NO_NULL_KEYS, Stage.POLL, "value", UnsupportedType),
        (9, long(12), WITH_RAW_DATA, Stage.POLL, "value", UnsupportedType),
    ]
    places = [bad.error.where for bad in found.bad]
    assert [(place["cache"], place["partition"]) for place in places] == [("tested", partition) for partition in (4, 6, 7, 7, 8)]
    assert [place["key"] for place in places] == ["b'2'", "b'6'", repr(OF_UNKNOWN_TYPE), "b'8'", "b'12'"]
    assert [place.get("type_id") for place in places] == [None, UNKNOWN.type_id, UNKNOWN.type_id, None, POINT.type_id]
    assert "ends outside its page or object" in found.bad[0].error.what


def test_ignite_binary_refuses_what_no_reader_could_read() -> None:
    found = separate_bad_entries(converter("ignite-binary"), PAGES, CACHE, TYPES, nothing_refused)
    assert [(bad.row, bad.stage, bad.error.where["part"], type(bad.error)) for bad in found.bad] == [
        (3, Stage.POLL, "value", UnknownBinaryType),
        (4, Stage.POLL, "key", UnknownBinaryType),
    ]
    assert found.records.keys.to_pylist() == [long(1), long(2), long(3), long(8), long(9), string("k"), long(11), long(12)]
    assert found.records.type_ids == {POINT.type_id}


def test_a_removal_whose_key_is_bad_has_no_value() -> None:
    (bad,) = separate_bad_entries(converter("json"), [page([(wrapped(OF_UNKNOWN_TYPE), NULL)])], CACHE, TYPES, nothing_refused).bad
    assert (bad.key, bad.value, bad.stage, bad.error.where["part"]) == (OF_UNKNOWN_TYPE, None, Stage.POLL, "key")


@pytest.mark.parametrize("name", ["json", "ignite-binary"])
def test_a_broken_length_is_nobody_s(name: str) -> None:
    """Where the entry ends is a guess, so all that follows would be one."""
    whole = PAGES[3]
    cut = Page(7, whole.rows, whole.data[:-1], True)
    with pytest.raises(DecodeError, match=r"cache tested, partition 7"):
        separate_bad_entries(converter(name), [PAGES[0], cut], CACHE, TYPES, nothing_refused)


def test_records_that_may_not_be_sent_are_bad_too() -> None:
    def refuses(records: Records) -> Mapping[int, IgniteKafkaError]:
        return {row: RecordTooLarge("too large", topic="t") for row, key in enumerate(records.keys.to_pylist()) if key in (b"3", b"9")}

    found = separate_bad_entries(converter("json"), PAGES[:4], CACHE, TYPES, refuses)
    assert found.records.keys.to_pylist() == [b"1", b'"k"', b"11"]
    refused = [bad for bad in found.bad if bad.stage == Stage.PRODUCE]
    assert [(bad.row, bad.key, bad.value, bad.error.where["partition"], bad.error.where["key"]) for bad in refused] == [
        (2, long(3), point(string("n3"), 3), 4, "b'3'"),
        (6, long(9), point(string("n9"), 9), 7, "b'9'"),
    ]
    assert [bad.row for bad in found.bad] == [1, 2, 3, 4, 5, 6]


VALUES = [wrapped(BROKEN_FIELD), wrapped(OF_UNKNOWN_TYPE), NO_NULL_KEYS, long(1), string("s"), NULL, wrapped(point(string("p"), 1))]


@pytest.mark.parametrize("seed", range(8))
def test_narrowing_says_what_each_entry_alone_says(seed: int) -> None:
    chance, json = generator(seed), converter("json")
    share = chance.choice([0.02, 0.3, 1.0])  # of values of any kind
    pages: list[Page] = []
    for partition in range(chance.randrange(1, 5)):
        entries = map(good, range(chance.randrange(30)))
        pages.append(page([(key, chance.choice(VALUES) if chance.random() < share else value) for key, value in entries], partition))
    wanted, bad = each_alone(pages)
    found = separate_bad_entries(json, pages, CACHE, TYPES, nothing_refused)
    assert list(zip(found.records.keys.to_pylist(), found.records.values.to_pylist(), strict=True)) == wanted
    assert [(one.row, type(one.error)) for one in found.bad] == bad


def each_alone(pages: Sequence[Page]) -> tuple[list[tuple[bytes, bytes]], list[tuple[int, type]]]:
    json, wanted, bad, row = converter("json"), [], [], 0
    for whole in pages:
        data, at = bytes(whole.data), 0
        for _ in range(whole.rows):
            size = entry_size(data[at:])
            try:
                made = json.convert([Page(whole.partition, 1, memoryview(data[at : at + size]), True)], CACHE, TYPES)
                wanted.append((made.keys[0].as_py(), made.values[0].as_py()))
            except ENTRY_ERRORS as error:
                bad.append((row, type(error)))
            at, row = at + size, row + 1
    return wanted, bad


def entry_size(data: bytes) -> int:
    """Of the entry that the data begins with: its value is one of those that the test writes."""
    key = len(long(0))
    fits = [value for value in (*VALUES, *(good(number)[1] for number in range(30))) if data[key:].startswith(value)]
    return key + len(max(fits, key=len))


def connect_side(part: str, name: str, **properties: str) -> ConnectSide:
    made = serializer(name, part, {**parse_properties("c", name, properties), "decimal.format": "BASE64"})
    assert made is not None
    return ConnectSide(part, made, SchemaPolicy(), JsonConverter(part))


GOOD_OF = {"float": number(codes.FLOAT, 1.5), "double": number(codes.DOUBLE, 1.5), "bytes": struct.pack("<Bi", codes.BYTE_ARRAY, 1) + b"x",
           "integer": number(codes.INT, 1), "short": number(codes.SHORT, 1), "boolean": boolean(True)}  # fmt: skip
SIDES: dict[str, Callable[[str], KeyConverter | None]] = {
    "json": lambda part: JsonConverter(part),
    "json with schemas": lambda part: connect_side(part, "json", **{"schemas.enable": "true"}),
    "avro": lambda part: ConnectSide(part, AvroSerializer(memory_registry(side=part), AvroOptions()), SchemaPolicy(), JsonConverter(part)),
    "json-schema": lambda part: ConnectSide(part, JsonSchemaSerializer(memory_registry(side=part)), SchemaPolicy(), JsonConverter(part)),
    "ignite-binary": lambda _: None,
    **{name: partial(connect_side, name=name) for name in SCALARS},
}


@pytest.mark.parametrize("part", ["key", "value"])
@pytest.mark.parametrize("name", SIDES)
def test_a_bad_entry_has_its_bytes_and_place_whatever_the_converter(name: str, part: str) -> None:
    side, whole, other = SIDES[name](part), GOOD_OF.get(name, long(1)), JsonConverter("value" if part == "key" else "key")
    made = EntryConverter(side, other) if part == "key" else EntryConverter(other, side)
    pairs = [(whole, OF_UNKNOWN_TYPE if row == 1 else whole) if part == "value" else (OF_UNKNOWN_TYPE if row == 1 else whole, long(row))
             for row in range(3)]  # fmt: skip
    found = separate_bad_entries(made, [page([(_wrap(key), _wrap(value)) for key, value in pairs], 6)], CACHE, TYPES, nothing_refused, "t")
    [bad] = found.bad
    assert (bad.row, bad.key, bad.value, bad.stage, bad.error.where["part"]) == (1, *pairs[1], Stage.POLL, part)
    assert {"cache", "partition", "key"} <= bad.error.where.keys()
    assert (bad.error.where["cache"], bad.error.where["partition"]) == ("tested", 6)
    assert len(found.records) == 2


def _wrap(data: bytes) -> bytes:
    return wrapped(data) if data[0] == codes.OBJECT else data


@pytest.mark.parametrize("part", ["key", "value"])
@pytest.mark.parametrize(("name", "refused"), [("string", good(1)[1]), ("long", string("no number")), ("bytes", string("no bytes"))])
def test_what_a_converter_alone_refuses_has_the_stage_of_the_converter(name: str, refused: bytes, part: str) -> None:
    side, other = SIDES[name](part), JsonConverter("value" if part == "key" else "key")
    made, whole = (EntryConverter(side, other) if part == "key" else EntryConverter(other, side)), GOOD_OF.get(name, long(1))
    pairs = [(refused, long(1)) if part == "key" else (long(1), refused), (whole, long(2)) if part == "key" else (long(2), whole)]
    [bad] = separate_bad_entries(made, [page(pairs, 6)], CACHE, TYPES, nothing_refused, "t").bad
    assert (bad.row, bad.stage, type(bad.error)) == (0, Stage.KEY if part == "key" else Stage.VALUE, ValueNotWritten)
    assert "part" not in bad.error.where, "the stage says it"
