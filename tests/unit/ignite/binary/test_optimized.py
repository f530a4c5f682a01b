"""java.sql.Date and java.time values, as Java's optimized marshaller writes them (bytes taken from a real client)."""

from __future__ import annotations

import struct
from datetime import date

import pyarrow as pa
import pytest

from ignite_kafka.errors import DecodeError, UnsupportedType
from ignite_kafka.ignite.binary import decode_entries, decode_rows
from ignite_kafka.ignite.binary.row_values import Instant, LocalDate, LocalDateTime, LocalTime, SqlDate
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page, class_id
from ignite_kafka.java.hash_code import java_hash
from tests.support.ignite_bytes import CACHE, Types, collection, nested_type_ids, number, page
from tests.support.value_text import of_column

SQL_DATE = b"\xfe\x0f\x00\x00\x00f:\xde\xd5@\x97f\x00()\xf2\x8d\x01\x00\x00"
SER = b"e\xeb\xdf6\x06\xb2H"


def ser(data: bytes) -> bytes:
    return b"\xfe" + (len(SER) + len(data)).to_bytes(4, "little") + SER + data


def pages(*values: bytes) -> list[Page]:
    return [page([(number(codes.INT, row), value) for row, value in enumerate(values)])]


@pytest.mark.parametrize(
    ("data", "value", "kind", "number_held"),
    [
        (SQL_DATE, SqlDate(1709164800000), pa.date32(), 19782),
        (ser(b"\x03\xe8\x07\x00\x00\x02\x1d"), LocalDate(2024, 2, 29), pa.date32(), 19782),
        (ser(b"\x03\xff\xff\xff\xff\x01\x01"), LocalDate(-1, 1, 1), pa.date32(), -719893),
        (ser(b"\x04\x01\xfd"), LocalTime(3_720_000_000_000), pa.time64("us"), 3_720_000_000),
        (ser(b"\x04\xff"), LocalTime(0), pa.time64("us"), 0),
        (ser(b"\x04\x17\x3b\x3b\xff\xc9\x9a\x3b"), LocalTime(86_399_999_999_999), pa.time64("us"), 86_399_999_999),
        (ser(b"\x02\x01\x00\x00\x00\x00\x00\x00\x00\x88\x13\x00\x00"), Instant(1, 5000), pa.timestamp("us", "UTC"), 1_000_005),
        (
            ser(b"\x05\xb2\x07\x00\x00\x01\x02\x00\x00\xfe"),
            LocalDateTime(LocalDate(1970, 1, 2), LocalTime(1_000_000_000)),
            pa.timestamp("us"),
            86_401_000_000,
        ),
    ],
)
def test_values(data: bytes, value: object, kind: pa.DataType, number_held: int) -> None:
    assert [found for _, found in decode_rows(pages(data), CACHE, Types())] == [value]
    (group,) = decode_entries(pages(data), CACHE, Types())
    assert group.value.type == kind
    assert group.value.cast(pa.int32() if kind == pa.date32() else pa.int64()).to_pylist() == [number_held]


@pytest.mark.parametrize(
    "data",
    [
        b"\x03\xe7\x07\x00\x00\x02\x1d",
        b"\x03\xe8\x07\x00\x00\x0d\x01",
        b"\x03\xff\xff\xff\x7f\x01\x01",
        b"\x03\xe8\x07\x00\x00\x02",
        b"\x04\x18\xff",
        b"\x04\x01\xfd\x00",
        b"\x04",
        b"\x02\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff",
        b"\x05\xe8\x07\x00\x00\x02\x1d",
    ],
)
def test_values_that_cannot_be(data: bytes) -> None:
    with pytest.raises(DecodeError, match="is broken"):
        decode_entries(pages(ser(data)), CACHE, Types())
    with pytest.raises(DecodeError, match="is broken"):
        list(decode_rows(pages(ser(data)), CACHE, Types()))


def test_a_date_of_another_zone_has_no_day() -> None:
    moved = SQL_DATE[:-8] + (1709164800000 - 3_600_000).to_bytes(8, "little")
    assert [value for _, value in decode_rows(pages(moved), CACHE, Types())] == [SqlDate(1709161200000)]
    with pytest.raises(UnsupportedType, match=r"not midnight in time zone UTC.*date_time_zone"):
        decode_entries(pages(moved), CACHE, Types())
    (group,) = decode_entries(pages(moved), CACHE, Types(), date_zone="Europe/Paris")
    assert group.value.to_pylist() == [date(2024, 2, 29)]


