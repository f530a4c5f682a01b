"""Parsing of texts as times, by a format in the syntax of Java's ``SimpleDateFormat``.

Texts are read leniently, from their beginning, in UTC.

Not read, though Java reads them: numbers with a sign, and names of time zones other than UTC and GMT.
Source: SimpleDateFormat.parse of the JDK (17), with java.util.GregorianCalendar.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array
from .date_format import DAYS, MONTHS, Part

_READ = "yMLdDEaHkKhmsSzZX"
_TEXTS = "EazZX"
_DAY_MS = 86_400_000
_GREGORIAN = -141_427  # 1582-10-15 in days since 1970-01-01
_HOURS = "(?:[01][0-9]|2[0-3])"
_MINUTES = "[0-5][0-9]"
_GMT = f"GMT(?:[+-](?:[0-9]|{_HOURS}):{_MINUTES})?"
_ZONES = {
    "z": f"(?i:Coordinated Universal Time|UTC|{_GMT})|[+-]{_HOURS}{_MINUTES}", "X": f"Z|[+-]{_HOURS}",
    "XX": f"Z|[+-]{_HOURS}{_MINUTES}",
    "XXX": f"Z|[+-]{_HOURS}:{_MINUTES}",
}  # fmt: skip


@dataclass(frozen=True)
class TimeParser:
    """Parser of texts as times for one date format.

    :param expression: regular expression with a group for each field.
    :param groups: the fields by the numbers of their groups.
    :param century: the first day of the hundred years that two digits stand for.
    """

    expression: str
    groups: tuple[Part, ...]
    century: datetime.date

    def parse(self, texts: pa.StringArray) -> tuple[Int64Array, pa.BooleanArray]:
        """Parse texts to milliseconds since 1970, with a mask of the texts that could be read; nulls cannot."""
        matches = pc.extract_regex(texts, pattern=self.expression)
        fields: dict[str, Int64Array] = {}
        offset = np.zeros(len(texts), np.int64)
        for number, part in enumerate(self.groups):
            values = pc.fill_null(pc.struct_field(matches, [number]), "")
            if part.letter in "zZX":
                offset = _offsets(values)
            elif part.letter != "E":
                fields[part.letter.replace("L", "M")] = self._numbers(part, values)
        of_day = _of_day(fields) - offset
        return self._in_century(fields) * _DAY_MS + of_day, matches.is_valid()

    def _in_century(self, fields: dict[str, Int64Array]) -> Int64Array | int:
        """Return the days since 1970, with a year of two digits in the century that Java would choose.

        A date before the century's first day, but in its first year, moves 100 years on.
        """
        days = _days(fields)
        short = [part for part in self.groups if part.letter == "y" and len(part.text) <= 2]
        if not short:
            return days
        first = (self.century - datetime.date(1970, 1, 1)).days
        early = (fields["y"] == self.century.year) & (days < first)
        return np.where(early, _days({**fields, "y": fields["y"] + 100}), days)

    def _numbers(self, part: Part, values: pa.StringArray) -> Int64Array:
        if part.letter == "a":
            return np.asarray(pc.equal(pc.ascii_upper(values), "PM")).astype(np.int64)
        if part.letter in "ML" and len(part.text) > 2:
            names = pa.array([name[:3].lower() for name in MONTHS])
            return (
                np.asarray(
                    pc.fill_null(pc.index_in(pc.utf8_slice_codeunits(pc.ascii_lower(values), 0, 3), names), 0)
                ).astype(np.int64)
                + 1
            )
        digits = pc.utf8_trim(values, " \t")
        empty = {"y": "1970", "M": "1", "L": "1", "d": "1", "D": "1"}.get(part.letter, "0")
        numbers = np.asarray(pc.if_else(pc.equal(digits, ""), empty, digits).cast(pa.int64()))
        if part.letter == "y" and len(part.text) <= 2:
            two = np.asarray(pc.equal(pc.utf8_length(digits), 2))
            first = self.century.year
            return np.where(two, numbers + first // 100 * 100 + np.where(numbers < first % 100, 100, 0), numbers)
        return numbers


def time_parser(parts: tuple[Part, ...], today: datetime.date) -> TimeParser:
    """Build the parser for a date format.

    :param today: two digits of a year stand for one from 80 years before to 20 years after.
    :raises ValueError: the format has a field that is not read.
    """
    letters = [part.letter.replace("L", "M") for part in parts if part.letter]
    for letter in letters:
        if letter not in _READ:
            raise ValueError(f"texts are not read by the letter {letter}, only by: {' '.join(_READ)}")
    if "D" in letters and {"M", "d"} & set(letters):
        raise ValueError("texts are not read by D together with M or d")
    if len(set(letters)) < len(letters):
        raise ValueError("texts are not read by a field that is given twice")
    pieces = ["^"]
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        pieces.append(_piece(part, following) if part.letter else re.escape(part.text))
    groups = tuple(part for part in parts if part.letter)
    return TimeParser("".join(pieces), groups, today.replace(year=today.year - 80, day=min(today.day, 28)))


def _is_number(part: Part) -> bool:
    return bool(part.letter) and part.letter not in _TEXTS and not (part.letter in "ML" and len(part.text) > 2)


def _piece(part: Part, following: Part | None) -> str:
    """Return a regular expression with a named group that matches one field of a date format.

    :param following: the next part: a number before another one has as many characters as letters, blanks included.
    """
    name = f"f{part.letter}"
    if part.letter in "ML" and len(part.text) > 2:
        names = sorted([*MONTHS, *(full[:3] for full in MONTHS)], key=len, reverse=True)
        return f"(?P<{name}>(?i:{'|'.join(names)}))"
    if part.letter == "E":
        names = sorted([*DAYS, *(full[:3] for full in DAYS)], key=len, reverse=True)
        return f"(?P<{name}>(?i:{'|'.join(names)}))"
    if part.letter == "a":
        return f"(?P<{name}>(?i:AM|PM))"
    if part.letter in "zZX":
        return f"(?P<{name}>{_ZONES[part.text if part.letter == 'X' else 'z']})"
    if following and _is_number(following):
        size = len(part.text)
        widths = [f"[ \\t]{{{blanks}}}[0-9]{{{size - blanks}}}" for blanks in range(size)]
        return f"(?P<{name}>{'|'.join(widths)})"
    return f"(?P<{name}>[ \\t]*[0-9]{{1,9}})"


def _offsets(values: pa.StringArray) -> Int64Array:
    """Convert texts of offsets from UTC, such as ``+01:00``, to milliseconds."""
    matches = pc.extract_regex(values, pattern=r"(?P<sign>[+-])(?P<hours>[0-9]{1,2}):?(?P<minutes>[0-9]{2})?$")
    sign, hours, minutes = (pc.fill_null(pc.struct_field(matches, [number]), "") for number in range(3))
    hours, minutes = (
        np.asarray(pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64())) for digits in (hours, minutes)
    )
    offsets_ms: Int64Array = np.where(np.asarray(pc.equal(sign, "-")), -1, 1) * (hours * 60 + minutes) * 60_000
    return offsets_ms


def _of_day(fields: dict[str, Int64Array]) -> Int64Array | int:
    hour: Int64Array | int = 0
    if {"K", "h"} & fields.keys() and ("a" in fields or not {"H", "k"} & fields.keys()):
        hour = fields["K"] if "K" in fields else np.where(fields["h"] == 12, 0, fields["h"])
        hour = hour + 12 * fields.get("a", 0)
    elif "k" in fields:
        hour = np.where(fields["k"] == 24, 0, fields["k"])
    elif "H" in fields:
        hour = fields["H"]
    elif "a" in fields:
        hour = 12 * fields["a"]
    return ((hour * 60 + fields.get("m", 0)) * 60 + fields.get("s", 0)) * 1000 + fields.get("S", 0)


def _days(fields: dict[str, Int64Array]) -> Int64Array | int:
    """Convert year, month and day to days since 1970-01-01; month 13 is January of the next year."""
    year, month, day = (
        fields.get(letter, default) for letter, default in (("y", 1970), ("M", 1), ("d", fields.get("D", 1)))
    )
    year = year + (month - 1) // 12
    month = (month - 1) % 12 + 1
    before = year - (month <= 2)
    of_year = (153 * np.where(month > 2, month - 3, month + 9) + 2) // 5 + day - 1
    gregorian = 365 * before + before // 4 - before // 100 + before // 400 + of_year - 719_468
    julian = 365 * before + before // 4 + of_year - 719_470
    return np.where(gregorian >= _GREGORIAN, gregorian, julian)
