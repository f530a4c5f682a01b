"""Values as text that is the same for the Java writer (TypeText.text), the row path and, from Arrow, the columnar path."""

from __future__ import annotations

import re
import struct
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ignite_kafka.ignite.binary.decode_scalars import simple_name
from ignite_kafka.ignite.binary.row_values import (
    ClassName,
    Date,
    Document,
    EnumValue,
    Instant,
    LocalDate,
    LocalDateTime,
    LocalTime,
    MapValue,
    SqlDate,
    Time,
    Timestamp,
)
from ignite_kafka.ignite.types.type_table import mark_of

_DAY = 86_400


def of_java(line: str) -> str:
    """Java's text with what the two Python paths cannot tell apart made equal: int widths, and float as double."""
    line = re.sub(r"\b(byte|short|long|char):", "int:", line)
    return re.sub(r"\bfloat:([0-9a-f]+)", lambda found: _double(struct.unpack(">f", int(found[1], 16).to_bytes(4, "big"))[0]), line)


def of_row(value: Any) -> str:
    """Text of a value of the row path."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"bool:{str(value).lower()}"
    if isinstance(value, list):
        return "[" + ",".join(map(of_row, value)) + "]"
    if isinstance(value, MapValue):
        return "{" + ",".join(f"{of_row(key)}={of_row(item)}" for key, item in value.items) + "}"
    if isinstance(value, Document):
        fields = ",".join(f"{name}={of_row(value.fields[name])}" for name in sorted(value.fields))
        return f"{simple_name(value.type_name)}({fields})"
    return _SCALARS[type(value)](value)


def _double(value: float) -> str:
    bits = 0x7FF8000000000000 if value != value else struct.unpack(">Q", struct.pack(">d", value))[0]
    return f"double:{bits:x}"


def _decimal(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return f"dec:{unscaled}:{-int(exponent)}"


def _date(value: LocalDate) -> str:
    sign = "-" if value.year < 0 else ""
    return f"{sign}{abs(value.year):04d}-{value.month:02d}-{value.day:02d}"


def _time(nanos: int) -> str:
    """LocalTime.toString: seconds and fraction only where they are not zero, the fraction in groups of three digits."""
    seconds, fraction = divmod(nanos, 1_000_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 or fraction:
        text += f":{seconds % 60:02d}"
    if fraction:
        digits = f"{fraction:09d}"
        text += "." + (digits[:3] if digits[3:] == "000000" else digits[:6] if digits[6:] == "000" else digits)
    return text


def _civil(days: int) -> LocalDate:
    return next(
        date
        for year in range(1970 + days // 366 - 2, 1970 + days // 365 + 3)
        for date in [LocalDate(year, 1, 1)]
        if date.epoch_day <= days < LocalDate(year + 1, 1, 1).epoch_day
        for date in [_in_year(year, days - date.epoch_day)]
    )


def _in_year(year: int, day: int) -> LocalDate:
    begin = LocalDate(year, 1, 1).epoch_day
    first = [date for date in (LocalDate(year, month, 1) for month in range(1, 13)) if date.epoch_day <= begin + day][-1]
    return LocalDate(year, first.month, begin + day - first.epoch_day + 1)


def _instant(seconds: int, nanos: int) -> str:
    days, rest = divmod(seconds, _DAY)
    clock = _time(rest * 1_000_000_000 + nanos)
    return f"{_date(_civil(days))}T{clock if clock.count(':') == 2 else clock + ':00'}Z"


_SCALARS: dict[type, Any] = {
    int: lambda value: f"int:{value}",
    float: _double,
    str: lambda value: f"str:{value.encode().hex()}",
    bytes: lambda value: f"bytes:{value.hex()}",
    uuid.UUID: lambda value: f"uuid:{value}",
    Decimal: _decimal,
    Date: lambda value: f"date:{value.millis}",
    Timestamp: lambda value: f"ts:{value.seconds}:{value.nanos}",
    Time: lambda value: f"time:{value.millis}",
    SqlDate: lambda value: f"sqldate:{_date(_civil(value.millis // (_DAY * 1000)))}",
    LocalDate: lambda value: f"LocalDate:{_date(value)}",
    LocalTime: lambda value: f"LocalTime:{_time(value.nanos)}",
    LocalDateTime: lambda value: f"LocalDateTime:{_date(value.date)}T{_time(value.time.nanos)}",
    Instant: lambda value: f"Instant:{_instant(value.seconds, value.nanos)}",
    EnumValue: lambda value: f"enum:{value.name}",
    ClassName: lambda value: f"class:{value.name}",
}


def column_form(value: Any) -> Any:
    """A value of the row path as columns hold it: times as numbers (us, ms, days), names as text, objects as dicts."""
    if isinstance(value, list):
        return [column_form(item) for item in value]
    if isinstance(value, MapValue):
        return [(column_form(key), column_form(item)) for key, item in value.items]
    if isinstance(value, Document):
        return {name: column_form(item) for name, item in value.fields.items()}
    form = _COLUMN_FORMS.get(type(value))
    return form(value) if form else value


_COLUMN_FORMS: dict[type, Any] = {
    float: _double,
    uuid.UUID: str,
    Decimal: str,
    Date: lambda value: value.millis,
    Time: lambda value: value.millis,
    Timestamp: lambda value: value.seconds * 1_000_000 + value.nanos // 1000,
    SqlDate: lambda value: value.millis // (_DAY * 1000),
    LocalDate: lambda value: value.epoch_day,
    LocalTime: lambda value: value.nanos // 1000,
    LocalDateTime: lambda value: value.date.epoch_day * _DAY * 1_000_000 + value.time.nanos // 1000,
    Instant: lambda value: value.seconds * 1_000_000 + value.nanos // 1000,
    EnumValue: lambda value: value.name,
    ClassName: lambda value: value.name,
}


def of_column(array: pa.Array, mark: str | None = None) -> list[Any]:
    """Values of an Arrow array in the form that :func:`column_form` gives."""
    kind = array.type
    if pa.types.is_struct(kind):
        columns = [of_column(array.field(index), mark_of(field)) for index, field in enumerate(kind)]
        names = [field.name for field in kind]
        valid = array.is_valid().to_pylist()
        return [
            {name: column[row] for name, column in zip(names, columns, strict=True)} if there else None for row, there in enumerate(valid)
        ]
    if pa.types.is_union(kind):
        children = [of_column(array.field(index), mark_of(kind.field(index))) for index in range(kind.num_fields)]
        return [children[code][at] for code, at in zip(array.type_codes.to_pylist(), array.offsets.to_pylist(), strict=True)]
    if pa.types.is_map(kind):
        pairs = list(zip(of_column(array.keys, mark_of(kind.key_field)), of_column(array.items, mark_of(kind.item_field)), strict=True))
        return _sliced(array, pairs)
    if pa.types.is_list(kind):
        return _sliced(array, of_column(array.values, mark_of(kind.value_field)))
    if pa.types.is_temporal(kind):
        return array.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()).to_pylist()
    if pa.types.is_floating(kind):
        return [None if value is None else _double(value) for value in array.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if value is None else str(value) for value in array.to_pylist()]
    return array.to_pylist()


def _sliced(array: pa.Array, flat: list[Any]) -> list[Any]:
    offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [flat[offsets[row] : offsets[row + 1]] if there else None for row, there in enumerate(valid)]
