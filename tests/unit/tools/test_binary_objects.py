"""The loader's binary objects against those that pyignite writes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pyignite import Client, GenericObjectMeta
from pyignite.datatypes import BoolObject, DoubleObject, IntObject, LongObject, String, TimestampObject
from pyignite.stream import BinaryStream

from tools.binary_objects import ObjectType, encode_column, java_array_hashes

FIELDS = {
    "id": ("java.lang.Long", LongObject),
    "count": ("java.lang.Integer", IntObject),
    "share": ("java.lang.Double", DoubleObject),
    "open": ("java.lang.Boolean", BoolObject),
    "name": ("java.lang.String", String),
    "seen": ("java.sql.Timestamp", TimestampObject),
}
MOMENT = datetime(2013, 12, 31, 23, 59, 59, 123456)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "count": -5, "share": 0.1, "open": True, "name": "Zürich", "seen": MOMENT},
    {"id": -(2**63), "count": 2**31 - 1, "share": -0.0, "open": False, "name": "", "seen": datetime(1969, 12, 31, 23, 59, 59, 1)},
    dict.fromkeys(FIELDS),
    {"id": 4, "count": None, "share": 1e300, "open": None, "name": "x" * 300, "seen": MOMENT},
]


def pyignite_bytes(row: dict[str, Any]) -> bytes:
    schema = {name: kind for name, (_, kind) in FIELDS.items()}
    data_class = GenericObjectMeta("Thing", (), {}, type_name="Thing", schema=schema)
    seen = row["seen"]
    if seen is not None:
        whole = seen.replace(microsecond=seen.microsecond // 1000 * 1000)
        row = {**row, "seen": (whole, seen.microsecond % 1000 * 1000)}
    with BinaryStream(Client()) as stream:
        data_class(**row)._from_python(stream)
        return bytes(stream.getvalue())


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_an_object_has_the_bytes_that_pyignite_writes(number: int) -> None:
    kind = ObjectType("Thing", {name: java_type for name, (java_type, _) in FIELDS.items()})
    encoded = kind.encode({name: [row[name] for row in ROWS] for name in FIELDS})
    assert encoded[number].hex() == pyignite_bytes(ROWS[number]).hex()


@pytest.mark.parametrize(("data", "expected"), [(b"", 1), (b"\x01", 32), (b"\xff", 30), (b"abc", 126145), (b"\x7f" * 40, 1466456193)])
def test_hashes_are_those_of_java(data: bytes, expected: int) -> None:
    assert java_array_hashes([b"other", data, b""]).tolist()[1:] == [expected, 1]


def test_a_type_that_the_loader_cannot_write_is_named() -> None:
    with pytest.raises(KeyError, match=r"java\.util\.UUID"):
        encode_column("java.util.UUID", ["x"])
