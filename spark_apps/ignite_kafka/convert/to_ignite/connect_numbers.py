"""Exact casts of Connect's numbers and decimals to Ignite's number types; other values are marked as wrong.

A value that the Ignite type cannot hold is masked, never rounded or wrapped.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DecimalException
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, numpy_type
from ...common.exact_decimals import exact_cast
from ..rules.exact_numbers import holds

_MOST_LONG = 2.0**63
_EXACT = Context(prec=100_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NATIVE_DIGITS = 38
_LONG_DIGITS = 19


def none_wrong(array: pa.Array) -> Mask:
    """Return an all-false mask, for casts without wrong values."""
    return np.zeros(len(array), bool)


def numbers(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Cast integers or floats to another number type; return also a mask of the inexact results.

    NaN and infinities are exact only as floats.

    :param kind: an Arrow integer or float type.
    """
    if array.type == kind:
        return array, none_wrong(array)
    values: npt.NDArray[Any] = array.fill_null(0).to_numpy(zero_copy_only=False)
    dtype = numpy_type(kind).type
    with np.errstate(invalid="ignore", over="ignore"):
        converted = _truncate(values, dtype) if pa.types.is_integer(kind) else values.astype(dtype)
        wrong = ~_are_equal(values, converted)
    return pa.array(converted, kind, mask=np.asarray(array.is_null()) if array.null_count else None), wrong


def _truncate(values: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
    """Truncate numbers to integers; NaN and numbers beyond 64 bits become 0."""
    if values.dtype.kind == "f":
        values = np.where(_is_long(values), values, 0).astype(np.int64)
    return values.astype(dtype)


def _are_equal(values: npt.NDArray[Any], converted: npt.NDArray[Any]) -> Mask:
    """Return a mask of the numbers that are unchanged by a cast, integers compared with floats exactly."""
    if values.dtype.kind == converted.dtype.kind:
        same: Mask = (values == converted) | ((values != values) & (converted != converted))  # NaN != NaN in numpy
        return same
    whole, real = (values, converted) if values.dtype.kind == "i" else (converted, values)
    inside = _is_long(real)
    plain = np.where(inside, real, 0)
    equal: Mask = inside & (plain.astype(np.int64) == whole) & (plain % 1 == 0)
    return equal


def _is_long(values: npt.NDArray[Any]) -> Mask:
    """Return a mask of the floats within the range of 64-bit integers."""
    inside: Mask = (values >= -_MOST_LONG) & (values < _MOST_LONG)
    return inside


def decimals(array: pa.Array, kind: pa.DataType | None) -> tuple[pa.Array, Mask]:
    """Cast decimals to another decimal type; return also a mask of the inexact results.

    :param array: decimals, texts of decimals, or integers.
    :param kind: decimal128 with the declared scale; None: each value keeps its own scale.
    """
    if kind is None:
        if pa.types.is_integer(array.type):
            return array.cast(pa.decimal128(_LONG_DIGITS, 0)), none_wrong(array)
        return (array.cast(pa.string()) if pa.types.is_decimal256(array.type) else array), none_wrong(array)
    if array.type == kind:
        return array, none_wrong(array)
    if not pa.types.is_string(array.type):
        try:
            return exact_cast(array, kind), none_wrong(array)
        except pa.ArrowInvalid:
            pass
    values = [_fit_scale(_parse_decimal(value), kind) for value in array.to_pylist()]
    return pa.array(values, kind), np.array([value is None for value in values], bool) & np.asarray(array.is_valid())


def _fit_scale(value: Decimal | None, kind: pa.DataType) -> Decimal | None:
    """Return a decimal at the type's scale; None if it is not exact there."""
    if value is None or (value and value.adjusted() >= kind.precision - kind.scale):
        return None
    fitted = value.quantize(Decimal((0, (1,), -kind.scale)), context=_EXACT)
    return fitted if fitted == value else None


def _parse_decimal(value: Decimal | str | int | None) -> Decimal | None:
    """Return a finite decimal of a text or number; None if it is not one."""
    if value is None:
        return None
    try:
        decimal = Decimal(value)
    except DecimalException:
        return None
    return decimal if decimal.is_finite() else None


def from_decimals(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Cast decimals to integers or floats; return also a mask of the inexact results.

    :param kind: an Arrow integer or float type.
    """
    values = [_convert_decimal(_parse_decimal(value), kind) for value in array.to_pylist()]
    return pa.array(values, kind), np.array([value is None for value in values], bool) & np.asarray(array.is_valid())


def _convert_decimal(value: Decimal | None, kind: pa.DataType) -> int | float | None:
    if value is None:
        return None
    if pa.types.is_integer(kind):
        if value.adjusted() > _LONG_DIGITS or value != value.to_integral_value():
            return None
        number = int(value)
        most = 1 << (kind.bit_width - 1)
        return number if -most <= number < most else None
    real = float(value)
    if kind == pa.float32():
        with np.errstate(over="ignore"):
            real = float(np.float32(real))
        return real if real == value else None
    return real if np.isfinite(real) and holds(str(value), real) else None


def chars(array: pa.Array) -> tuple[pa.Array, Mask]:
    """Cast integers to UTF-16 code units; return also a mask of the integers outside 0 to 65,535."""
    wide = array.cast(pa.int64())
    wrong = np.asarray(pc.invert(pc.and_(pc.greater_equal(wide, 0), pc.less_equal(wide, 0xFFFF))).fill_null(False))
    return pc.if_else(pa.array(wrong), pa.scalar(0, pa.int64()), wide).cast(pa.int32()), np.array(wrong)
