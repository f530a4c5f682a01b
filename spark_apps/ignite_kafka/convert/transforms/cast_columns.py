"""Casts of scalar columns to other types, as Kafka Connect's Cast makes them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import numpy_type
from ...java.date_format import formatted, parts_of
from ...java.numbers import narrowed, parsed_float, parsed_integer, rounded, wrapped
from ...java.text import java_text
from ..connect.schema import ConnectSchema, ConnectType, arrow_type, scale_of
from ..rules.json_bytes import bytes_to_json
from .thrown import Failures

_BITS = {ConnectType.INT8: 8, ConnectType.INT16: 16, ConnectType.INT32: 32, ConnectType.INT64: 64}
_FLOAT_BITS = {ConnectType.FLOAT32: 32, ConnectType.FLOAT64: 64}
TARGETS = (*_BITS, *_FLOAT_BITS, ConnectType.BOOLEAN, ConnectType.STRING)
"""Connect types that Cast can cast to."""
_SOURCES = (*TARGETS, ConnectType.BYTES)
_CLOCK, _DAY, _BOTH = (
    parts_of(pattern) for pattern in ("HH:mm:ss.SSS'Z'", "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
)
_DAY_MS = 86_400_000
_PLAIN_INTEGER = r"^-?[0-9]{1,18}$"
_PLAIN_FLOAT = r"^-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9])?$"


def cast_column(data: pa.Array, schema: ConnectSchema, target: ConnectType, failures: Failures) -> pa.Array:
    """Cast a column to a Connect type; nulls and failed rows become null."""
    if data.null_count == len(data):
        return pa.nulls(len(data), arrow_type(ConnectSchema(target)))
    if schema.type not in _SOURCES:
        names = ", ".join(source.name for source in _SOURCES)
        reason = f"Cast transformation does not support casting from {schema.type.name}; supported types are [{names}]"
        return _refuse(data, target, reason, failures)
    if target is ConnectType.STRING:
        return _to_text(data, schema)
    if schema.type is ConnectType.BYTES and scale_of(schema) is None:
        return _refuse(data, target, "Unexpected type in Cast transformation: class [B", failures)
    if scale_of(schema) is not None:
        return _of_decimals(data, target)
    if schema.type is ConnectType.STRING:
        return _of_texts(data, target, failures)
    return _of_numbers(data, target)


def _refuse(data: pa.Array, target: ConnectType, reason: str, failures: Failures) -> pa.Array:
    failures.add(data.is_valid(), reason)
    return pa.nulls(len(data), arrow_type(ConnectSchema(target)))


def _to_text(data: pa.Array, schema: ConnectSchema) -> pa.StringArray:
    if pa.types.is_binary(data.type):
        return bytes_to_json(data).cast(pa.string())
    if pa.types.is_temporal(data.type):
        return _moments(data)
    return java_text(data)


def _moments(data: pa.Array) -> pa.StringArray:
    """Return dates, times or timestamps as text, in the form that Connect's ``Values.dateFormatFor`` chooses.

    That is only the time on 1970-01-01 and before, only the date at midnight, and otherwise both.
    """
    numbers = data.view(pa.int64() if data.type.bit_width == 64 else pa.int32())
    times = np.asarray(numbers.fill_null(0)).astype(np.int64)
    times = times * _DAY_MS if pa.types.is_date32(data.type) else times
    clock, day, both = (formatted(times, pattern) for pattern in (_CLOCK, _DAY, _BOTH))
    text = pc.if_else(times < _DAY_MS, clock, pc.if_else(times % _DAY_MS == 0, day, both))
    return pc.if_else(data.is_valid(), text, None)


def _of_numbers(data: pa.Array, target: ConnectType) -> pa.Array:
    """Cast numbers, booleans, dates or times to numbers or booleans."""
    if pa.types.is_temporal(data.type):
        data = data.view(pa.int64() if data.type.bit_width == 64 else pa.int32())
    nulls = np.asarray(data.is_null())
    if pa.types.is_boolean(data.type):
        numbers = np.asarray(pc.fill_null(data, False)).astype(np.int8)
    else:
        numbers = np.asarray(pc.fill_null(data, 0))
    kind = arrow_type(ConnectSchema(target))
    if target is ConnectType.BOOLEAN:
        values = narrowed(numbers, np.dtype(np.int64)) != 0
    elif target in _BITS:
        values = narrowed(numbers, numpy_type(kind))
    else:
        with np.errstate(over="ignore"):
            values = numbers.astype(numpy_type(kind))
    return pa.array(values, kind, mask=nulls)


def _of_decimals(data: pa.Array, target: ConnectType) -> pa.Array:
    """Cast decimals to numbers or booleans, one by one, because such casts are rare."""

    def change(value: Decimal) -> Any:
        if target in _FLOAT_BITS:
            return rounded(Fraction(value), _FLOAT_BITS[target])
        if target is ConnectType.BOOLEAN:
            return wrapped(int(value), 64) != 0
        bits = _BITS[target]
        return wrapped(int(value), bits)

    values = [None if value is None else change(Decimal(value)) for value in data.to_pylist()]
    return pa.array(values, arrow_type(ConnectSchema(target)))


def _of_texts(data: pa.StringArray, target: ConnectType, failures: Failures) -> pa.Array:
    if target is ConnectType.BOOLEAN:
        return pc.equal(pc.ascii_lower(data), "true")
    bits = _BITS.get(target) or _FLOAT_BITS[target]
    plain = pc.match_substring_regex(data, _PLAIN_INTEGER if target in _BITS else _PLAIN_FLOAT)
    result, wrong = _plain_numbers(pc.if_else(plain, data, None), target)
    read: Callable[[str, int], float | None] = parsed_integer if target in _BITS else parsed_float
    rest = np.flatnonzero(np.asarray(pc.fill_null(pc.invert(plain), False)) | wrong)
    if not rest.size:
        return result
    parsed = [read(text, bits) for text in data.take(pa.array(rest)).to_pylist()]
    mask = np.zeros(len(data), bool)
    mask[rest] = True
    result = pc.replace_with_mask(result, pa.array(mask), pa.array(parsed, result.type))
    mask[rest] = [number is None for number in parsed]
    failures.add(mask, lambda row: f"Value ({data[row].as_py()}) was out of range for requested data type")
    return result


def _plain_numbers(texts: pa.StringArray, target: ConnectType) -> tuple[pa.Array, Any]:
    """Parse plain texts as numbers, null beyond the type's range; return also a mask of these nulls."""
    kind = arrow_type(ConnectSchema(target))
    if target in _FLOAT_BITS:
        return texts.cast(kind), np.zeros(len(texts), bool)
    wide = texts.cast(pa.int64())
    limits = np.iinfo(numpy_type(kind))
    inside = pc.and_(pc.greater_equal(wide, limits.min), pc.less_equal(wide, limits.max))
    return pc.if_else(inside, wide, None).cast(kind), np.asarray(pc.fill_null(pc.invert(inside), False))
