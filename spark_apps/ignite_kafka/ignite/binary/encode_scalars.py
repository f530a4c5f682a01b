"""Encoding of scalar values with their type codes; null becomes Ignite's null.

The inverse of decode_scalars.py and decode_decimals.py. Each function takes an array and its field, and returns columns
of bytes (byte_columns.py).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.time_zones import midnights
from ...errors import EncodeError
from ...java.hash_code import java_hash
from ..types import type_codes as codes
from ..types.type_table import ENUM_VALUES, mark_of, type_code, type_name_of
from .byte_columns import (
    ByteColumns,
    data_of,
    fixed_rows,
    offsets_of,
    or_nothing,
    or_null,
    sliced,
    structured,
    valid_of,
)
from .decode_scalars import NUMPY
from .optimized import SERIALIZABLE, SQL_DATE

_HYPHENS = (8, 13, 18, 23)
_UUID_PLACES = np.array([8 * half + 7 - byte for half in (0, 1) for byte in range(8)])
_NIBBLE = np.full(256, 255, np.uint8)
_NIBBLE[np.frombuffer(b"0123456789abcdef", np.uint8)] = _NIBBLE[np.frombuffer(b"0123456789ABCDEF", np.uint8)] = (
    np.arange(16)
)
# the last: checksum of its fields
_SQL_DATE_HEAD = struct.pack("<BiBih", codes.OPTIMIZED, 15, SERIALIZABLE, SQL_DATE, 0x6697)


def refuse(field: pa.Field, wrong: npt.NDArray[np.bool_], what: str) -> None:
    """Raise EncodeError for the first row flagged as wrong, if any."""
    if wrong.any():
        raise EncodeError(
            f"{what} in field {field.name}", "Nothing was guessed", field=field.name, row=int(np.flatnonzero(wrong)[0])
        )


def numbers(array: pa.Array, kind: Any) -> npt.NDArray[Any]:
    """Convert a fixed-width column to a numpy array, with 0 for null."""
    plain = array.view(pa.int64()) if pa.types.is_temporal(array.type) and array.type.bit_width == 64 else array
    values: npt.NDArray[Any] = (plain.fill_null(0) if plain.null_count else plain).to_numpy(zero_copy_only=False)
    return values.astype(kind, copy=False)


def fixed(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode values of fixed size: byte, short, int, long, float, double, Date or Time."""
    code = type_code(field)
    rows = structured(len(array), code=("u1", code), value=(NUMPY[code], numbers(array, NUMPY[code])))
    return [or_null(fixed_rows(rows), valid_of(array))]


