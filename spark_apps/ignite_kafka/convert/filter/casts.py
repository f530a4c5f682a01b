"""``CAST`` and ``TRY_CAST`` between simple types, as in Spark SQL's ANSI mode."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask
from ...errors import UnsupportedType
from ...sql.syntax import Kind
from .arithmetic import TYPES, Numbers, null_number, numbers, operand_of
from .failures import Failure, either, failure, without
from .operands import REMEDY, Operand

_KINDS = {"BOOLEAN": Kind.BOOLEAN, "STRING": Kind.STRING}
_BLANK = "\x00-\x20\x7f"  # removed by Spark's trimAll
_INTEGER = re.compile(rf"[{_BLANK}]*([+-]?[0-9]+)[{_BLANK}]*")
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_SECOND = 1_000_000
_FIRST_DAY = -719_528  # days since 1970: first of year 0, last of year 9999
_LAST_DAY = 2_932_896


def cast(one: Operand, target: str, count: int, *, tries: bool) -> Operand:
    """N values converted to another type.

    :param target: a name of :data:`~ignite_kafka.sql.syntax.CAST_TARGETS`.
    :param tries: this cast gives null instead of an error (``TRY_CAST``).
    :raises UnsupportedType: the cast is not known to give Spark's results.
    """
    found = _null(target, count) if one.kind is Kind.NULL else _cast(one, target, count)
    if found is None:
        raise UnsupportedType(
            f"CAST of {one.name} from {one.type_name} to {target} is not supported", REMEDY, field=one.name
        )
    own = None if tries else found.failure
    return Operand(found.kind, found.values, f"a {target}", found.width, either(one.failure, own))


def _null(target: str, count: int) -> Operand:
    if target in TYPES:
        return null_number(TYPES[target], count)
    return Operand(_KINDS[target], pa.nulls(count, pa.bool_() if target == "BOOLEAN" else pa.string()), target)


def _cast(one: Operand, target: str, count: int) -> Operand | None:
    """The operand with only the failures of this cast; None if the cast is not supported."""
    kind = TYPES.get(target)
    array = one.array(count)
    if kind is None:
        return _boolean(one, array, count) if target == "BOOLEAN" else _text(one, array)
    if one.kind is Kind.BOOLEAN:
        there = np.asarray(array.is_valid())
        return operand_of(np.asarray(array.fill_null(False)).astype(kind.to_pandas_dtype()), there, kind, target)
    if one.kind is Kind.STRING and pa.types.is_integer(kind):
        return _parsed(array, kind, target)
    if one.kind is Kind.TIMESTAMP and target == "BIGINT":
        micros = array.cast(pa.int64())
        there = np.asarray(micros.is_valid())
        return operand_of(np.asarray(micros.fill_null(0)) // _SECOND, there, kind, target)
    if one.kind in (Kind.INT, Kind.DOUBLE) and one.width is not None:
        return _number(one, kind, target, count)
    return None


def _number(one: Operand, kind: pa.DataType, target: str, count: int) -> Operand:
    values, there = numbers(one, one.width, count)
    made, fits = _narrowed(values, kind)
    return operand_of(made, there, kind, target, failure(there & ~fits, f"CAST to {target} overflows"))


def _narrowed(values: Numbers, kind: pa.DataType) -> tuple[Numbers, Mask]:
    """Numbers converted to another type as in Java, and a mask of those that fit."""
    wanted = np.dtype(kind.to_pandas_dtype())
    if wanted.kind == "f":
        with np.errstate(all="ignore"):
            return values.astype(wanted), np.ones(len(values), bool)
    limits = np.iinfo(wanted)
    if values.dtype.kind == "i":
        return values.astype(wanted), (values >= limits.min) & (values <= limits.max)
    with np.errstate(all="ignore"):
        whole = np.trunc(values.astype(np.float64))
        # 2**63 passes and becomes the highest BIGINT, as in Java
        fits = (whole >= float(limits.min)) & (whole <= float(limits.max))
        top = whole >= 2.0**63
        made = np.where(fits & ~top, whole, 0).astype(np.int64)
    return np.where(top, np.iinfo(np.int64).max, made).astype(wanted), fits


def _parsed(array: pa.Array, kind: pa.DataType, target: str) -> Operand:
    """Whole numbers parsed from texts."""
    limits = np.iinfo(kind.to_pandas_dtype())
    texts = array.to_pylist()
    found = [None if text is None else _INTEGER.fullmatch(text) for text in texts]
    read = [None if one is None else _within(one[1], limits.min, limits.max) for one in found]
    there = np.array([one is not None for one in read], bool)
    wrong = failure(np.asarray(array.is_valid()) & ~there, f"a text is no {target}")
    return operand_of(np.array([one or 0 for one in read], np.int64), there, kind, target, wrong)


def _within(digits: str, least: int, most: int) -> int | None:
    sign = digits[:1] in "+-"
    whole = digits.lstrip("+-").lstrip("0")
    if len(whole) > 19:  # the longest BIGINT
        return None
    value = int((digits[0] if sign else "") + (whole or "0"))
    return value if least <= value <= most else None


def _boolean(one: Operand, array: pa.Array, count: int) -> Operand | None:
    if one.kind is Kind.BOOLEAN:
        return Operand(Kind.BOOLEAN, array, "")
    if one.kind in (Kind.INT, Kind.DOUBLE) and one.width is not None:
        values, there = numbers(one, one.width, count)
        return Operand(Kind.BOOLEAN, pa.array(values != 0, mask=~there), "")
    if one.kind is not Kind.STRING:
        return None
    words = [
        None if text is None else re.sub(rf"\A[{_BLANK}]+|[{_BLANK}]+\Z", "", text).lower()
        for text in array.to_pylist()
    ]
    made = pa.array([True if word in _TRUE else False if word in _FALSE else None for word in words], pa.bool_())
    wrong = np.asarray(made.is_null()) & np.asarray(array.is_valid())
    return Operand(Kind.BOOLEAN, made, "", failure=failure(wrong, "a text is no BOOLEAN"))


def _text(one: Operand, array: pa.Array) -> Operand | None:
    if one.kind in (Kind.STRING, Kind.INT, Kind.BOOLEAN):
        return Operand(Kind.STRING, array.cast(pa.string()), "")
    if one.kind is not Kind.DATE:
        return None
    kept, far = near_days(array)
    return Operand(Kind.STRING, kept.cast(pa.string()), "", failure=far)


def near_days(array: pa.Array) -> tuple[pa.Array, Failure | None]:
    """N dates; those outside the years 0 to 9999, which Arrow's calendar does not cover, become null and a failure."""
    days = np.asarray(array.cast(pa.int32()).fill_null(0))
    far = failure((days < _FIRST_DAY) | (days > _LAST_DAY), "a DATE is of another year than 0 to 9999")
    return without(array, far), far
