"""Conversion of SQL values to Python objects, and SQL types of result columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from airflow_provider_ignite_kafka.dbapi.errors import DataError
from ignite_kafka.common.python_compat import UTC
from ignite_kafka.common.time_zones import epoch_offset_ms
from ignite_kafka.ignite.binary import row_values as rows
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.java.calendar import FIRST_OF_ZONES, date_of, first_offset

_DAY_MS = 86_400_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
_MIDNIGHT = datetime.datetime(1970, 1, 1)
_FIRST = FIRST_OF_ZONES - _MIDNIGHT
_LAST_OF_ZONES = datetime.datetime(9999, 12, 31)
_LAST = _LAST_OF_ZONES - _MIDNIGHT  # a day before the end of datetime, in every zone
_OTHER = "OTHER"
_NAMES = {
    codes.BYTE: "TINYINT", codes.SHORT: "SMALLINT", codes.INT: "INTEGER", codes.LONG: "BIGINT", codes.FLOAT: "REAL",
    codes.DOUBLE: "DOUBLE", codes.DECIMAL: "DECIMAL", codes.BOOL: "BOOLEAN", codes.CHAR: "CHAR",
    codes.STRING: "VARCHAR",
    codes.UUID: "UUID", codes.DATE: "TIMESTAMP", codes.TIMESTAMP: "TIMESTAMP", codes.TIME: "TIME",
    codes.BYTE_ARRAY: "BINARY",
}  # fmt: skip
_NAMES_OF_CLASSES = {
    rows.SqlDate: "DATE",
    rows.LocalDate: "DATE",
    rows.LocalTime: "TIME",
    rows.LocalDateTime: "TIMESTAMP",
    rows.Instant: "TIMESTAMP",
}


class SqlType:
    """SQL type of a column, or a DB-API group of types such as NUMBER; equal to its name and its groups.

    Its text is its name.

    The class is no str, because polars would take a str for its own type of the same name, such as a decimal without
    digits.
    """

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other in self.names
        return isinstance(other, SqlType) and bool(self.names & other.names)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return "|".join(sorted(self.names))

    __repr__ = __str__


STRING = SqlType("VARCHAR", "CHAR", "UUID")
BINARY = SqlType("BINARY")
NUMBER = SqlType("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "DECIMAL", "BOOLEAN")
DATETIME = SqlType("DATE", "TIME", "TIMESTAMP")
ROWID = SqlType()


def sql_type(code: int, value: object) -> SqlType | None:
    """Determine the SQL type of a result column; None if all its values are null.

    :param code: type code of the column's first value.
    :param value: the column's first value.
    """
    if code == codes.NULL:
        return None
    return SqlType(_NAMES.get(code) or _NAMES_OF_CLASSES.get(type(value), _OTHER))


def to_python(value: Any, zone: ZoneInfo) -> Any:
    """Convert a value of the row decoder to a standard Python type; fractions below a microsecond are lost.

    :param zone: time zone of the nodes, in which a DATE begins at midnight and a TIME counts.
    :raises DataError: Python has no such date or time, or a DATE is no midnight in that zone.
    """
    convert = _CONVERTERS.get(type(value))
    if convert is None:
        return value
    try:
        return convert(value, zone)
    except (OverflowError, ValueError) as error:
        raise DataError(
            f"Python's datetime has no {_NAMES_OF_CLASSES.get(type(value), 'value')} like this: {error}"
        ) from error


def _instant(seconds: int, micros: int, zone: ZoneInfo) -> datetime.datetime:
    """Convert a time to a datetime in a time zone, with Java's calendar, so that it looks as in SQL."""
    since = datetime.timedelta(seconds=seconds, microseconds=micros)
    if _FIRST <= since < _LAST:
        return (_EPOCH + since).astimezone(zone)
    since += first_offset(zone) if since < _FIRST else zone.utcoffset(_LAST_OF_ZONES) or datetime.timedelta()
    return datetime.datetime.combine(
        date_of(since.days), (_MIDNIGHT + (since - datetime.timedelta(days=since.days))).time(), zone
    )


def _sql_date(value: rows.SqlDate, zone: ZoneInfo) -> datetime.date:
    instant = _instant(0, value.millis * 1000, zone)
    # if daylight saving time begins at midnight, the day begins later
    if instant.time() != datetime.time() and _instant(0, (value.millis - 1) * 1000, zone).date() == instant.date():
        raise DataError(
            f"A DATE is not midnight in time zone {zone.key}: the nodes have another one. Set time_zone in the Ignite "
            "connection."
        )
    return instant.date()


def _time(value: rows.Time, zone: ZoneInfo) -> datetime.time:
    of_day = (value.millis + epoch_offset_ms(zone.key)) % _DAY_MS
    return (_MIDNIGHT + datetime.timedelta(milliseconds=of_day)).time()


def _local_date(value: rows.LocalDate) -> datetime.date:
    return datetime.date(value.year, value.month, value.day)


def _local_time(value: rows.LocalTime) -> datetime.time:
    return (_MIDNIGHT + datetime.timedelta(microseconds=value.nanos // 1000)).time()


def _mapping(value: rows.MapValue, zone: ZoneInfo) -> Any:
    pairs = [(to_python(key, zone), to_python(item, zone)) for key, item in value.items]
    try:
        return dict(pairs)
    except TypeError:  # a key that is an object is itself a dict
        return pairs


_CONVERTERS: dict[type, Callable[[Any, ZoneInfo], Any]] = {
    rows.Timestamp: lambda value, zone: _instant(value.seconds, value.nanos // 1000, zone),
    rows.Instant: lambda value, zone: _instant(value.seconds, value.nanos // 1000, zone),
    rows.Date: lambda value, zone: _instant(0, value.millis * 1000, zone),
    rows.Time: _time,
    rows.SqlDate: _sql_date,
    rows.LocalDate: lambda value, _: _local_date(value),
    rows.LocalTime: lambda value, _: _local_time(value),
    rows.LocalDateTime: lambda value, _: datetime.datetime.combine(_local_date(value.date), _local_time(value.time)),
    rows.EnumValue: lambda value, _: value.name,
    rows.ClassName: lambda value, _: value.name,
    rows.MapValue: _mapping,
    rows.Document: lambda value, zone: {name: to_python(item, zone) for name, item in value.fields.items()},
    list: lambda value, zone: [to_python(item, zone) for item in value],
}
