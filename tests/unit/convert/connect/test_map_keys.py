"""Equal keys of a map: the last value wins, at the place of the first. What Kafka reads: tests/integration/convert."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.connect.map_keys import unique_entries

INNER = pa.map_(pa.string(), pa.int64())


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (pa.int64(), 1, 2),
        (pa.float64(), math.nan, 1.0),
        (pa.float32(), 0.0, -0.0),
        (pa.string(), "a", ""),
        (pa.bool_(), True, False),
        (pa.binary(), b"\x00", b""),
        (pa.decimal128(38, 2), Decimal("1.50"), Decimal("-1.50")),
        (pa.date32(), datetime.date(2026, 1, 1), datetime.date(1970, 1, 1)),
        (pa.timestamp("ms", "UTC"), 2**62, -(2**62)),
        (pa.list_(pa.int32()), [1, 2], [2, 1]),
        (pa.list_(pa.int32()), [], None),
        (pa.struct([("a", pa.int32()), ("b", pa.string())]), {"a": 1, "b": None}, {"a": None, "b": "x"}),
        (pa.struct([]), {}, None),
        (INNER, [("a", 1), ("b", 2)], [("a", 2), ("b", 1)]),
    ],
)
def test_equal_keys_of_each_type(kind: pa.DataType, one: Any, other: Any) -> None:
    keys = pa.array([one, other, one, one, other, one], kind)
    offsets, found, values = unique_entries(np.array([0, 3, 3, 5, 6], np.int32), keys, pa.array(list("abcdef")))
    assert offsets.tolist() == [0, 2, 2, 4, 5]
    assert found.equals(keys.take(pa.array([0, 1, 3, 4, 5]))) or kind == pa.float64()
    assert values.to_pylist() == ["c", "b", "d", "e", "f"]


def test_maps_as_keys_have_no_order() -> None:
    keys = pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]], INNER)
    offsets, _, values = unique_entries(np.array([0, 2], np.int32), keys, pa.array([1, 2]))
    assert (offsets.tolist(), values.to_pylist()) == ([0, 1], [2])


def test_maps_without_equal_keys_are_as_they_were() -> None:
    offsets, keys, values = np.array([0, 2, 3], np.int32), pa.array([1, 2, 1]), pa.array([1, 2, 3])
    found = unique_entries(offsets, keys, values)
    assert found[0] is offsets
    assert (found[1], found[2]) == (keys, values)
