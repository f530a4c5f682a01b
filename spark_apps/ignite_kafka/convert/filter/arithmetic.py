"""Arithmetic of integers and floats as in Spark SQL's default ANSI mode, where an overflow is an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrays import Mask, numpy_type
from ...errors import UnsupportedType
from ...sql.syntax import Kind
from .failures import Failure, either, failure, within
from .operands import REMEDY, Operand

Numbers = npt.NDArray[Any]
TYPES = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(), "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
}  # fmt: skip
"""Arrow types of numbers by their names in Spark SQL."""
_NAMES = {kind: name for name, kind in TYPES.items()}
_SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}


def calculated(operator: str, left: Operand, right: Operand, count: int) -> Operand:
    """Calculate ``left operator right`` in N rows; null where an operand is null.

    :param operator: ``+``, ``-``, ``*``, ``/`` or ``%``.
    :raises UnsupportedType: an operand is not a whole number or float, or both are NULL.
    """
    for operand in (left, right):
        check_number(operand, f"operator {operator}")
    kind = result_type(operator, left, right)
    left, right = (
        replace(null_number(kind, count), void=operand.void) if operand.kind is Kind.NULL else operand
        for operand in (left, right)
    )
    (a, a_valid), (b, b_valid) = numbers(left, kind, count), numbers(right, kind, count)
    is_valid = a_valid & b_valid
    zero = None
    if operator in "/%":  # Spark evaluates the divisor first
        zero = failure(is_valid & (b == 0), "division by zero")
        skipped = either(right.failure, within(left.failure, b_valid))
        b = np.where(b == 0, b.dtype.type(1), b)
    else:
        skipped = either(left.failure, within(right.failure, a_valid))
    with np.errstate(all="ignore"):
        values, beyond = _whole(operator, a, b) if a.dtype.kind == "i" else (_SIGNS[operator](a, b), None)
    overflow = None if beyond is None else failure(is_valid & beyond, f"operator {operator} overflows {_NAMES[kind]}")
    result = operand_of(values, is_valid, kind, operator, either(zero, overflow))
    return replace(result, failure=None if left.void or right.void else either(skipped, result.failure))


def negated(operand: Operand, count: int) -> Operand:
    """Negate a number in N rows.

    :raises UnsupportedType: the operand is not a whole number or float.
    """
    check_number(operand, "operator -")
    return _calculate(operand, count, "-", np.negative)


def absolute(operand: Operand, count: int) -> Operand:
    """Return the absolute values of a number in N rows; raise the errors of :func:`negated`."""
    check_number(operand, "function abs")
    return _calculate(operand, count, "abs", np.abs)


def _calculate(operand: Operand, count: int, name: str, function: Any) -> Operand:
    kind = operand.width
    if kind is None:
        raise _untyped(name)
    values, is_valid = numbers(operand, kind, count)
    overflow = None
    if values.dtype.kind == "i":
        overflow = failure(is_valid & (values == np.iinfo(values.dtype).min), f"{name} overflows {_NAMES[kind]}")
    with np.errstate(all="ignore"):
        result_values = function(values)
    result = operand_of(result_values, is_valid, kind, name, overflow)
    return replace(result, failure=either(operand.failure, overflow))


def check_number(operand: Operand, what: str) -> None:
    """Raise UnsupportedType unless an operand is an integer, a float or NULL."""
    if operand.kind is Kind.NULL or (operand.kind in (Kind.INT, Kind.DOUBLE) and operand.width is not None):
        return
    advice = " Write constants with D, such as 1.5D." if operand.kind is Kind.DECIMAL else ""
    raise UnsupportedType(
        f"{what} has {operand.name} of type {operand.type_name}, and a whole number or a float is due",
        REMEDY + advice,
        field=operand.name,
    )


def result_type(operator: str, left: Operand, right: Operand) -> pa.DataType:
    """Return the type in which Spark calculates two operands, and so the result's type.

    It raises UnsupportedType if both operands are NULL.
    """
    kinds = [operand.width for operand in (left, right) if operand.width is not None]
    if not kinds:
        raise _untyped(f"operator {operator}")
    whole = {pa.types.is_integer(kind) for kind in kinds}
    if operator == "/" or len(whole) > 1:  # also for a whole number and a FLOAT
        return pa.float64()
    return max(kinds, key=lambda kind: kind.bit_width)


def _untyped(what: str) -> UnsupportedType:
    return UnsupportedType(f"{what} has NULL alone, whose type Spark chooses", REMEDY)


def null_number(kind: pa.DataType, count: int) -> Operand:
    """Return an operand of N nulls with a number type."""
    return operand_of(np.zeros(count, numpy_type(kind)), np.zeros(count, bool), kind, "NULL")


def numbers(operand: Operand, kind: pa.DataType, count: int) -> tuple[Numbers, Mask]:
    """Return an operand's N numbers in the given type, 0 for null, and a mask of the numbers that are not null."""
    array = operand.array(count)
    is_valid: Mask = np.asarray(array.is_valid())
    filled = np.asarray(array.fill_null(0) if array.null_count else array)
    with np.errstate(all="ignore"):
        return filled.astype(numpy_type(kind)), is_valid


def operand_of(values: Numbers, is_valid: Mask, kind: pa.DataType, name: str, failed: Failure | None = None) -> Operand:
    """Return an operand of N numbers; null where `is_valid` is false or the calculation failed."""
    whole = pa.types.is_integer(kind)
    wide = values.astype(np.int64 if whole else np.float64)
    is_valid = is_valid if failed is None else is_valid & ~failed.rows
    return Operand(Kind.INT if whole else Kind.DOUBLE, pa.array(wide, mask=~is_valid), name, kind, failed)


def _whole(operator: str, a: Numbers, b: Numbers) -> tuple[Numbers, Mask | None]:
    """Calculate with integers of one type; return the results and a mask of overflows, None if impossible."""
    if operator == "%":
        return np.where(b == -1, a.dtype.type(0), np.fmod(a, np.where(b == -1, b.dtype.type(1), b))), None
    if a.dtype != np.int64:
        limits = np.iinfo(a.dtype)
        exact = _SIGNS[operator](a.astype(np.int64), b.astype(np.int64))
        return exact.astype(a.dtype), (exact < limits.min) | (exact > limits.max)
    result = _SIGNS[operator](a, b)
    if operator == "+":
        return result, ((a ^ result) & (b ^ result)) < 0
    if operator == "-":
        return result, ((a ^ b) & (a ^ result)) < 0
    least = np.iinfo(np.int64).min
    divisor = np.where((a == 0) | (a == -1), 1, a)
    return result, np.where(a == -1, b == least, (a != 0) & ((result // divisor != b) | (result % divisor != 0)))
