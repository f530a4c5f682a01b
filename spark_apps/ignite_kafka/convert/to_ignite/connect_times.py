"""Conversion of Connect's Date, Time and Timestamp to Ignite's types.

A java.sql.Date is a midnight, and a java.sql.Time a time of day, in the time zone of the JVM that created it. Ignite
keeps both as milliseconds since 1970-01-01T00:00Z.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.time_zones import UTC, days_of, epoch_offset_ms, midnights
from ..rules.json_times import DAY_MS, outside, timestamps_from_json
from .connect_numbers import none_wrong


def instants(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Convert epoch milliseconds to java.util.Date (ms) or java.sql.Timestamp (us).

    :param array: integers or values of Timestamp.
    :returns: the values, and a mask of rows beyond the range of microseconds in 64 bits.
    """
    millis = array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array.cast(pa.int64())
    return timestamps_from_json(millis, kind)


def days(array: pa.Array) -> tuple[pa.Array, Mask]:
    """Convert days since 1970-01-01 to date32; return dates and a mask of days beyond 32 bits."""
    if pa.types.is_date32(array.type):
        return array, none_wrong(array)
    if array.type == pa.int32():
        return array.view(pa.date32()), none_wrong(array)
    wide = array.cast(pa.int64())
    wrong = outside(wide, -(2**31), 2**31 - 1)
    return pc.if_else(pa.array(wrong), pa.scalar(0, pa.int64()), wide).cast(pa.int32()).view(pa.date32()), wrong


def midnight_millis(array: pa.Array, zone: str) -> pa.Array:
    """Return each day's midnight in a time zone, as epoch milliseconds (int64)."""
    days = array.view(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(midnights(days, zone), mask=np.asarray(array.is_null()))


def days_at(array: pa.Array, zone: str) -> tuple[pa.Array, Mask]:
    """Convert timestamps to dates; return them and a mask of the timestamps not at midnight in the time zone."""
    day_numbers, begins = days_of(array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), zone)
    missing = np.asarray(array.is_null())
    dates, beyond = days(pa.array(day_numbers, mask=missing))
    return dates, beyond | ~(begins | missing)


def times(array: pa.Array, zone: str) -> tuple[pa.Array, Mask]:
    """Convert milliseconds of the day to java.sql.Time; return them and a mask of the rows outside a day.

    :param array: integers or values of Time.
    """
    millis = (array.view(pa.int32()) if pa.types.is_time(array.type) else array).cast(pa.int64())
    java_millis = millis if zone == UTC else pc.subtract(millis, epoch_offset_ms(zone))
    return java_millis, outside(millis, 0, DAY_MS)


def units(array: pa.Array) -> pa.Array:
    """Return the integers that Arrow stores for Date, Time or Timestamp.

    They are days, milliseconds of the day, or milliseconds since 1970.
    """
    return array.view(pa.int64() if pa.types.is_timestamp(array.type) else pa.int32())
