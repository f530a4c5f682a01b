"""Headers of converter simple: texts by the type that they look like. Compared with Kafka's class in the integration test."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectColumn, ConnectSchema, ConnectType, schema
from ignite_kafka.convert.connect.simple import SimpleDeserializer, SimpleSerializer
from ignite_kafka.errors import UnsupportedType


def test_texts_are_grouped_by_the_type_that_they_look_like() -> None:
    texts = [b"12", b"x", b"300", b"null", b"12", b"1.5", b"2024-01-31", b"\xff", b"[1]", b"99:00:00.000Z", b"1" * 40]
    found = SimpleDeserializer().deserialize(pa.array(texts), "t")
    parts = {part.column.schema: (part.rows.tolist(), part.column.data.to_pylist()) for part in found.parts}
    assert parts[ConnectSchema(ConnectType.INT8)] == ([0, 4], [12, 12])
    assert parts[ConnectSchema(ConnectType.INT16)] == ([2], [300])
    assert parts[ConnectSchema(ConnectType.STRING)] == ([1], ["x"])
    assert parts[ConnectSchema(ConnectType.FLOAT32)] == ([5], [1.5])
    assert parts[None] == ([3], [None])
    assert parts[schema.date()][0] == [6]
    assert parts[schema.decimal(0)] == ([10], ["1" * 40])
    assert dict(found.bad) == {
        7: "byte 0 of the header is no text in UTF-8",
        8: "the header is of type array, which is not read here: use the header converter string or json",
        9: "the header's time is not within a day",
    }


def test_objects_have_no_text() -> None:
    kind = ConnectSchema(ConnectType.STRUCT, name="Point")
    with pytest.raises(UnsupportedType, match=r"struct.*header converter json"):
        SimpleSerializer().serialize(ConnectColumn(pa.array([{}], pa.struct([])), kind), "t")
