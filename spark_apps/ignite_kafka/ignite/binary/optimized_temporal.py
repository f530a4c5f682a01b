"""Decoding of java.sql.Date and java.time values to Arrow columns; see optimized.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .column_assembly import union
from .decode_scalars import Column, lengths
from .optimized import NotReadable, is_temporal, read_optimized
from .optimized_transcode import transcoded
from .page_buffer import PageBuffer, Positions
from .row_values import Instant, LocalDate, LocalDateTime, LocalTime, SqlDate

_DAY_MS = 86_400_000
_DAY_US = 86_400_000_000


@dataclass(frozen=True)
class _Form:
    """How a Java class becomes a column: name, Arrow type, and function from value and time zone to a number."""

    name: str
    arrow: pa.DataType
    number: Callable[[Any, ZoneInfo], int]


def _days(value: SqlDate, zone: ZoneInfo) -> int:
    try:
        offset = zone.utcoffset(datetime.fromtimestamp(value.millis / 1000, zone)) or timedelta()
    except (OverflowError, ValueError, OSError):  # outside the years 1 to 9999 Python knows no offset
        offset = timedelta()
    days, rest = divmod(value.millis + offset // timedelta(milliseconds=1), _DAY_MS)
    if rest:
        what = (
            f"A java.sql.Date is not midnight in time zone {zone.key}: its writer's time zone, which the bytes do not "
            "name, is another"
        )
        raise ValueError(f"{what} (setting date_time_zone)")
    return days


def _local_micros(value: LocalDateTime, _: ZoneInfo) -> int:
    return value.date.epoch_day * _DAY_US + value.time.nanos // 1000


_FORMS: dict[type, _Form] = {
    SqlDate: _Form("java.sql.Date", pa.date32(), _days),
    LocalDate: _Form("LocalDate", pa.date32(), lambda value, _: int(value.epoch_day)),
    LocalTime: _Form("LocalTime", pa.time64("us"), lambda value, _: int(value.nanos) // 1000),
    LocalDateTime: _Form("LocalDateTime", pa.timestamp("us"), _local_micros),
    Instant: _Form(
        "Instant", pa.timestamp("us", "UTC"), lambda value, _: int(value.seconds) * 1_000_000 + int(value.nanos) // 1000
    ),
}


def optimized(wire: PageBuffer, at: Positions, end: Positions, date_zone: str = "UTC") -> Column:
    """Decode java.sql.Date and java.time values (code 254) to a column; several classes become a union.

    Fractions below 1 us are dropped.

    :param date_zone: time zone at whose midnight a java.sql.Date was made.
    :raises UnsupportedType: for another class, a java.sql.Date that is not midnight in that zone, or a value out of the
        Arrow type's range.
    """
    length = lengths(wire, at, end, 5, 1, "A value of Java's optimized marshaller")
    data = wire.data.data
    zone = ZoneInfo(date_zone)
    values = [_read(wire, data, start, size) for start, size in zip(at.tolist(), length.tolist(), strict=True)]
    kinds = list(dict.fromkeys(type(value) for value in values))
    rows = [np.array([row for row, value in enumerate(values) if type(value) is kind], np.int64) for kind in kinds]
    columns = [
        _column(wire, kind, [(int(at[row]), values[row]) for row in part], zone)
        for kind, part in zip(kinds, rows, strict=True)
    ]
    return columns[0] if len(columns) == 1 else union([_FORMS[kind].name for kind in kinds], columns, rows, at.size)


def are_temporal(wire: PageBuffer, at: Positions, end: Positions) -> npt.NDArray[np.bool_]:
    """Flag the values of code 254 that are dates or times, for :func:`optimized` to decode."""
    length = lengths(wire, at, end, 5, 1, "A value of Java's optimized marshaller")
    data = wire.data.data
    return np.array(
        [
            is_temporal(data[start + 5 : start + 5 + size])
            for start, size in zip(at.tolist(), length.tolist(), strict=True)
        ],
        bool,
    )


def rewrite(wire: PageBuffer, at: Positions) -> PageBuffer:
    """Rewrite values of other classes in binary format; the returned buffer has them between its `starts`."""
    data = wire.data.data
    pieces = []
    for start, size in zip(at.tolist(), wire.ints(at + 1).tolist(), strict=True):
        try:
            pieces.append(transcoded(data[start + 5 : start + 5 + size]))
        except NotReadable as error:
            raise wire.unsupported(start, str(error)) from None
        except ValueError as error:
            raise wire.error(start, f"A value of Java's optimized marshaller is broken: {error}") from None
        wire.spend(len(pieces[-1]), start)
    starts = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    joined = np.frombuffer(b"".join(pieces), np.uint8)
    return PageBuffer(joined, wire.cache, wire.types, starts, wire.partitions[:1], wire.budget)


def _read(wire: PageBuffer, data: memoryview, start: int, size: int) -> Any:
    try:
        return read_optimized(data[start + 5 : start + 5 + size])
    except NotReadable as error:
        raise wire.unsupported(start, str(error)) from None
    except ValueError as error:
        raise wire.error(start, f"A value of Java's optimized marshaller is broken: {error}") from None


def _column(wire: PageBuffer, kind: type, values: list[tuple[int, Any]], zone: ZoneInfo) -> Column:
    form = _FORMS[kind]
    number_type = pa.int32() if form.arrow == pa.date32() else pa.int64()
    limit = 1 << (number_type.bit_width - 1)
    numbers = []
    for position, value in values:
        try:
            number = form.number(value, zone)
        except ValueError as error:
            raise wire.unsupported(position, str(error)) from None
        if not -limit <= number < limit:
            raise wire.unsupported(position, f"The {form.name} is out of the range of {form.arrow}")
        numbers.append(number)
    return Column(pa.array(numbers, number_type).view(form.arrow))
