"""Exact casts of Connect's numbers and decimals to Ignite's.

A value that its target does not hold is masked, never rounded or wrapped.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DecimalException
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.exact_decimals import exact_cast
from ..rules.exact_numbers import holds

_MOST_LONG = 2.0**63
_EXACT = Context(prec=100_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NATIVE_DIGITS = 38
_LONG_DIGITS = 19


def none_wrong(array: pa.Array) -> Mask:
    """A mask of no row."""
    return np.zeros(len(array), bool)


def numbers(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Integers or floats as another number type, and the rows whose number it does not hold.

    NaN and infinities are floats only.

    :param kind: an Arrow integer or float type.
    """
    if array.type == kind:
        return array, none_wrong(array)
    values: npt.NDArray[Any] = array.fill_null(0).to_numpy(zero_copy_only=False)
    wanted = kind.to_pandas_dtype()
    with np.errstate(invalid="ignore", over="ignore"):
        made = _truncated(values, wanted) if pa.types.is_integer(kind) else values.astype(wanted)
        wrong = ~_same(values, made)
    return pa.array(made, kind, mask=np.asarray(array.is_null()) if array.null_count else None), wrong


def _truncated(values: npt.NDArray[Any], wanted: type) -> npt.NDArray[Any]:
    """Values as integers; those beyond 64 bits, and NaN, as 0."""
    if values.dtype.kind == "f":
        values = np.where(_is_long(values), values, 0).astype(np.int64)
    return values.astype(wanted)


def _same(values: npt.NDArray[Any], made: npt.NDArray[Any]) -> Mask:
    """Whether pairs of numbers are equal; a pair of an integer and a float is compared as integers."""
    if values.dtype.kind == made.dtype.kind:
        same: Mask = (values == made) | ((values != values) & (made != made))  # NaN is no number's equal
        return same
    whole, real = (values, made) if values.dtype.kind == "i" else (made, values)
    inside = _is_long(real)
    plain = np.where(inside, real, 0)
    equal: Mask = inside & (plain.astype(np.int64) == whole) & (plain % 1 == 0)
    return equal


def _is_long(values: npt.NDArray[Any]) -> Mask:
    """Whether floats are within the range of 64 bits."""
    inside: Mask = (values >= -_MOST_LONG) & (values < _MOST_LONG)
    return inside


def decimals(array: pa.Array, kind: pa.DataType | None) -> tuple[pa.Array, Mask]:
    """Decimals, texts of decimals, or integers as decimals of another type, and the rows that have no exact form in it.

    :param kind: decimal128 of the declared scale; None: each value keeps its own scale.
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
    values = [_fitted(_decimal(value), kind) for value in array.to_pylist()]
    return pa.array(values, kind), np.array([value is None for value in values], bool) & np.asarray(array.is_valid())


def _fitted(value: Decimal | None, kind: pa.DataType) -> Decimal | None:
    """The value with the type's scale; None if it has no exact form in it."""
    if value is None or (value and value.adjusted() >= kind.precision - kind.scale):
        return None
    fitted = value.quantize(Decimal((0, (1,), -kind.scale)), context=_EXACT)
    return fitted if fitted == value else None


def _decimal(value: Decimal | str | int | None) -> Decimal | None:
    """The decimal of a text or a number; None for none."""
    if value is None:
        return None
    try:
        made = Decimal(value)
    except DecimalException:
        return None
    return made if made.is_finite() else None


def from_decimals(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Decimals as integers, or as floats that print as the same number, and the rows that have no such form.

    :param kind: an Arrow integer or float type.
    """
    values = [_number(_decimal(value), kind) for value in array.to_pylist()]
    return pa.array(values, kind), np.array([value is None for value in values], bool) & np.asarray(array.is_valid())


def _number(value: Decimal | None, kind: pa.DataType) -> int | float | None:
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
    """Integers as UTF-16 code units, and the rows outside of 0 to 65,535."""
    wide = array.cast(pa.int64())
    wrong = np.asarray(pc.invert(pc.and_(pc.greater_equal(wide, 0), pc.less_equal(wide, 0xFFFF))).fill_null(False))
    return pc.if_else(pa.array(wrong), pa.scalar(0, pa.int64()), wide).cast(pa.int32()), np.array(wrong)
