"""Parser of Spark SQL's literals: numbers, dates, timestamps, patterns of LIKE."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from ..common.python_compat import UTC
from .syntax import Kind, Literal
from .tokens import Refused

_MOST_DIGITS = 38
_NUMBER = re.compile(r"(?P<digits>[0-9]*(?:\.[0-9]*)?)(?P<exponent>[eE][+-]?[0-9]+)?(?P<suffix>[A-Za-z_]\w*)?")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?: "
    r"?(?P<utc>Z|UTC)|(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d))?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST_LONG = -(2**63)
_MOST_LONG = 2**63 - 1


def number(text: str, position: int, *, negative: bool = False) -> Literal:
    """Parse a number literal as Spark does: DOUBLE, DECIMAL or an integer.

    :raises Refused: the number has another suffix, or more digits than Spark's types.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise Refused(f"{text} is no number", position, "Write names that begin with a digit in backticks")
    suffix = (match["suffix"] or "").upper()
    if suffix not in ("", "L", "D", "BD") or (suffix == "L" and ("." in text or match["exponent"])):
        raise Refused(f"the number {text} has a suffix that is not supported", position, "Use L, D, BD or none")
    digits = ("-" if negative else "") + match["digits"] + (match["exponent"] or "")
    if suffix == "D" or (match["exponent"] and not suffix):
        return _double_literal(digits, position)
    value = Decimal(digits)
    if suffix != "BD" and "." not in text:
        return _integer_literal(value, suffix, position)
    if match["exponent"] or len(value.as_tuple().digits) > _MOST_DIGITS or _scale(value) > _MOST_DIGITS:
        raise Refused(
            f"the number {text} is no DECIMAL of at most {_MOST_DIGITS} digits",
            position,
            "Write fewer digits, or a DOUBLE",
        )
    return Literal(Kind.DECIMAL, value)


def _double_literal(digits: str, position: int) -> Literal:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise Refused(f"the number {digits} is out of the range of DOUBLE", position, "Write a smaller one")
    return Literal(Kind.DOUBLE, value)


def _integer_literal(value: Decimal, suffix: str, position: int) -> Literal:
    # compared before int(), which refuses texts of more than 4,300 digits by an error of its own
    if not _LEAST_LONG <= value <= _MOST_LONG:
        raise Refused(
            f"the number {value}{suffix} is out of the range of BIGINT",
            position,
            "Write a smaller one, or a DECIMAL: with BD",
        )
    return Literal(Kind.INT, int(value), long=suffix == "L")


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return -int(exponent)


def day(text: str, position: int) -> Literal:
    """Parse the text of a DATE literal; raise Refused if it is no date."""
    match = _DATE.fullmatch(text)
    try:
        return Literal(Kind.DATE, date(*map(int, match.groups()))) if match else _refuse_date(text, position)
    except ValueError:
        return _refuse_date(text, position)


def _refuse_date(text: str, position: int) -> Literal:
    raise Refused(f"{text!r} is no date", position, "Write it as DATE '2024-01-31'")


def moment(text: str, position: int) -> Literal:
    """Parse the text of a TIMESTAMP literal, which must name a time zone.

    Spark reads a literal without a zone in the session's zone, which a connector does not have.

    :raises Refused: the text has another form, or no zone.
    """
    match = _TIMESTAMP.fullmatch(text)
    remedy = "Write it as TIMESTAMP '2024-01-31 12:00:00Z', or with +02:00 for Z"
    if match is None:
        raise Refused(f"{text!r} is no timestamp", position, remedy)
    if not match["utc"] and not match["sign"]:
        raise Refused(
            f"the timestamp {text!r} has no zone, so that Spark would read it in its session's", position, remedy
        )
    shift = timedelta(hours=int(match["hours"] or 0), minutes=int(match["minutes"] or 0))
    if shift > timedelta(hours=18) or int(match["minutes"] or 0) > 59:
        raise Refused(f"the zone of the timestamp {text!r} is out of range", position, remedy)
    try:
        at = datetime.fromisoformat(f"{match[1]}T{match[2]}:{match[3]}:{match[4]}")
    except ValueError:
        raise Refused(f"{text!r} is no timestamp", position, remedy) from None
    zone = timezone(-shift if match["sign"] == "-" else shift)
    micros = (at.replace(tzinfo=UTC) - zone.utcoffset(None) - _EPOCH) // timedelta(microseconds=1)
    return Literal(Kind.TIMESTAMP, micros + int((match[5] or "").ljust(6, "0")))


def like_parts(pattern: str, escape: str, position: int) -> tuple[tuple[str, str], ...]:
    """Split a LIKE pattern into plain text, ``%`` and ``_``; raise Refused for a pattern that Spark refuses."""
    parts: list[tuple[str, str]] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            following = next(letters, "")
            if following not in ("%", "_", escape) or not following:
                raise Refused(
                    f"the pattern {pattern!r} of LIKE has {escape!r} before another character than %, _ or it", position
                )
            parts.append(("text", following))
        elif letter in "%_":
            parts.append((letter, ""))
        else:
            parts.append(("text", letter))
    return tuple(parts)