def test_beyond_the_columns_range() -> None:
    far = ser(b"\x02" + (1 << 50).to_bytes(8, "little") + bytes(4))
    assert [value for _, value in decode_rows(pages(far), CACHE, Types())] == [Instant(1 << 50, 0)]
    with pytest.raises(UnsupportedType, match="Instant is out of the range"):
        decode_entries(pages(far), CACHE, Types())


def test_classes_of_several_kinds_are_a_union() -> None:
    (group,) = decode_entries(pages(SQL_DATE, ser(b"\x04\xff"), SQL_DATE), CACHE, Types())
    assert pa.types.is_union(group.value.type)
    assert group.value_type.mark == "mixed"


def optimized(payload: bytes) -> bytes:
    return b"\xfe" + len(payload).to_bytes(4, "little") + payload


AS_LIST = b"f\x4d\xed\xb3\x0a\xd2\x06\x11\x1b\xdd4m"
UNMODIFIABLE = b"f\xaa\xb7\xb1\x92\x10\x8e\x15\x01\x00\x00\x00"


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        (AS_LIST + b"\x03\0\0\0\x12\x01\0\0\0a\x00\x04\x02\0\0\0\0\0\0\0", ["a", None, 2]),
        (AS_LIST + b"\x02\0\0\0\x12\x04\0\0\0same\xff\x02\0\0\0", ["same", "same"]),
        (UNMODIFIABLE + b"\x12\x01\0\0\0u\xff\x01\0\0\0", ["u"]),
    ],
)
def test_collections_of_the_optimized_marshaller(payload: bytes, value: object) -> None:
    assert [found for _, found in decode_rows(pages(optimized(payload)), CACHE, Types())] == [value]
    (group,) = decode_entries(pages(optimized(payload)), CACHE, Types())
    assert of_column(group.value) == [value]


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (AS_LIST + b"\xff\xff\xff\x7f\x00", DecodeError),
        (AS_LIST + b"\x01\0\0\0\xff\x09\0\0\0", DecodeError),
        (AS_LIST + b"\x01\0\0\0\xff\x00\0\0\0", UnsupportedType),
        (AS_LIST + b"\x01\0\0\0\x00\x00", DecodeError),
        (AS_LIST + b"\x01\0\0\0\x12\x01\0\0\0\xff", DecodeError),
        (AS_LIST + b"\x01\0\0\0\xfe", UnsupportedType),
        (AS_LIST + b"\x01\0\0\0" + (b"\x15\x01\0\0\0" * 100) + b"\x00", UnsupportedType),
    ],
)
def test_broken_collections_of_the_optimized_marshaller(payload: bytes, error: type[Exception]) -> None:
    for read in (decode_entries, decode_rows):
        with pytest.raises(error) as caught:
            list(read(pages(optimized(payload)), CACHE, Types()))
        assert caught.value.where == {"cache": "tested", "partition": 3, "position": 5}  # type: ignore[attr-defined]


def test_lists_of_both_marshallers_are_one_column() -> None:
    plain = b"\x18\x01\0\0\0\x01\x09\x01\0\0\0p"
    listed = optimized(AS_LIST + b"\x01\0\0\0\x12\x01\0\0\0a")
    values = [b"\x18\x03\0\0\0\x01" + plain + listed + optimized(AS_LIST + b"\0\0\0\0")]
    (group,) = decode_entries(pages(*values), CACHE, Types())
    assert group.value.type == pa.list_(pa.list_(pa.string()))
    assert group.value.to_pylist() == [[["p"], ["a"], []]]


def test_classes_of_values_are_found_alone_and_within_others() -> None:
    java_time, coll_ser = class_id(java_hash("java.time.Ser")), class_id(java_hash("java.util.CollSer"))
    day = ser(b"\x03\xe8\x07\x00\x00\x02\x1d")
    types = Types()
    assert nested_type_ids(pages(day, collection([day])), types) == {java_time}
    list_of = b"f" + struct.pack("<ihii", java_hash("java.util.CollSer"), 0, 1, 1) + day[5:]
    assert nested_type_ids(pages(b"\xfe" + struct.pack("<i", len(list_of)) + list_of), types) == {coll_ser, java_time}
    unknown = b"f" + struct.pack("<ih", java_hash("org.acme.Mine"), 0) + b"any"
    assert nested_type_ids(pages(b"\xfe" + struct.pack("<i", len(unknown)) + unknown), types) == {class_id(java_hash("org.acme.Mine"))}
