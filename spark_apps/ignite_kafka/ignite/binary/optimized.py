"""Decoding of java.sql.Date and java.time values, which Java's optimized marshaller writes (code 254).

Other classes: optimized_transcode.py.

Layout: 254, int32 length, then 101 (Externalizable) or 102 (Serializable), int32 hash of the class name, int16
checksum, the class's own data, little-endian. Source: `OptimizedObjectOutputStream` of Ignite 2.17, `java.time.Ser` and
the `writeExternal` methods of OpenJDK 17.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from ...common.redaction import in_message
from .row_values import Instant, LocalDate, LocalDateTime, LocalTime, SqlDate

EXTERNALIZABLE = 101
SERIALIZABLE = 102
_HEAD = struct.Struct("<Bih")
SQL_DATE = 1_087_757_882  # "java.sql.Date".hashCode(), "java.time.Ser".hashCode()
_JAVA_TIME = 104_259_563
_YEARS = 999_999_999
_NANOS = 1_000_000_000
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class NotReadable(Exception):
    """Raised for a value whose Java class this library cannot read; the message names the class if possible."""


def read_optimized(payload: memoryview) -> Any:
    """Decode a date or time from its payload, the bytes after code and length.

    :raises NotReadable: the value is of another class. :raises ValueError: the class is known, but the data is broken.
    """
    if len(payload) < _HEAD.size:
        raise NotReadable("A value of Java's optimized marshaller")
    kind, class_hash, _ = _HEAD.unpack_from(payload)
    data = payload[_HEAD.size :]
    if (kind, class_hash) == (SERIALIZABLE, SQL_DATE):
        return SqlDate(_unpack_whole("<q", data)[0])
    if (kind, class_hash) == (EXTERNALIZABLE, _JAVA_TIME) and len(data) and data[0] in _JAVA_TIMES:
        return _JAVA_TIMES[data[0]](data[1:])
    raise NotReadable(f"A value of a class with name hash {class_hash}, written by Java's optimized marshaller")


def is_temporal(payload: memoryview) -> bool:
    """Return whether a payload is a date or time that :func:`read_optimized` can decode."""
    if len(payload) <= _HEAD.size:
        return False
    kind, class_hash, _ = _HEAD.unpack_from(payload)
    return temporal_size(kind, class_hash, payload[_HEAD.size :]) is not None


def temporal_size(kind: int, class_hash: int, data: memoryview) -> int | None:
    """Compute the size of a date or time at the start of `data`; None for other classes."""
    if (kind, class_hash) == (SERIALIZABLE, SQL_DATE):
        return 8
    if (kind, class_hash) != (EXTERNALIZABLE, _JAVA_TIME) or not len(data) or data[0] not in _JAVA_TIMES:
        return None
    date = {2: 12, 3: 6, 4: 0, 5: 6}[data[0]]
    clock = bytes(data[1 + date : 4 + date])
    short = next((index + 1 for index, byte in enumerate(clock) if byte >= 0x80), 7)
    return 1 + date + (short if data[0] in (4, 5) else 0)


def _unpack_whole(form: str, data: memoryview) -> tuple[Any, ...]:
    if len(data) != struct.calcsize(form):
        raise ValueError(f"{len(data)} bytes where {struct.calcsize(form)} are due")
    return struct.unpack(form, data)


def _instant(data: memoryview) -> Instant:
    seconds, nanos = _unpack_whole("<qi", data)
    if not 0 <= nanos < _NANOS:
        raise ValueError(f"{in_message(nanos)} nanoseconds in an Instant")
    return Instant(seconds, nanos)


def _local_date(data: memoryview) -> LocalDate:
    year, month, day = _unpack_whole("<iBB", data)
    if not (-_YEARS <= year <= _YEARS and 1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1]):
        raise ValueError(f"{in_message(f'{year}-{month}-{day}')} is no date")
    if (month, day) == (2, 29) and (year % 4 or (year % 100 == 0 and year % 400)):
        raise ValueError(f"{in_message(year)} is no leap year")
    return LocalDate(year, month, day)


def _local_time(data: memoryview) -> LocalTime:
    """Decode a java.time.LocalTime: hour, minute, second, nanosecond.

    Trailing zeros are omitted; the last number written is then its complement (~number).
    """
    parts: list[int] = []
    form = "bbbi"
    while len(parts) < len(form):
        width = struct.calcsize(form[len(parts)])
        if len(data) < width:
            raise ValueError("a LocalTime ends early")
        value = struct.unpack_from("<" + form[len(parts)], data)[0]
        data = data[width:]
        if value < 0 and len(parts) < 3:
            parts += [~value, 0, 0, 0][: len(form) - len(parts)]
        else:
            parts.append(value)
    hour, minute, second, nano = parts
    if len(data) or not (hour < 24 and minute < 60 and second < 60 and 0 <= nano < _NANOS):
        raise ValueError(f"{in_message(f'{hour}:{minute}:{second}.{nano}')} with {len(data)} bytes after it is no time")
    return LocalTime(((hour * 60 + minute) * 60 + second) * _NANOS + nano)


def _local_date_time(data: memoryview) -> LocalDateTime:
    return LocalDateTime(_local_date(data[:6]), _local_time(data[6:]))


_JAVA_TIMES: dict[int, Callable[[memoryview], Any]] = {2: _instant, 3: _local_date, 4: _local_time, 5: _local_date_time}
