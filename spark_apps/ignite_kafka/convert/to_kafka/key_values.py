"""Conversion of simple values from record keys back to Ignite's binary format.

Converters write these values as text or columns. A value is an int, float, :class:`~decimal.Decimal` (also for numbers
of a JSON text), str, bytes or bool; timestamps, dates and times are integers.
"""

from __future__ import annotations

import math
import re
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Any

import pyarrow as pa

from ...errors import UnknownBinaryType
from ...ignite.binary import EnumPolicy
from ...ignite.binary.decode_decimals import MAX_MAGNITUDE
from ...ignite.binary.decode_scalars import simple_name
from ...ignite.binary.encode_scalars import decimal_bytes
from ...ignite.types import type_codes as codes
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import TypeSource
from ..connect.schema import ConnectSchema, scale_of
from ..rules.json_bytes import base64_bytes

_UUID_TEXT = 36
_MOST_INTEGER = 20
_DAY_MS = 86_400_000
_MOST_UNSCALED = 2 * MAX_MAGNITUDE
"""Maximum bytes of a decimal in a record; its declared scale may make it longer than Ignite's own."""
_MOST_DIGITS = 80_000  # of so many bytes; 1E+999999999 would have a gigabyte
_INTEGER = re.compile(f"-?[0-9]{{1,{_MOST_INTEGER}}}")
_NUMBER = re.compile(rf"-?[0-9]{{1,{_MOST_DIGITS}}}(\.[0-9]{{1,{_MOST_DIGITS}}})?([eE][+-]?[0-9]{{1,9}})?")
_EXACT = Context(prec=_MOST_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation, Overflow])


@dataclass(frozen=True)
class ValueContext:
    """What decides a value's binary form: types, enum policy and scale.

    :param scale: declared scale of the field, at which unscaled bytes are written; None: each value has its own scale.
    """

    types: TypeSource
    enums: EnumPolicy
    scale: int | None = None


def value_form(value: Any, kind: KeyKind, context: ValueContext) -> bytes | None:
    """Encode a value of a record key as an Ignite key of the given kind; None if that is impossible."""
    code = kind[0]
    detail = kind[1:]
    if not detail:
        return _BY_CODE[code](value) if code in _BY_CODE else None
    match code:
        case codes.DECIMAL:
            return _decimal(value, detail[0], context.scale)
        case codes.ENUM | codes.BINARY_ENUM:
            return _enum(value, code, detail[0], context)
        case codes.TIMESTAMP if detail == (0,):
            return _pack("<Bqi", code, value, 0)
        case codes.TIME if detail == (0,) and type(value) is int and 0 <= value <= _DAY_MS:
            return _pack("<Bq", code, value)
    return None


def is_reversible(kind: KeyKind) -> bool:
    """Return whether record keys of a simple kind hold the whole value, so that Ignite's key can be rebuilt."""
    code = kind[0]
    detail = kind[1:]
    if code in (codes.TIMESTAMP, codes.TIME):
        return detail == (0,)
    if code in (codes.ENUM, codes.BINARY_ENUM):
        return len(detail) == 1 and detail != (0,)  # 0: a class that is not registered
    return len(detail) == 1 if code == codes.DECIMAL else code in codes.EXACT and not detail


def readings(value: Any) -> list[Any]:
    """Return the values that a record key may stand for: itself and, for a text, a number or boolean."""
    if type(value) is not str:
        return [value]
    values: list[Any] = [value]
    if _INTEGER.fullmatch(value):
        values.append(int(value))
    if _NUMBER.fullmatch(value):
        values.append(Decimal(value))
    return [*values, value == "true"] if value in ("true", "false") else values


def json_integer(digits: str) -> int | Decimal:
    """Parse a JSON integer as int; as Decimal if it has more digits than Ignite's integers.

    Python refuses to parse an int of more than 4,300 digits.
    """
    return int(digits) if len(digits) <= _MOST_INTEGER else Decimal(digits)


def python_values(array: pa.Array, schema: ConnectSchema) -> list[Any]:
    """Return a Connect column's values in Python types, as :func:`value_form` takes them.

    Timestamps, dates and times are integers, decimals are Decimal.
    """
    return [_with_decimals(value, schema) for value in array.cast(_plain_type(array.type)).to_pylist()]


