"""Calendar of java.sql.Date and java.sql.Timestamp: Julian before 1582-10-15, then Gregorian.

Source: java.util.GregorianCalendar.

SQL shows these fields. Python's datetime is Gregorian throughout, so an earlier day has other fields there.
Algorithm: "Julian day number", E. G. Richards, Explanatory Supplement to the Astronomical Almanac, 2013.
"""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

FIRST_GREGORIAN = datetime.date(1582, 10, 15)
FIRST_OF_ZONES = datetime.datetime(1900, 1, 1)
_EPOCH = datetime.date(1970, 1, 1)
FIRST_GREGORIAN_DAY = (FIRST_GREGORIAN - _EPOCH).days
_EPOCH_JULIAN_DAY = 2_440_588  # Julian day number of 1970-01-01


def date_of(day: int) -> datetime.date:
    """Convert days since 1970-01-01 to the date that Java shows.

    :raises ValueError, OverflowError: datetime.date has no such date: a year beyond 1 to 9999, or 29 February 1500.
    """
    if day >= FIRST_GREGORIAN_DAY:
        return _EPOCH + datetime.timedelta(days=day)
    shifted = day + _EPOCH_JULIAN_DAY + 32_082
    years = (4 * shifted + 3) // 1461
    of_year = shifted - 1461 * years // 4
    month = (5 * of_year + 2) // 153
    return datetime.date(
        years - 4800 + month // 10, month + 3 - 12 * (month // 10), of_year - (153 * month + 2) // 5 + 1
    )


def first_offset(zone: ZoneInfo) -> datetime.timedelta:
    """Return the offset from UTC that Java uses in a time zone for all times before 1900.

    Java knows no local mean time (sun.util.calendar.ZoneInfoFile).
    """
    return zone.utcoffset(FIRST_OF_ZONES) or datetime.timedelta()


def day_of(date: datetime.date) -> int:
    """Convert a date as Java shows it to days since 1970-01-01; the inverse of :func:`date_of`."""
    if date >= FIRST_GREGORIAN:
        return (date - _EPOCH).days
    early = (14 - date.month) // 12
    years = date.year + 4800 - early
    month = date.month + 12 * early - 3
    return date.day + (153 * month + 2) // 5 + 365 * years + years // 4 - 32_083 - _EPOCH_JULIAN_DAY
