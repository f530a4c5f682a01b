"""Connect's Date, Time and Timestamp as Ignite's types, and the integers that they are made of.

A java.sql.Date is midnight, and a java.sql.Time a time of day, in a time zone: that of the JVM which made it. Ignite
keeps milliseconds since 1970-01-01T00:00Z of both.
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
    """Convert milliseconds since 1970-01-01T00:00Z to java.util.Date (ms) or Timestamp (us).

    :param array: integers or a Timestamp.
    :returns: the values, and the rows beyond the range of microseconds in 64 bits.
    """
    millis = array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array.cast(pa.int64())
    return timestamps_from_json(millis, kind)


def days(array: pa.Array) -> tuple[pa.Array, Mask]:
    """Convert days since 1970-01-01, a Date or integers, to date32, and mark the rows beyond 32 bits."""
    if pa.types.is_date32(array.type):
        return array, none_wrong(array)
    if array.type == pa.int32():
        return array.view(pa.date32()), none_wrong(array)
    wide = array.cast(pa.int64())
    wrong = outside(wide, -(2**31), 2**31 - 1)
    return pc.if_else(pa.array(wrong), pa.scalar(0, pa.int64()), wide).cast(pa.int32()).view(pa.date32()), wrong


def midnight_millis(array: pa.Array, zone: str) -> pa.Array:
    """Return the milliseconds (int64) of the midnight at which each day (date32) begins in a zone."""
    days = array.view(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(midnights(days, zone), mask=np.asarray(array.is_null()))


def days_at(array: pa.Array, zone: str) -> tuple[pa.Array, Mask]:
    """Convert timestamps at midnight in a zone to days (date32), and mark the rows of another time of day."""
    day_numbers, begins = days_of(array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), zone)
    missing = np.asarray(array.is_null())
    dates, beyond = days(pa.array(day_numbers, mask=missing))
    return dates, beyond | ~(begins | missing)


def times(array: pa.Array, zone: str) -> tuple[pa.Array, Mask]:
    """Convert milliseconds of the day to those of java.sql.Time, and mark the rows outside of the day.

    :param array: a Time or integers.
    """
    millis = (array.view(pa.int32()) if pa.types.is_time(array.type) else array).cast(pa.int64())
    java_millis = millis if zone == UTC else pc.subtract(millis, epoch_offset_ms(zone))
    return java_millis, outside(millis, 0, DAY_MS)


def units(array: pa.Array) -> pa.Array:
    """Return the integers that a Date, Time or Timestamp is made of.

    Days, milliseconds of the day, milliseconds since 1970.
    """
    return array.view(pa.int64() if pa.types.is_timestamp(array.type) else pa.int32())
