"""Bytes and primitives: one type each. Compared with Kafka's classes in the integration test."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectColumn, ConnectSchema, ConnectType, Serializer, schema
from ignite_kafka.convert.scalars.primitives import PRIMITIVES, BytesSerializer, PrimitiveDeserializer, PrimitiveSerializer
from ignite_kafka.errors import UnsupportedType


def test_numbers_are_big_endian_and_nulls_stay() -> None:
    column = ConnectColumn(pa.array([7, None, -1]), ConnectSchema(ConnectType.INT64))
    made = PrimitiveSerializer(PRIMITIVES["long"]).serialize(column, "t")
    assert made.to_pylist() == [(7).to_bytes(8, "big"), None, b"\xff" * 8]
    flags = ConnectColumn(pa.array([True, None, False]), ConnectSchema(ConnectType.BOOLEAN))
    assert PrimitiveSerializer(PRIMITIVES["boolean"]).serialize(flags, "t").to_pylist() == [b"\x01", None, b"\x00"]


def test_bytes_of_another_length_are_bad_with_kafkas_message() -> None:
    found = PrimitiveDeserializer(PRIMITIVES["long"]).deserialize(pa.array([b"", b"\0" * 7 + b"\x05", b"abc"]), "t")
    (part,) = found.parts
    assert (part.rows.tolist(), part.column.data.to_pylist()) == ([1], [5])
    assert part.column.schema == ConnectSchema(ConnectType.INT64, optional=True)
    why = "Failed to deserialize long: Size of data received by LongDeserializer is not 8"
    assert found.bad == ((0, why), (2, why))


@pytest.mark.parametrize(
    ("serializer", "kind", "named"),
    [
        (PrimitiveSerializer(PRIMITIVES["long"]), ConnectSchema(ConnectType.INT32), "int32, and the converter long writes int64 only"),
        (PrimitiveSerializer(PRIMITIVES["long"]), schema.timestamp(), "Timestamp"),
        (PrimitiveSerializer(PRIMITIVES["integer"]), schema.date(), "Date"),
        (BytesSerializer(), schema.decimal(2), "Decimal"),
        (BytesSerializer(), ConnectSchema(ConnectType.STRING), "string, and the converter bytes writes bytes only"),
    ],
)
def test_values_of_another_type_are_refused(serializer: Serializer, kind: ConnectSchema, named: str) -> None:
    with pytest.raises(UnsupportedType, match=named):
        serializer.check(kind, "t")
    with pytest.raises(UnsupportedType, match=named):
        serializer.serialize(ConnectColumn(pa.nulls(1, schema.arrow_type(kind)), kind), "t")
