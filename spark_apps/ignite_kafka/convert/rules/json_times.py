"""Conversion of dates, times and timestamps to the integers that Kafka Connect writes in JSON, and back.

The integers are days, milliseconds of the day, and milliseconds of the epoch.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask

DAY_MS = 86_400_000
MOST_MILLIS = (2**63 - 1) // 1000  # a column of timestamps counts microseconds in 64 bits
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def instants_to_json(array: pa.Array) -> pa.Array:
    """Convert timestamps, dates or times to Connect's integers, which are milliseconds or days.

    Timestamps are rounded down, as in java.util.Date.

    :param array: array of a date, time or timestamp type.
    :returns: int32 or int64; null for null.
    """
    kind = array.type
    if pa.types.is_date32(kind):
        return array.view(pa.int32())
    if pa.types.is_date64(kind):
        return _divide(array, DAY_MS)
    if pa.types.is_time32(kind):
        return array.view(pa.int32()) if kind.unit == "ms" else pc.multiply(array.view(pa.int32()), 1000)
    return (
        _divide(array, _PER_SECOND[kind.unit] // 1000)
        if kind.unit != "s"
        else pc.multiply(array.view(pa.int64()), 1000)
    )


def timestamps_from_json(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Convert epoch milliseconds (int64) to timestamps; return them and a mask of the rows out of range.

    Microseconds have a range of 64 bits.

    :param kind: a timestamp type in milliseconds or microseconds.
    """
    if kind.unit == "ms":
        return array.view(kind), np.zeros(len(array), bool)
    wrong = outside(array, -MOST_MILLIS, MOST_MILLIS)
    if wrong.any():
        array = pc.if_else(pa.array(wrong), pa.scalar(0, pa.int64()), array)
    return pc.multiply(array, 1000).view(kind), wrong


def sql_times_to_json(array: pa.Array) -> pa.Array:
    """Convert a java.sql.Time, milliseconds since 1970, to milliseconds of the UTC day, as Connect's Time needs.

    Connect's Time accepts only 0 to 86,400,000.
    """
    units = np.asarray(array.fill_null(0))
    inside = (units >= 0) & (units <= DAY_MS)
    return pa.array(np.where(inside, units, units % DAY_MS), mask=np.asarray(array.is_null()))


def sql_times_from_json(array: pa.Array) -> tuple[pa.Array, Mask]:
    """Return milliseconds of the day unchanged as java.sql.Time, with a mask of the rows outside a day."""
    return array, outside(array, 0, DAY_MS)


def outside(array: pa.Array, low: int, high: int) -> Mask:
    """Return a mask of the integers below `low` or above `high`; false for null."""
    values = array.fill_null(low).to_numpy(zero_copy_only=False)
    wrong: Mask = (values < low) | (values > high)
    return wrong


def _divide(array: pa.Array, divisor: int) -> pa.Array:
    """Divide a column of 64-bit integers, rounding down; null for null."""
    valid, data = array.buffers()
    units = np.frombuffer(data, np.int64) if data is not None else np.zeros(0, np.int64)
    quotients = pa.py_buffer(units // divisor if divisor > 1 else units)
    return pa.Array.from_buffers(pa.int64(), len(array), [valid, quotients], offset=array.offset)
