"""Writer of single Python values as JSON, an independent check of :mod:`.write_columns`.

Both have only the declared scales in common.

The JSON forms are the forms of Kafka's JsonConverter with ``schemas.enable=false``, and of the type table in
docs/types.md.
"""

from __future__ import annotations

import base64
import math
import re
import uuid
from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from itertools import islice
from typing import Any

from ...errors import UnsupportedType
from ...ignite.binary.row_values import (
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
from ..rules.decimal_scales import Path

_DAY_MS = 86_400_000
_EXACT = Context(prec=100_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])


def json_value(
    value: Any,
    decimal_format: str = "BASE64",
    enum_policy: str = "SHORT_NAME",
    scales: Mapping[Path, int] | None = None,
    path: Path = (),
    *,
    is_key: bool = False,
    omit_nulls: bool = False,
) -> Any:
    """Return what `json.loads` of a value's record must return, to verify records.

    :param scales: declared scales of decimals, by the path of their fields.
    :param is_key: objects have only the fields of their own schemas; in a value they also have all other fields of
        their types, as null.
    :param omit_nulls: leave out null fields of objects.
    :raises UnsupportedType: JSON has no form for the value.
    """

    def form(item: Any, *names: str, item_scales: Mapping[Path, int] | None = scales) -> Any:
        return json_value(
            item, decimal_format, enum_policy, item_scales, (*path, *names), is_key=is_key, omit_nulls=omit_nulls
        )

    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return _number(value)
        case Decimal():
            return _decimal(value, decimal_format, (scales or {}).get(path))
        case EnumValue():
            return _constant(value, enum_policy)
        case list() | tuple():
            return [form(item) for item in value]
        case Document():
            shown = islice(value.fields.items(), value.own if is_key else None)
            return {name: form(item, name.lower()) for name, item in shown if not (omit_nulls and item is None)}
        case MapValue():
            if all(isinstance(key, str) for key, _ in value.items):
                return {key: form(item, item_scales=None) for key, item in value.items}
            return [[form(key, item_scales=None), form(item, item_scales=None)] for key, item in value.items]
    return _scalar(value)


def _scalar(value: Any) -> str | int:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case uuid.UUID():
            return str(value)
        case Date() | SqlDate() | Time() | Timestamp() | Instant() | LocalDate() | LocalTime() | LocalDateTime():
            return _moment(value)
        case ClassName():
            return value.name
    raise UnsupportedType(
        f"JSON has no form for a {type(value).__name__}", "Verify this cache with the ignite-binary converter."
    )


def same_json(expected: Any, actual: Any) -> bool:
    """Return whether a record's parsed JSON equals the expected value, with the same order of fields.

    A float32 may be written in its shortest form.
    """
    if isinstance(actual, Decimal) and isinstance(expected, float):
        actual = float(actual)
    if isinstance(expected, Decimal) and type(actual) is int:
        actual = Decimal(actual)
    if isinstance(expected, float) and isinstance(actual, (int, float)) and not isinstance(actual, bool):
        return expected == actual or _float32(actual) == expected
    if isinstance(expected, dict) and isinstance(actual, dict):
        return list(expected) == list(actual) and all(same_json(item, actual[name]) for name, item in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(same_json, expected, actual))
    return type(expected) is type(actual) and bool(expected == actual)


def _float32(value: float) -> float:
    import struct

    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.inf


def _number(value: float) -> Any:
    return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")


def _constant(value: EnumValue, policy: str) -> int | str:
    match policy:
        case "ORDINAL":
            return value.ordinal
        case "SHORT_NAME":
            return value.name
        case "LONG_NAME":
            return f"{re.split('[.$]', value.type_name)[-1]}.{value.name}"
        case "FULL_NAME":
            return f"{value.type_name}.{value.name}"
    raise ValueError(f"enum_policy {policy!r} is not known")


def _decimal(value: Decimal, decimal_format: str, scale: int | None) -> Any:
    if decimal_format == "NUMERIC":
        return value
    if scale is not None:
        try:
            value = value.quantize(Decimal((0, (1,), -scale)), context=_EXACT)
        except (Inexact, InvalidOperation):
            raise UnsupportedType(
                f"a decimal has no exact form at the declared scale {scale}", "Correct the entry."
            ) from None
    # Connect's Decimal has only the unscaled value, whatever the scale is
    sign, digits, _ = value.as_tuple()
    unscaled = int(Decimal((sign, digits, 0)))  # not through str: Python limits the digits of int(str)
    size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def _moment(value: Date | SqlDate | Time | Timestamp | Instant | LocalDate | LocalTime | LocalDateTime) -> int:
    match value:
        case Date():
            return value.millis
        case Time():
            return value.millis if 0 <= value.millis <= _DAY_MS else value.millis % _DAY_MS
        case SqlDate():
            return value.millis // _DAY_MS
        case Timestamp() | Instant():
            return value.seconds * 1000 + value.nanos // 1_000_000
        case LocalDate():
            return value.epoch_day
        case LocalTime():
            return value.nanos // 1_000_000
        case LocalDateTime():
            return value.date.epoch_day * _DAY_MS + value.time.nanos // 1_000_000
