"""Headers of converter simple: texts by the type that they look like. Compared with Kafka's class in the integration test."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.common.record_limits import MAX_HEADER_DEPTH, MAX_HEADER_DIGITS
from ignite_kafka.convert.connect import ConnectColumn, ConnectSchema, ConnectType, schema
from ignite_kafka.convert.scalars.parse_string import Parsed, parse_string
from ignite_kafka.convert.scalars.simple import SimpleDeserializer, SimpleSerializer
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
        8: "the header is of type array, which is not read here: header_converter=string or json reads it",
        9: "the header's time is not within a day",
    }


def test_objects_have_no_text() -> None:
    kind = ConnectSchema(ConnectType.STRUCT, name="Point")
    with pytest.raises(UnsupportedType, match=r"struct.*header converter json"):
        SimpleSerializer().serialize(ConnectColumn(pa.array([{}], pa.struct([])), kind), "t")


def test_texts_beyond_the_limits() -> None:
    """Values.parseString computes and calls itself without bound; the integration test has the numbers that are read."""
    digits = "1" * MAX_HEADER_DIGITS
    assert parse_string(digits).schema == schema.decimal(0)
    for text in (f"{digits}1", "1" * 1_000_000, f"{'1' * 1_000_000}x", "[1," + "1" * 1_000_000 + "x]"):
        assert parse_string(text) == Parsed(ConnectSchema(ConnectType.STRING), text)
    open_arrays = "[" * MAX_HEADER_DEPTH
    assert parse_string(open_arrays).value == open_arrays
    texts = [text.encode() for text in (f"{open_arrays}[", "[" * 100_000, '{"a":' * 5_000)]
    found = SimpleDeserializer().deserialize(pa.array(texts), "t")
    why = f"the header is not read: it has more than {MAX_HEADER_DEPTH} levels of arrays and maps"
    assert found.bad == ((0, why), (1, why), (2, why))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("-1e-9999", ConnectType.FLOAT32, "-0.0"),
        ("1.5e-401", ConnectType.FLOAT32, "0.0"),
        ("1e9999", ConnectType.BYTES, "1E+9999"),
        ("0e9999", ConnectType.INT8, "0"),
    ],
)
def test_exponents_beyond_all_floats(text: str, kind: ConnectType, value: str) -> None:
    found = parse_string(text)
    assert found.schema is not None
    assert (found.schema.type, str(found.value)) == (kind, value)
