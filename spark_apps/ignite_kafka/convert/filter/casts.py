"""``CAST`` and ``TRY_CAST`` between simple types, as in Spark SQL's ANSI mode."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, numpy_type
from ...errors import UnsupportedType
from ...sql.syntax import Kind
from .arithmetic import TYPES, Numbers, null_number, numbers, operand_of
from .failures import Failure, either, failure, without
from .operands import REMEDY, Operand

_KINDS = {"BOOLEAN": Kind.BOOLEAN, "STRING": Kind.STRING}
_BLANK = "\x00-\x20\x7f"  # characters that Spark's trimAll removes
_INTEGER = re.compile(rf"[{_BLANK}]*([+-]?[0-9]+)[{_BLANK}]*")
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_SECOND = 1_000_000
_FIRST_DAY = -719_528  # days since 1970: first of year 0, last of year 9999
_LAST_DAY = 2_932_896


def cast(operand: Operand, target: str, count: int, *, tries: bool) -> Operand:
    """Convert the values of an operand to another Spark SQL type.

    :param target: a name of :data:`~ignite_kafka.sql.syntax.CAST_TARGETS`.
    :param tries: a value that cannot be converted becomes null instead of an error (``TRY_CAST``).
    :raises UnsupportedType: the cast is not supported, because it might differ from Spark's.
    """
    result = _null(target, count) if operand.kind is Kind.NULL else _cast(operand, target, count)
    if result is None:
        raise UnsupportedType(
            f"CAST of {operand.name} from {operand.type_name} to {target} is not supported", REMEDY, field=operand.name
        )
    own = None if tries else result.failure
    return Operand(result.kind, result.values, f"a {target}", result.width, either(operand.failure, own))


def _null(target: str, count: int) -> Operand:
    if target in TYPES:
        return null_number(TYPES[target], count)
    return Operand(_KINDS[target], pa.nulls(count, pa.bool_() if target == "BOOLEAN" else pa.string()), target)


def _cast(operand: Operand, target: str, count: int) -> Operand | None:
    """Return the converted operand with the failures of this cast only; None if the cast is not supported."""
    kind = TYPES.get(target)
    array = operand.array(count)
    if kind is None:
        return _boolean(operand, array, count) if target == "BOOLEAN" else _text(operand, array)
    if operand.kind is Kind.BOOLEAN:
        is_valid = np.asarray(array.is_valid())
        return operand_of(np.asarray(array.fill_null(False)).astype(numpy_type(kind)), is_valid, kind, target)
    if operand.kind is Kind.STRING and pa.types.is_integer(kind):
        return _parse(array, kind, target)
    if operand.kind is Kind.TIMESTAMP and target == "BIGINT":
        micros = array.cast(pa.int64())
        is_valid = np.asarray(micros.is_valid())
        return operand_of(np.asarray(micros.fill_null(0)) // _SECOND, is_valid, kind, target)
    if operand.kind in (Kind.INT, Kind.DOUBLE) and operand.width is not None:
        return _number(operand, kind, target, count)
    return None


def _number(operand: Operand, kind: pa.DataType, target: str, count: int) -> Operand:
    values, is_valid = numbers(operand, operand.width, count)
    narrowed, fits = _narrow(values, kind)
    return operand_of(narrowed, is_valid, kind, target, failure(is_valid & ~fits, f"CAST to {target} overflows"))


def _narrow(values: Numbers, kind: pa.DataType) -> tuple[Numbers, Mask]:
    """Convert numbers to another type as Java does; return also a mask of the numbers within the type's range."""
    dtype = numpy_type(kind)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return values.astype(dtype), np.ones(len(values), bool)
    limits = np.iinfo(dtype)
    if values.dtype.kind == "i":
        return values.astype(dtype), (values >= limits.min) & (values <= limits.max)
    with np.errstate(all="ignore"):
        whole = np.trunc(values.astype(np.float64))
        # 2**63 passes and becomes the highest BIGINT, as in Java
        fits = (whole >= float(limits.min)) & (whole <= float(limits.max))
        top = whole >= 2.0**63
        below_top = np.where(fits & ~top, whole, 0).astype(np.int64)
    return np.where(top, np.iinfo(np.int64).max, below_top).astype(dtype), fits


def _parse(array: pa.Array, kind: pa.DataType, target: str) -> Operand:
    """Parse texts as integers, as Spark's CAST does."""
    limits = np.iinfo(numpy_type(kind))
    texts = array.to_pylist()
    matches = [None if text is None else _INTEGER.fullmatch(text) for text in texts]
    read = [None if matched is None else _within(matched[1], limits.min, limits.max) for matched in matches]
    is_valid = np.array([number is not None for number in read], bool)
    wrong = failure(np.asarray(array.is_valid()) & ~is_valid, f"a text is no {target}")
    return operand_of(np.array([number or 0 for number in read], np.int64), is_valid, kind, target, wrong)


def _within(digits: str, least: int, most: int) -> int | None:
    sign = digits[:1] in "+-"
    whole = digits.lstrip("+-").lstrip("0")
    if len(whole) > 19:  # the longest BIGINT
        return None
    value = int((digits[0] if sign else "") + (whole or "0"))
    return value if least <= value <= most else None


def _boolean(operand: Operand, array: pa.Array, count: int) -> Operand | None:
    if operand.kind is Kind.BOOLEAN:
        return Operand(Kind.BOOLEAN, array, "")
    if operand.kind in (Kind.INT, Kind.DOUBLE) and operand.width is not None:
        values, is_valid = numbers(operand, operand.width, count)
        return Operand(Kind.BOOLEAN, pa.array(values != 0, mask=~is_valid), "")
    if operand.kind is not Kind.STRING:
        return None
    words = [
        None if text is None else re.sub(rf"\A[{_BLANK}]+|[{_BLANK}]+\Z", "", text).lower()
        for text in array.to_pylist()
    ]
    booleans = pa.array([True if word in _TRUE else False if word in _FALSE else None for word in words], pa.bool_())
    wrong = np.asarray(booleans.is_null()) & np.asarray(array.is_valid())
    return Operand(Kind.BOOLEAN, booleans, "", failure=failure(wrong, "a text is no BOOLEAN"))


def _text(operand: Operand, array: pa.Array) -> Operand | None:
    if operand.kind in (Kind.STRING, Kind.INT, Kind.BOOLEAN):
        return Operand(Kind.STRING, array.cast(pa.string()), "")
    if operand.kind is not Kind.DATE:
        return None
    kept, far = near_days(array)
    return Operand(Kind.STRING, kept.cast(pa.string()), "", failure=far)


def near_days(array: pa.Array) -> tuple[pa.Array, Failure | None]:
    """Return N dates, null outside the years 0 to 9999 that Arrow's calendar covers, and the failure of these rows."""
    days = np.asarray(array.cast(pa.int32()).fill_null(0))
    far = failure((days < _FIRST_DAY) | (days > _LAST_DAY), "a DATE is of another year than 0 to 9999")
    return without(array, far), far