def booleans(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode booleans as one byte each."""
    values = pc.fill_null(array, False).to_numpy(zero_copy_only=False)
    return [or_null(fixed_rows(structured(len(array), code=("u1", codes.BOOL), value=("u1", values))), valid_of(array))]


def chars(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode integers as chars (UTF-16 code units); raise EncodeError outside 0 to 65,535."""
    values = numbers(array, np.int64)
    refuse(field, (values < 0) | (values > 0xFFFF), "A number that is no UTF-16 code unit")
    return [
        or_null(fixed_rows(structured(len(array), code=("u1", codes.CHAR), value=("<u2", values))), valid_of(array))
    ]


def timestamps(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode java.sql.Timestamps: int64 milliseconds, rounded down, and int32 nanoseconds to add."""
    micros = numbers(array, np.int64)
    millis = micros // 1000
    nanos = (micros - millis * 1000) * 1000
    rows = structured(len(array), code=("u1", codes.TIMESTAMP), millis=("<i8", millis), nanos=("<i4", nanos))
    return [or_null(fixed_rows(rows), valid_of(array))]


def sql_dates(array: pa.Array, zone: str) -> ByteColumns:
    """Encode java.sql.Dates at midnight in a time zone, in the form of Java's optimized marshaller (optimized.py)."""
    head = np.frombuffer(_SQL_DATE_HEAD, f"V{len(_SQL_DATE_HEAD)}")[0]
    millis = midnights(numbers(array.view(pa.int32()), np.int32), zone)
    rows = structured(len(array), head=(head.dtype, head), millis=("<i8", millis))
    return [or_null(fixed_rows(rows), valid_of(array))]


def sql_date_bytes(millis: int) -> bytes:
    """Encode one java.sql.Date, given in milliseconds since 1970-01-01T00:00Z."""
    return _SQL_DATE_HEAD + struct.pack("<q", millis)


def strings(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode strings as UTF-8 with their length."""
    return sized(array.cast(pa.binary()), codes.STRING)


def binaries(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode byte arrays with their length."""
    return sized(array, codes.BYTE_ARRAY)


def sized(array: pa.BinaryArray, code: int) -> ByteColumns:
    """Encode values of variable size: type code, length, and the bytes, which are not copied."""
    heads = structured(len(array), code=("u1", code), length=("<i4", np.diff(offsets_of(array))))
    valid = valid_of(array)
    return [or_null(fixed_rows(heads), valid), or_nothing(array, valid)]


def uuids(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode UUIDs, given as text of 36 characters, as two little-endian longs."""
    valid = valid_of(array)
    texts = (array if valid is None else array.fill_null("0" * 8 + "-0000" * 3 + "-" + "0" * 12)).cast(pa.binary())
    refuse(field, np.diff(offsets_of(texts)) != 36, "A text that is no UUID")
    letters = data_of(texts).reshape(-1, 36)
    nibbles = _NIBBLE[np.delete(letters, _HYPHENS, axis=1)]
    refuse(field, (nibbles > 15).any(axis=1) | (letters[:, _HYPHENS] != ord("-")).any(axis=1), "A text that is no UUID")
    rows = np.empty((len(array), 17), np.uint8)
    rows[:, 0] = codes.UUID
    rows[:, 1 + _UUID_PLACES] = nibbles[:, 0::2] << 4 | nibbles[:, 1::2]
    return [or_null(fixed_rows(rows), valid)]


def decimals(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode BigDecimals: int32 scale, int32 length, magnitude.

    The magnitude has the fewest big-endian bytes whose first bit is free; that bit is the sign.
    """
    if not pa.types.is_decimal128(array.type) or array.type.scale < 0:
        return _decimals_by_row(array, field)
    plain = array.fill_null(pa.scalar(Decimal(0), array.type)) if array.null_count else array
    words = np.frombuffer(plain.buffers()[1], "<u8", 2 * len(plain), plain.offset * 16)
    low = words[0::2]
    high = words[1::2]
    negative = high >> 63 != 0
    high = np.where(negative, ~high + (low == 0), high)
    low = np.where(negative, ~low + np.uint64(1), low)
    magnitude = np.stack([high, low], axis=1).astype(">u8").view(np.uint8)
    every = np.arange(len(plain))
    is_set = magnitude != 0
    first = np.where(is_set.any(axis=1), is_set.argmax(axis=1), 15)
    first -= magnitude[every, first] >= 0x80
    magnitude[every, first] |= negative.astype(np.uint8) << 7
    length = 16 - first
    heads = structured(len(plain), code=("u1", codes.DECIMAL), scale=("<i4", array.type.scale), length=("<i4", length))
    valid = valid_of(array)
    digits = sliced(np.cumsum([0, *length]), magnitude[np.arange(16) >= first[:, None]])
    return [or_null(fixed_rows(heads), valid), or_nothing(digits, valid)]


def _decimals_by_row(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode BigDecimals one by one, where they are texts, have a negative scale, or more than 38 digits."""
    rows = []
    for row, value in enumerate(array.to_pylist()):
        try:
            number = None if value is None else Decimal(value)
        except InvalidOperation:
            number = Decimal("NaN")
        if number is not None and not number.is_finite():
            raise EncodeError(
                f"A text that is no decimal in field {field.name}", "Nothing was guessed", field=field.name, row=row
            )
        rows.append(decimal_bytes(number))
    return [pa.array(rows, pa.binary())]


def decimal_bytes(value: Decimal | None) -> bytes:
    """Encode one BigDecimal with its scale, or Ignite's null for None."""
    if value is None:
        return bytes([codes.NULL])
    sign, digits, exponent = value.as_tuple()
    unscaled = int(Decimal((0, digits, 0)))  # not by way of str: Python limits the digits of int(str)
    magnitude = bytearray(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big"))
    magnitude[0] |= 0x80 if sign and unscaled else 0
    return struct.pack("<Bii", codes.DECIMAL, -int(exponent), len(magnitude)) + magnitude


def enums(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode enum constants (int32 type id, int32 ordinal), given as names or ordinals."""
    type_id = java_hash(type_name_of(field).lower())
    ordinal_of: dict[str, int] = json.loads((field.metadata or {}).get(ENUM_VALUES, b"{}"))
    valid = valid_of(array)
    if pa.types.is_string(array.type):
        place = pc.index_in(array, pa.array(list(ordinal_of), pa.string())).fill_null(len(ordinal_of)).to_numpy()
        ordinals = np.array([*ordinal_of.values(), -1], np.int32)[place]
        wrong = place == len(ordinal_of)
    else:
        ordinals = numbers(array, np.int32)
        wrong = ~np.isin(ordinals, list(ordinal_of.values()))
    refuse(
        field,
        wrong if valid is None else wrong & valid.to_numpy(zero_copy_only=False),
        "A value that is no constant of its enum",
    )
    rows = structured(len(array), code=("u1", codes.ENUM), type_id=("<i4", type_id), ordinal=("<i4", ordinals))
    return [or_null(fixed_rows(rows), valid)]


def classes(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode java.lang.Class values like unregistered classes: type id 0, then the name."""
    names = array.cast(pa.binary())
    rows = structured(len(array), code=("u1", codes.CLASS), type_id=("<i4", 0))
    valid = valid_of(array)
    return [or_null(fixed_rows(rows), valid), *(or_nothing(piece, valid) for piece in sized(names, codes.STRING))]


def nulls(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Encode every row as Ignite's null, for a column of the null type."""
    return [fixed_rows(np.full((len(array), 1), codes.NULL, np.uint8))]


def as_they_are(array: pa.Array, field: pa.Field) -> ByteColumns:
    """Pass values through that are already encoded; null becomes Ignite's null."""
    return [or_null(array, valid_of(array))]


Encoder = Callable[[pa.Array, pa.Field], ByteColumns]
_BY_CODE: dict[int, Encoder] = {
    **dict.fromkeys(NUMPY, fixed), codes.BOOL: booleans, codes.CHAR: chars, codes.STRING: strings,
    codes.BYTE_ARRAY: binaries,
    codes.UUID: uuids, codes.TIMESTAMP: timestamps, codes.DECIMAL: decimals, codes.ENUM: enums, codes.CLASS: classes,
}  # fmt: skip


def scalar_encoder(field: pa.Field) -> Encoder:
    """Choose the encoder for a scalar field; UnsupportedType if Ignite has no type for it."""
    if pa.types.is_null(field.type):
        return nulls
    if mark_of(field) == "encoded":
        return as_they_are
    return _BY_CODE[type_code(field)]
