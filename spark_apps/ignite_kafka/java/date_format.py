"""Formatting of time columns as by Java's ``SimpleDateFormat``, in UTC and English.

Source: SimpleDateFormat of the JDK (17), with java.util.GregorianCalendar: Julian before 1582-10-15.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array
from .text import civil

LETTERS = "yMLdDEuaHkKhmsSzZXG"
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday")
"""English names of the weekdays, from Thursday on, the weekday of 1970-01-01."""
_TOKEN = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<open>')|(?P<other>[^A-Za-z']+)")
_DAY_MS = 86_400_000


class _Unit(NamedTuple):
    """Unit of a clock, such as the minute: its length, and the number of values it has.

    :param most: number of values before the unit starts again at its first value.
    """

    unit_ms: int
    most: int


_HOUR = _Unit(3_600_000, 24)
_CLOCK = {**dict.fromkeys("HkKha", _HOUR), "m": _Unit(60_000, 60), "s": _Unit(1_000, 60), "S": _Unit(1, 1_000)}


@dataclass(frozen=True)
class Part:
    """Element of a date format: a field such as ``yyyy``, or a literal text.

    :param letter: the field's letter; empty: `text` is a literal text.
    :param text: the field's letters, or the literal text.
    """

    letter: str
    text: str


def parts_of(pattern: str) -> tuple[Part, ...]:
    """Split a date format into its fields and literal texts.

    :raises ValueError: a letter is unknown or not supported, or a quote is not closed.
    """
    parts: list[Part] = []
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            raise ValueError("a quote has no other")
        if token["letters"]:
            letter = token["letters"][0]
            if letter not in LETTERS:
                raise ValueError(f"the letter {letter} is not supported, those are: {' '.join(LETTERS)}")
            if letter == "X" and len(token["letters"]) > 3:
                raise ValueError("X is given more than three times")
            parts.append(Part(letter, token["letters"]))
        else:
            text = token["other"] if token["quoted"] is None else token["quoted"].replace("''", "'") or "'"
            parts.append(Part("", text))
    return tuple(parts)


def formatted(times_ms: Int64Array, parts: tuple[Part, ...]) -> pa.StringArray:
    """Format times in milliseconds since 1970 as texts."""
    if not parts:
        return pa.repeat("", len(times_ms))
    days = pa.array(np.floor_divide(times_ms, _DAY_MS)).dictionary_encode()
    of_day = np.mod(times_ms, _DAY_MS)
    columns = [
        _clock_texts(group).take(pa.array(of_day // _CLOCK[group[0].letter].unit_ms % _CLOCK[group[0].letter].most))
        if group[0].letter in _CLOCK
        else _join_texts(group, np.asarray(days.dictionary), np.zeros(len(days.dictionary), np.int64)).take(
            days.indices
        )
        for group in _groups(parts)
    ]
    return columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, "")


def _groups(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """Group a format's elements so that a group depends on the day alone, or on one unit of the clock.

    The texts of a group are then computed once per day or value, not per row.
    """
    groups: list[tuple[Part, ...]] = []
    for part in parts:
        fixed = not part.letter or part.letter in "zZX"
        if groups and (fixed or (groups[-1][0].letter not in _CLOCK and part.letter not in _CLOCK)):
            groups[-1] += (part,)
        else:
            groups.append((part,))
    return groups


@functools.lru_cache(maxsize=1_000)
def _clock_texts(group: tuple[Part, ...]) -> pa.StringArray:
    """Return the texts of a group for all values of its clock unit, such as every hour of a day."""
    unit = _CLOCK[group[0].letter]
    return _join_texts(group, np.zeros(unit.most, np.int64), np.arange(unit.most) * unit.unit_ms)


def _join_texts(group: tuple[Part, ...], days: Int64Array, of_day: Int64Array) -> pa.StringArray:
    columns = [_text(part, days, of_day) if part.letter else pa.repeat(part.text, len(days)) for part in group]
    return columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, "")


def _text(part: Part, days: Int64Array, of_day: Int64Array) -> pa.StringArray:
    count = len(part.text)
    letter = part.letter
    year, month, day = civil(days)
    if letter in "ML" and count > 2:
        return _names([name[:3] if count == 3 else name for name in MONTHS], month - 1)
    if letter == "E":
        return _names([name[:3] if count < 4 else name for name in DAYS], np.mod(days, 7))
    if letter == "a":
        return _names(["AM", "PM"], of_day // (_DAY_MS // 2))
    if letter == "G":
        return _names(["BC", "AD"], (days >= _FIRST_AD).astype(np.int64))
    if letter in "zZX":
        text = {"z": "UTC" if count < 4 else "Coordinated Universal Time", "Z": "+0000", "X": "Z"}[letter]
        return pa.repeat(text, len(days))
    if letter == "y" and count == 2:
        return _digits(year % 100, 2)
    hour = of_day // 3_600_000
    numbers = {
        "y": year, "M": month, "L": month, "d": day, "H": hour, "k": np.where(hour == 0, 24, hour), "K": hour % 12,
        "h": np.where(hour % 12 == 0, 12, hour % 12), "m": of_day // 60_000 % 60, "s": of_day // 1000 % 60,
        "S": of_day % 1000,
        "u": np.mod(days + 3, 7) + 1,
    }  # fmt: skip
    return _digits(numbers[letter] if letter != "D" else _day_of_year(days, year, month, day), count)


_FIRST_AD = -719_164  # 0001-01-01 of the Julian calendar, in days since 1970


def _day_of_year(days: Int64Array, year: Int64Array, month: Int64Array, day: Int64Array) -> Int64Array:
    """Return each date's day number within its year, by the calendar in use on that day."""
    before = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])[month - 1]
    true_year = np.where(days >= _FIRST_AD, year, 1 - year)
    gregorian = days >= -141_427
    leap = (true_year % 4 == 0) & (~gregorian | (true_year % 100 != 0) | (true_year % 400 == 0))
    number = before + day + (leap & (month > 2))
    in_both_calendars: Int64Array = np.where(gregorian & (true_year == 1582), number - 10, number)
    return in_both_calendars


def _names(names: list[str], places: Int64Array) -> pa.StringArray:
    return pa.array(names, pa.string()).take(pa.array(places))


def _digits(numbers: Int64Array, least: int) -> pa.StringArray:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), least, "0")
