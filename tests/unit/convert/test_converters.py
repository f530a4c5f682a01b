"""Both converters on pages built by hand: order, keys with their values, what is refused before the first record."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from ignite_kafka.errors import DecodeError, UnknownBinaryType, UnsupportedType
from ignite_kafka.ignite.types.model import BinaryField, BinaryType, CacheInfo, Page, QueryEntity
from ignite_kafka.java.hash_code import java_hash
from tests.support.converters import converter

POINT = BinaryType(
    type_id=java_hash("org.example.point"),
    name="org.example.Point",
    fields=(BinaryField("name", 9, 1), BinaryField("x", 3, 2)),
    schemas={7: (1, 2)},
)
CACHE = CacheInfo("points", 1, query_entities=(QueryEntity("java.lang.Long", "org.example.Point"),))


@dataclass(frozen=True)
class Types:
    """The binary types of a cluster that was never there."""

    known: Mapping[int, BinaryType] = field(default_factory=lambda: {POINT.type_id: POINT})

    def binary_type(self, type_id: int) -> BinaryType:
        if type_id not in self.known:
            raise UnknownBinaryType("no such type", type_id=type_id)
        return self.known[type_id]


def long(value: int) -> bytes:
    return struct.pack("<Bq", 4, value)


def text(value: str) -> bytes:
    return struct.pack("<Bi", 9, len(value.encode())) + value.encode()


def point(name: str, x: int) -> bytes:
    fields = text(name) + struct.pack("<Bi", 3, x)
    footer = 24 + len(fields)
    offsets = bytes([24, 24 + len(text(name))])
    return struct.pack("<BBHiiiii", 103, 1, 0x2B, POINT.type_id, 0, footer + len(offsets), 7, footer) + fields + offsets


def wrapped(data: bytes) -> bytes:
    return struct.pack("<Bi", 27, len(data)) + data + struct.pack("<i", 0)


def page(*entries: tuple[bytes, bytes], partition: int = 0) -> Page:
    return Page(partition, len(entries), memoryview(b"".join(key + value for key, value in entries)), True)


PAGES = [
    page((long(1), wrapped(point("a", 10))), (long(2), wrapped(point("é", -1)))),
    page(partition=1),
    page((text("k"), long(5)), (long(3), text("v")), partition=2),
]


def test_json_writes_every_entry_once_with_its_own_key() -> None:
    records = converter("json").convert(PAGES, CACHE, Types())
    written = dict(zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True))
    assert written == {b"1": b'{"name":"a","x":10}', b"2": '{"name":"é","x":-1}'.encode(), b'"k"': b"5", b"3": b'"v"'}
    assert len(records) == 4


def test_ignite_binary_keeps_the_bytes_without_their_wrapper() -> None:
    records = converter("ignite-binary").convert(PAGES, CACHE, Types())
    assert records.type_ids == {POINT.type_id}
    assert records.keys.to_pylist() == [long(1), long(2), text("k"), long(3)]
    assert records.values.to_pylist() == [point("a", 10), point("é", -1), long(5), text("v")]


@pytest.mark.parametrize("name", ["json", "ignite-binary"])
def test_no_entries_are_no_records(name: str) -> None:
    assert len(converter(name).convert([page(), page()], CACHE, Types())) == 0
    assert len(converter(name).convert([], CACHE, Types())) == 0


@pytest.mark.parametrize("name", ["json", "ignite-binary"])
def test_a_broken_page_is_an_error_that_names_its_place(name: str) -> None:
    whole = PAGES[2]
    broken = Page(2, 2, whole.data[:-1], True)
    with pytest.raises(DecodeError, match=r"cache points.*partition 2"):
        converter(name).convert([PAGES[0], broken], CACHE, Types())


def test_a_field_that_json_cannot_hold_is_refused_before_the_first_record() -> None:
    proxy = BinaryType(POINT.type_id, POINT.name, fields=(BinaryField("id", 4, 1), BinaryField("agent", 35, 2)))
    with pytest.raises(UnsupportedType, match=r"field agent of type org\.example\.Point.*points.*ignite-binary"):
        converter("json").check(CACHE, Types({POINT.type_id: proxy}))
    converter("ignite-binary").check(CACHE, Types({POINT.type_id: proxy}))
    converter("json").check(CACHE, Types())
    converter("json").check(CACHE, Types({}))
