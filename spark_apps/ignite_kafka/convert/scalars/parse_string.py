"""Parser of header texts as Kafka Connect's ``Values.parseString``, by which ``"12"`` becomes an INT8.

Three kinds of texts are not parsed but remain text: numbers of more than `MAX_HEADER_DIGITS` digits, or exponents of
more than four digits, for which Java's computation is not bounded; dates with signs or exponents within, which Java's
lenient SimpleDateFormat accepts; and arrays with both dates and times.

Source: org.apache.kafka.connect.data.Values (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ...common.record_limits import MAX_HEADER_DEPTH, MAX_HEADER_DIGITS
from ..connect.schema import DATE, TIME, TIMESTAMP, ConnectSchema, ConnectType, date, decimal, time, timestamp
from .simple_tokens import BLANKS, Tokens

_NUMBER = re.compile(r"(?!\.)[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
_MOST_LETTERS = MAX_HEADER_DIGITS + len("-.e-9999")
_BEYOND_FLOATS = 400  # exponent: beyond it a number is infinite as a float, and below its negative 0
_BLANK = r"[ \t]*"
_CLOCK = rf"{_BLANK}(\d+):{_BLANK}(\d+):{_BLANK}(\d+)\.{_BLANK}(\d+)Z"
_DAY = rf"{_BLANK}(\d+)-{_BLANK}(\d+)-{_BLANK}(\d+)"
_TEMPORAL = {  # by the required length of the text, as in Connect; Java then reads a beginning of the text
    13: (re.compile(_CLOCK), time()),
    24: (re.compile(rf"{_DAY}T{_CLOCK}"), timestamp()),
    10: (re.compile(_DAY), date()),
}
_DAY_MS = 86_400_000
_GREGORIAN = -141_427  # 1582-10-15 in days since 1970-01-01
_INTEGERS = ((ConnectType.INT8, 7), (ConnectType.INT16, 15), (ConnectType.INT32, 31), (ConnectType.INT64, 63))
_NUMBERS = (*(kind for kind, _ in _INTEGERS), ConnectType.FLOAT32, ConnectType.FLOAT64)


@dataclass(frozen=True)
class Parsed:
    """A parsed value with its schema; dates and times are integers, maps are lists of pairs.

    :param schema: None if the value is None. If the content of an array or map has no common type, its schema has no
        inner schema.
    """

    schema: ConnectSchema | None
    value: Any


_NULL = Parsed(None, None)
_TEXT = ConnectSchema(ConnectType.STRING)


class _NotParsed(Exception):
    """Error of a text that is not an array or map after all (DataException in Java)."""


class NestedTooDeep(ValueError):
    """Error of a text with more levels of arrays and maps than `MAX_HEADER_DEPTH`."""


def parse_string(text: str) -> Parsed:
    """Parse a text as null, boolean, number, date, time, array or map; any other text stays text.

    :raises NestedTooDeep: the text seems to be an array or map with too many levels.
    """
    return _Reader(text).read(embedded=False) if text else Parsed(_TEXT, text)


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self._depth = 0

    def read(self, *, embedded: bool) -> Parsed:
        tokens = self._tokens
        if not tokens.left:
            return _NULL
        if embedded and tokens.skip('"'):
            return self._read_quoted()
        for literal, value in (("null", None), ("true", True), ("false", False)):
            if self._literal(literal, embedded):
                return _NULL if value is None else Parsed(ConnectSchema(ConnectType.BOOLEAN), value)
        start = tokens.mark
        try:
            if tokens.skip("["):
                return self._deeper(self._array)
            if tokens.skip("{"):
                return self._deeper(self._map)
        except _NotParsed:
            tokens.rewind(start)
        token = tokens.next()
        return self._scalar(token.strip(BLANKS), embedded) if token.strip(BLANKS) else Parsed(_TEXT, token)

    def _deeper(self, read: Callable[[], Parsed]) -> Parsed:
        if self._depth == MAX_HEADER_DEPTH:
            raise NestedTooDeep(f"it has more than {MAX_HEADER_DEPTH} levels of arrays and maps")
        self._depth += 1
        try:
            return read()
        finally:
            self._depth -= 1

    def _literal(self, literal: str, embedded: bool) -> bool:
        start = self._tokens.mark
        if self._tokens.skip(literal) and (embedded or not self._tokens.left):
            return True
        self._tokens.rewind(start)
        return False

    def _scalar(self, token: str, embedded: bool) -> Parsed:
        parsed = None
        if token[0].isdecimal():
            mark = self._tokens.mark
            rest = self._tokens.next_four()
            parsed = None if rest is None else _temporal(token + rest)
            if parsed is None:
                self._tokens.rewind(mark)
                parsed = _temporal(token)
        if parsed is None and len(token) <= _MOST_LETTERS and _NUMBER.fullmatch(token):
            number = Decimal(token)
            parsed = _number(number) if len(number.as_tuple().digits) <= MAX_HEADER_DIGITS else None
        if parsed is None and embedded:
            raise _NotParsed
        return parsed or Parsed(_TEXT, self._tokens.text)

    def _read_quoted(self) -> Parsed:
        parts = []
        while self._tokens.left and not self._tokens.skip('"'):
            parts.append(self._tokens.next())
        text = "".join(parts)
        return _temporal(text) or Parsed(_TEXT, text)

    def _array(self) -> Parsed:
        items: list[Parsed] = []
        while self._tokens.left:
            if self._tokens.skip("]"):
                schema = _merge(items)
                return Parsed(ConnectSchema(ConnectType.ARRAY, value_schema=schema), _align(items, schema))
            if self._tokens.skip(","):
                raise _NotParsed
            items.append(self.read(embedded=True))
            mark = self._tokens.mark
            if self._tokens.skip("]"):
                self._tokens.rewind(mark)
            elif not self._tokens.skip(","):
                raise _NotParsed
        raise _NotParsed

    def _map(self) -> Parsed:
        keys: list[Parsed] = []
        values: list[Parsed] = []
        while self._tokens.left:
            if self._tokens.skip("}"):
                return _map_of(keys, values)
            if self._tokens.skip(","):
                raise _NotParsed
            key = self.read(embedded=True)
            if key.value is None or not self._tokens.skip(":"):
                raise _NotParsed
            keys.append(key)
            values.append(self.read(embedded=True))
            self._tokens.skip(",")
        raise _NotParsed


def _map_of(keys: list[Parsed], values: list[Parsed]) -> Parsed:
    """Return a map of keys and values; a repeated key has its last value."""
    key_schema = _merge(keys)
    value_schema = None if key_schema is None else _merge(values)
    places = {(key.schema, repr(key.value)): row for row, key in enumerate(keys)}
    rows = list(places.values())
    entries = zip(
        _align([keys[row] for row in rows], key_schema),
        _align([values[row] for row in rows], value_schema),
        strict=True,
    )
    schema = ConnectSchema(ConnectType.MAP, key_schema=key_schema, value_schema=value_schema)
    return Parsed(schema, [list(pair) for pair in entries])


def _merge(items: list[Parsed]) -> ConnectSchema | None:
    """Return the common schema of all items but nulls, for numbers the widest; None without a common schema."""
    common: ConnectSchema | None = None
    for schema in [item.schema for item in items if item.schema is not None]:
        if common is None or common.type is schema.type:
            common = schema
        elif common.type in _NUMBERS and schema.type in _NUMBERS:
            common = common if _NUMBERS.index(common.type) > _NUMBERS.index(schema.type) else schema
        else:
            return None
    return common


def _align(items: list[Parsed], schema: ConnectSchema | None) -> list[Any]:
    """Return the items' values converted to their common schema; unchanged without one.

    :raises _NotParsed: a value is null, which the schema does not allow, or a date is among numbers.
    """
    return [item.value if schema is None else _convert(item, schema) for item in items]


def _convert(item: Parsed, schema: ConnectSchema) -> Any:
    """Convert an item to the common schema from :func:`_merge`, as ``Values.convertTo`` does."""
    name = None if item.schema is None else item.schema.name
    if item.schema is None or (item.schema.type in _NUMBERS and schema.type in _NUMBERS and name and not schema.name):
        raise _NotParsed
    if schema.name in (TIME, TIMESTAMP) and name == DATE:
        return item.value * _DAY_MS
    if schema.name == DATE and name in (TIME, TIMESTAMP):
        raise _NotParsed
    if schema.type in (ConnectType.FLOAT32, ConnectType.FLOAT64):
        return _float32(Fraction(item.value)) if schema.type is ConnectType.FLOAT32 else float(item.value)
    return item.value


def _number(number: Decimal) -> Parsed:
    """Return a number with the schema that Connect gives it: the narrowest integer, else float, double or Decimal."""
    scale = -int(number.as_tuple().exponent)
    # beyond all floats: avoids the computation of all digits
    if number and number.adjusted() > _BEYOND_FLOATS:
        return Parsed(decimal(scale), number)
    if number and number.adjusted() < -_BEYOND_FLOATS:
        return Parsed(ConnectSchema(ConnectType.FLOAT32), -0.0 if number.is_signed() else 0.0)
    exact = Fraction(number or 0)
    if exact.denominator == 1:
        whole = int(exact)
        for kind, bits in _INTEGERS:
            if -(1 << bits) <= whole < 1 << bits:
                return Parsed(ConnectSchema(kind), whole)
    if scale:
        for kind, rounded in _FLOATS:
            value = rounded(exact)
            if abs(value) != float("inf"):
                return Parsed(ConnectSchema(kind), value)
    return Parsed(decimal(scale), number if number else number.copy_abs())


def _float32(exact: Fraction) -> float:
    """Return the nearest 32-bit float of an exact number, rounded only once."""
    with np.errstate(over="ignore"):
        near = np.float32(_float64(exact))
    if not np.isfinite(near):
        return float("-inf") if exact < 0 else float("inf")
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    finite = [float(candidate) for candidate in around if np.isfinite(candidate)]
    best = min(abs(Fraction(candidate) - exact) for candidate in finite)
    ties = [candidate for candidate in finite if abs(Fraction(candidate) - exact) == best]
    return ties[0] if len(ties) == 1 else float(near)


def _float64(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("-inf") if exact < 0 else float("inf")


_FLOATS: tuple[tuple[ConnectType, Callable[[Fraction], float]], ...] = (
    (ConnectType.FLOAT32, _float32),
    (ConnectType.FLOAT64, _float64),
)


def _temporal(text: str) -> Parsed | None:
    """Parse a text as date, time or timestamp; None for another text."""
    text = text.replace("\\:", ":")
    form = _TEMPORAL.get(len(text))
    matched = form and form[0].match(text)
    if not form or not matched:
        return None
    numbers = [int(part) for part in matched.groups()]
    schema = form[1]
    days = _days(*numbers[:3]) if schema != time() else 0
    if schema == date():
        return Parsed(schema, days)
    hours, minutes, seconds, ms = numbers[-4:]
    return Parsed(schema, days * _DAY_MS + ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms)


def _days(year: int, month: int, day: int) -> int:
    """Return a date as days since 1970-01-01, where month 13 is January of the next year, as in Java."""
    year = year + (month - 1) // 12
    month = (month - 1) % 12 + 1
    before = year - (month <= 2)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    gregorian = 365 * before + before // 4 - before // 100 + before // 400 + of_year - 719_468
    return gregorian if gregorian >= _GREGORIAN else 365 * before + before // 4 + of_year - 719_470
