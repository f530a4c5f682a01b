"""Midnights in a time zone, as java.sql.Date and java.sql.Time store them.

Offsets are those of Python's zoneinfo, for each day once. Arrow's own functions know no daylight saving time after
2037.
"""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from .arrays import Int64Array

UTC = "UTC"
DAY_MS = 86_400_000
_EPOCH = datetime.date(1970, 1, 1)
_FIRST_DAY = (datetime.date(1, 1, 2) - _EPOCH).days
_LAST_DAY = (datetime.date(9999, 12, 30) - _EPOCH).days
_CYCLE = 146_097  # days of 400 years, after which days of the week and leap years are the same again
_MS = datetime.timedelta(milliseconds=1)


def midnights(days: npt.NDArray[np.integer], zone: str) -> Int64Array:
    """Return the epoch milliseconds at which each day, counted since 1970-01-01, begins in a time zone.

    A day without midnight begins at its first moment.

    :param days: numbers of at most 32 bits.
    :param zone: name in the IANA database.
    """
    millis = days.astype(np.int64) * DAY_MS
    if zone == UTC:
        return millis
    unique, places = np.unique(days, return_inverse=True)
    info = ZoneInfo(zone)
    offsets = np.array([_offset_ms(int(day), info) for day in unique], np.int64)
    return millis - offsets[places.reshape(days.shape)] if unique.size else millis


def days_of(millis: Int64Array, zone: str) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Return the day that begins at each epoch time in a time zone, and a mask of the times at midnight.

    The day of another time has no meaning.

    :param millis: milliseconds since 1970-01-01T00:00Z.
    """
    first = millis // DAY_MS
    begins = midnights(first, zone) == millis
    if zone == UTC:
        return first, begins
    later = (midnights(first + 1, zone) == millis) & ~begins  # east of UTC a day begins on the day before
    return first + later, begins | later


def epoch_offset_ms(zone: str) -> int:
    """Return a zone's offset from UTC on 1970-01-01, the day of every java.sql.Time, in milliseconds."""
    return _offset_ms(0, ZoneInfo(zone))


def _offset_ms(day: int, info: ZoneInfo) -> int:
    """Return a zone's offset from UTC at the beginning of a day, in milliseconds.

    Beyond Python's dates, the offset is that of 400 years, or a multiple of 400 years, before.
    """
    if day > _LAST_DAY:
        day -= (day - _LAST_DAY + _CYCLE - 1) // _CYCLE * _CYCLE
    date = _EPOCH + datetime.timedelta(max(day, _FIRST_DAY))
    offset = datetime.datetime.combine(date, datetime.time(), info).utcoffset()
    return 0 if offset is None else offset // _MS