def _with_decimals(value: Any, schema: ConnectSchema) -> Any:
    """Replace the texts of decimals by Decimal, because texts would be taken for base64."""
    if schema.fields and value is not None:
        return {field.name: _with_decimals(value[field.name], field.schema) for field in schema.fields}
    return Decimal(value) if type(value) is str and scale_of(schema) is not None else value


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    return kind


def _pack(form: str, code: int, *values: Any) -> bytes | None:
    if any(type(value) is not int for value in values):
        return None
    try:
        return struct.pack(form, code, *values)
    except struct.error:
        return None


def _integer(code: int, form: str) -> Callable[[Any], bytes | None]:
    return lambda value: _pack(f"<B{form}", code, value)


def _floating(code: int, form: str) -> Callable[[Any], bytes | None]:
    named = {"Infinity": math.inf, "-Infinity": -math.inf}

    def form_of(value: Any) -> bytes | None:
        value = named.get(value, value) if type(value) is str else value
        if not isinstance(value, (float, Decimal)) or math.isnan(value):
            return None  # the bits of the NaN are not known
        try:
            return struct.pack(f"<B{form}", code, float(value))
        except OverflowError:
            return None

    return form_of


def _bool(value: Any) -> bytes | None:
    return struct.pack("<B?", codes.BOOL, value) if type(value) is bool else None


def _string(value: Any) -> bytes | None:
    if type(value) is not str:
        return None
    try:
        data = value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return struct.pack("<Bi", codes.STRING, len(data)) + data


def _uuid(value: Any) -> bytes | None:
    if type(value) is not str or len(value) != _UUID_TEXT:
        return None
    try:
        number = uuid.UUID(value).int
    except ValueError:
        return None
    return struct.pack("<BQQ", codes.UUID, number >> 64, number & (1 << 64) - 1)


def _bytes(value: Any) -> bytes | None:
    data = base64_bytes(value) if type(value) is str else value
    return struct.pack("<Bi", codes.BYTE_ARRAY, len(data)) + data if isinstance(data, bytes) else None


def _decimal(value: Any, scale: int, declared: int | None) -> bytes | None:
    """Encode a decimal with a scale, from a number or from base64 of its unscaled bytes."""
    if type(value) is str:
        unscaled = base64_bytes(value)
        if not unscaled or len(unscaled) > _MOST_UNSCALED:
            return None
        shift = scale if declared is None else declared
        value = (
            Decimal(int.from_bytes(unscaled, "big", signed=True)).scaleb(-shift, _EXACT)
            if abs(shift) < MAX_EMAX
            else None
        )
    if type(value) is int:
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    try:
        return decimal_bytes(value.quantize(Decimal((0, (1,), -scale)), context=_EXACT))
    except (Inexact, InvalidOperation, Overflow):
        return None


def _enum(value: Any, code: int, type_id: int, context: ValueContext) -> bytes | None:
    """Encode an enum constant from its name or ordinal, as the enum policy writes it."""
    try:
        binary = context.types.binary_type(type_id)
    except UnknownBinaryType:
        return None
    prefix = {EnumPolicy.LONG_NAME: f"{simple_name(binary.name)}.", EnumPolicy.FULL_NAME: f"{binary.name}."}.get(
        context.enums, ""
    )
    by_ordinal = context.enums is EnumPolicy.ORDINAL
    written: dict[Any, int] = {
        ordinal if by_ordinal else prefix + name: ordinal for ordinal, name in binary.enum_values.items()
    }
    if type(value) is not (int if by_ordinal else str) or value not in written:
        return None
    return struct.pack("<Bii", code, type_id, written[value])


_BY_CODE: dict[int, Callable[[Any], bytes | None]] = {
    codes.BYTE: _integer(codes.BYTE, "b"),
    codes.SHORT: _integer(codes.SHORT, "h"),
    codes.INT: _integer(codes.INT, "i"),
    codes.LONG: _integer(codes.LONG, "q"),
    codes.CHAR: _integer(codes.CHAR, "H"),
    codes.DATE: _integer(codes.DATE, "q"),
    codes.FLOAT: _floating(codes.FLOAT, "f"),
    codes.DOUBLE: _floating(codes.DOUBLE, "d"),
    codes.BOOL: _bool,
    codes.STRING: _string,
    codes.UUID: _uuid,
    codes.BYTE_ARRAY: _bytes,
}

SIMPLE_KINDS: frozenset[KeyKind] = frozenset({(code,) for code in _BY_CODE} | {(codes.TIMESTAMP, 0), (codes.TIME, 0)})
"""Key kinds that can be converted back without the cluster's metadata."""
