"""Conversion of columns to the texts of Java's ``toString``, without a Python object per row.

Numbers of floating point have the shortest digits that tell them from their neighbours, as Java writes them since
version 19; Java 17 and 18 write some of them with a digit too many (JDK-4511638). A Date, a Time and a Timestamp are a
``java.util.Date`` in Connect, whose text has seconds and a time zone, here UTC, and no milliseconds.

Source: Double.toString, BigDecimal.toString and Date.toString of the JDK.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array

_PLAIN_FROM = 1e-3  # outside of this range Java writes an exponent
_PLAIN_TO = 1e7
_NUMBER = r"^(?P<sign>-?)(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]+))?(?:e(?P<exponent>[-+]?[0-9]+))?$"
_TWO_DIGITS_BELOW = {pa.float64(): 1e-321, pa.float32(): 1e-43}  # here one digit can do, and Java gives the two nearest
_NO_TEXT = pa.scalar("")

_DAY_MS = 86_400_000
_FIRST_GREGORIAN = -141_427  # 1582-10-15 in days since 1970-01-01; java.util.Date is Julian before
_WEEKDAYS = pa.array(["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"])
_MONTHS = pa.array(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])


def java_text(array: pa.Array) -> pa.StringArray:
    """Convert a column to texts as Java's ``String.valueOf`` does; a null stays null.

    The column has booleans, numbers, decimals, strings, dates or times.
    """
    kind = array.type
    if pa.types.is_floating(kind):
        return _floats(array)
    if pa.types.is_temporal(kind):
        return _dates(array)
    return array if pa.types.is_string(kind) else array.cast(pa.string())


def _floats(array: pa.FloatingPointArray) -> pa.StringArray:
    size = pc.abs(array)
    short = array.cast(pa.string())
    plain = pc.or_(pc.equal(size, 0), pc.and_(pc.greater_equal(size, _PLAIN_FROM), pc.less(size, _PLAIN_TO)))
    whole = pc.invert(pc.match_substring(short, "."))
    text = pc.if_else(whole, pc.binary_join_element_wise(short, ".0", _NO_TEXT), short)
    if not pc.all(plain, min_count=0).as_py():
        text = pc.if_else(plain, text, _with_exponent(array, short))
    return text


def _with_exponent(array: pa.FloatingPointArray, short: pa.StringArray) -> pa.StringArray:
    """Write floats with an exponent, such as ``1.25E-7``; NaN and infinities by their names."""
    parts = pc.extract_regex(_exact_subnormals(array, short), pattern=_NUMBER)
    sign, whole, fraction, exponent = (pc.fill_null(pc.struct_field(parts, [i]), "") for i in range(4))
    digits = pc.binary_join_element_wise(whole, fraction, _NO_TEXT)
    leading = pc.subtract(pc.utf8_length(digits), pc.utf8_length(pc.utf8_ltrim(digits, "0")))
    shift = pc.if_else(pc.equal(exponent, ""), "0", pc.utf8_ltrim(exponent, "+")).cast(pa.int32())
    power = pc.add(pc.subtract(pc.subtract(pc.utf8_length(whole), 1), leading), shift)
    digits = pc.utf8_trim(digits, "0")
    rest = pc.utf8_slice_codeunits(digits, 1)
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    text = pc.binary_join_element_wise(
        sign, pc.utf8_slice_codeunits(digits, 0, 1), ".", rest, "E", power.cast(pa.string()), _NO_TEXT
    )
    text = pc.if_else(pc.is_nan(array), "NaN", text)
    return pc.if_else(pc.is_inf(array), pc.if_else(pc.less(array, 0), "-Infinity", "Infinity"), text)


def _exact_subnormals(array: pa.FloatingPointArray, short: pa.StringArray) -> pa.StringArray:
    """Write the smallest floats with two digits, such as 4.9E-324, because Java never writes only one."""
    size = pc.abs(array)
    smallest = pc.and_(pc.greater(size, 0), pc.less(size, _TWO_DIGITS_BELOW[array.type]))
    rows = np.flatnonzero(np.asarray(pc.fill_null(smallest, False)))
    if not rows.size:
        return short
    texts = [
        text if len(text.lstrip("-").split("e")[0].replace(".", "")) > 1 else f"{number:.1e}"
        for number, text in zip(
            array.take(pa.array(rows)).to_pylist(), short.take(pa.array(rows)).to_pylist(), strict=True
        )
    ]
    mask = np.zeros(len(array), bool)
    mask[rows] = True
    return pc.replace_with_mask(short, pa.array(mask), pa.array(texts, pa.string()))


def _dates(array: pa.Array) -> pa.StringArray:
    """Write dates as ``Thu Jan 01 00:00:00 UTC 1970``, the text of ``java.util.Date``."""
    ms = _milliseconds(array)
    days = np.floor_divide(ms, _DAY_MS)
    of_day = np.mod(ms, _DAY_MS) // 1000
    year, month, day = civil(days)
    numbers = (day, of_day // 3600, of_day // 60 % 60, of_day % 60)
    two_digits = [pc.utf8_lpad(pa.array(number).cast(pa.string()), 2, "0") for number in numbers]
    clock = pc.binary_join_element_wise(*two_digits[1:], ":")
    names = _WEEKDAYS.take(pa.array(np.mod(days, 7))), _MONTHS.take(pa.array(month - 1))
    text = pc.binary_join_element_wise(*names, two_digits[0], clock, "UTC", pa.array(year).cast(pa.string()), " ")
    return pc.if_else(array.is_valid(), text, pa.scalar(None, pa.string())) if array.null_count else text


def _milliseconds(array: pa.Array) -> Int64Array:
    if pa.types.is_date32(array.type) or pa.types.is_time32(array.type):
        numbers = np.asarray(pc.fill_null(array.cast(pa.int32()), 0)).astype(np.int64)
        return numbers * _DAY_MS if pa.types.is_date32(array.type) else numbers
    return np.asarray(pc.fill_null(array.cast(pa.int64()), 0))


def civil(days: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Convert days since 1970-01-01 to year, month and day, by Java's calendar.

    It is Gregorian from 1582-10-15, Julian before. A year before 1 is counted in its era (BC).

    Years are counted from March, so that a leap day is a year's last. Source: H. Hinnant, chrono-compatible low-level
    date algorithms.
    """
    since = days + 719_468  # 0000-03-01
    era = np.floor_divide(since, 146_097)
    of_era = np.mod(since, 146_097)
    of_era_years = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    gregorian = of_era_years + 400 * era, of_era - (365 * of_era_years + of_era_years // 4 - of_era_years // 100)
    since = days + 719_470  # 0000-03-01 of the Julian calendar
    cycle = np.floor_divide(since, 1_461)
    of_cycle = np.mod(since, 1_461)
    of_cycle_years = (of_cycle - of_cycle // 1_460) // 365
    julian = of_cycle_years + 4 * cycle, of_cycle - 365 * of_cycle_years
    year, of_year = (np.where(days >= _FIRST_GREGORIAN, new, old) for new, old in zip(gregorian, julian, strict=True))
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    year = year + (month >= 10)
    return np.where(year > 0, year, 1 - year), np.where(month < 10, month + 3, month - 9), day
