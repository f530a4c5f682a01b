"""Scalars as text and back: forms of Java, what is refused and what is bad. Compared with Kafka's class in the integration test."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectColumn, ConnectField, ConnectSchema, ConnectType, schema
from ignite_kafka.convert.scalars.text import StringDeserializer, StringSerializer
from ignite_kafka.errors import UnsupportedType

DOUBLE, STRING = ConnectSchema(ConnectType.FLOAT64), ConnectSchema(ConnectType.STRING)


def written(values: list[Any], kind: ConnectSchema, encoding: str = "UTF-8") -> list[bytes | None]:
    return StringSerializer(encoding).serialize(ConnectColumn(pa.array(values, schema.arrow_type(kind)), kind), "t").to_pylist()


def test_numbers_have_the_forms_of_java() -> None:
    assert written([1.5, 1e10, 100.0, None, -0.0, 5e-324, float("-inf")], DOUBLE) == [
        b"1.5", b"1.0E10", b"100.0", None, b"-0.0", b"4.9E-324", b"-Infinity",
    ]  # fmt: skip
    assert written([0.1, 2**24, 1.4e-45], ConnectSchema(ConnectType.FLOAT32)) == [b"0.1", b"1.6777216E7", b"1.4E-45"]
    assert written([True, None], ConnectSchema(ConnectType.BOOLEAN)) == [b"true", None]


def test_a_column_of_nulls_alone() -> None:
    kinds = [DOUBLE, STRING, schema.timestamp(), schema.date(), schema.decimal(2)]
    assert [written([None, None], kind) for kind in kinds] == [[None, None]] * len(kinds)
    assert [written([], kind) for kind in kinds] == [[]] * len(kinds)


def test_times_are_java_dates_in_utc() -> None:
    assert written([0, None], schema.timestamp()) == [b"Thu Jan 01 00:00:00 UTC 1970", None]
    assert written([-141_428], schema.date()) == [b"Thu Oct 04 00:00:00 UTC 1582"]
    assert written([86_399_999], schema.time()) == [b"Thu Jan 01 23:59:59 UTC 1970"]


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (ConnectSchema(ConnectType.STRUCT, name="org.example.Point", fields=(ConnectField("x", DOUBLE),)), "org.example.Point"),
        (ConnectSchema(ConnectType.ARRAY, value_schema=DOUBLE), "array"),
        (ConnectSchema(ConnectType.MAP, key_schema=STRING, value_schema=DOUBLE), "map"),
        (ConnectSchema(ConnectType.BYTES), "bytes"),
    ],
)
def test_values_without_a_text_are_refused(kind: ConnectSchema, named: str) -> None:
    with pytest.raises(UnsupportedType, match=f"{named}.*json"):
        StringSerializer().check(kind, "t")
    with pytest.raises(UnsupportedType, match=named):
        written([None], kind)
    with pytest.raises(UnsupportedType, match="schemaless"):
        StringSerializer().serialize(ConnectColumn(pa.array([b"5"]), None), "t")


def test_encodings() -> None:
    assert written(["aé", "", None], STRING, "UTF-16") == [b"\xfe\xff\x00a\x00\xe9", b"", None]
    assert written(["aé"], STRING, "ISO-8859-1") == [b"a\xe9"]
    with pytest.raises(UnsupportedType, match=r"U\+20AC, which ISO-8859-1 .*converter\.encoding"):
        written(["€"], STRING, "ISO-8859-1")


def test_bytes_that_are_no_text_are_bad_and_their_neighbours_are_read() -> None:
    found = StringDeserializer().deserialize(pa.array([b"a", b"b\xff", b"", b"\xc0\x80"]), "t")
    (part,) = found.parts
    assert (part.rows.tolist(), part.column.data.to_pylist()) == ([0, 2], ["a", ""])
    assert found.bad == ((1, "byte 1 is no text in UTF-8 (converter.encoding)"), (3, "byte 0 is no text in UTF-8 (converter.encoding)"))
    utf_16 = StringDeserializer("UTF-16").deserialize(pa.array([b"\xff\xfea\x00", b"\x00a", b"\xfe\xff\x00a", b"a"]), "t")
    assert utf_16.parts[0].column.data.to_pylist() == ["a", "a", "a"]
    assert [row for row, _ in utf_16.bad] == [3]
