"""Functions that conditions can call, as in Spark SQL, by their names in :data:`~ignite_kafka.sql.syntax.FUNCTIONS`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...errors import UnsupportedType
from ...sql.syntax import Kind
from .arithmetic import Numbers, absolute, null_number, numbers, operand_of
from .casts import near_days
from .failures import either, failure, within, without
from .operands import REMEDY, Operand

_CASED_LATER = frozenset("\u019b\u0264\ua7d3\ua7d5")  # since Unicode 16
_FOLDED = frozenset(("date_add", "date_sub", "datediff"))
_INT = pa.int32()
_MOST_INT = 2**31 - 1


def called(name: str, arguments: Sequence[Operand], count: int) -> Operand:
    """Call a Spark SQL function on N rows; return its results.

    :raises UnsupportedType: an argument has a type that Spark would convert or refuse.
    """
    if name == "abs":
        return absolute(arguments[0], count)
    if name in ("coalesce", "nvl"):
        return _coalesce(name, arguments, count)
    due = [_DUE[name][min(place, len(_DUE[name]) - 1)] for place in range(len(arguments))]
    for argument, kind in zip(arguments, due, strict=True):
        _check_argument(name, argument, kind)
    failed = None if is_folded(name, arguments) else either(*(argument.failure for argument in arguments))
    typed = [
        _typed_null(kind, count) if argument.kind is Kind.NULL else argument
        for argument, kind in zip(arguments, due, strict=True)
    ]
    result = _OF_NAME[name](typed, count)
    return Operand(result.kind, result.values, name, result.width, either(failed, result.failure))


def is_folded(name: str, arguments: Sequence[Operand]) -> bool:
    """Return whether Spark replaces a function call by null, because an argument is a constant null.

    Spark does not evaluate the other arguments then.
    """
    return name in _FOLDED and any(argument.void for argument in arguments)


def _check_argument(name: str, argument: Operand, due: Kind) -> None:
    if argument.kind not in (due, Kind.NULL) or (
        due is Kind.INT and argument.kind is due and argument.width not in (pa.int8(), pa.int16(), _INT)
    ):
        expected = "INT" if due is Kind.INT else due.value
        raise UnsupportedType(
            f"function {name} has {argument.name} of type {argument.type_name}, and a {expected} is due",
            REMEDY,
            field=argument.name,
        )


def _typed_null(kind: Kind, count: int) -> Operand:
    if kind is Kind.INT:
        return null_number(_INT, count)
    return Operand(kind, pa.nulls(count, pa.string() if kind is Kind.STRING else pa.date32()), "NULL")


def _coalesce(name: str, arguments: Sequence[Operand], count: int) -> Operand:
    """Return the first argument that is not null, in each row, as Spark's coalesce does."""
    typed = [argument for argument in arguments if argument.kind is not Kind.NULL]
    if any(
        argument.kind in (None, Kind.DECIMAL) or (argument.kind, argument.width) != (typed[0].kind, typed[0].width)
        for argument in typed
    ):
        shown = ", ".join(f"{argument.name} ({argument.values.type})" for argument in typed)
        raise UnsupportedType(
            f"function {name} has arguments of several types, or decimals: {shown}", REMEDY, field=typed[0].name
        )
    if not typed:
        return Operand(Kind.NULL, pa.nulls(count), name)
    missing = np.ones(count, bool)
    failed = None
    merged = pa.nulls(count, typed[0].values.type)
    for argument in typed:
        own = within(argument.failure, missing)
        array = argument.array(count)
        merged = pc.coalesce(merged, array)
        failed = either(failed, own)
        missing = missing & np.asarray(array.is_null())
        if own is not None:
            missing = missing & ~own.rows
    return Operand(typed[0].kind, without(merged, failed), name, typed[0].width, failed)


def _texts(function: Callable[[pa.Array], pa.Array]) -> Callable[[Sequence[Operand], int], Operand]:
    return lambda arguments, count: Operand(Kind.STRING, function(arguments[0].array(count)), "")


def _change_case(
    ascii_only: Callable[[pa.Array], pa.Array], whole: Callable[[str], str]
) -> Callable[[Sequence[Operand], int], Operand]:
    """Return a function that converts texts to upper or lower case as Spark does.

    It fails for a character without a case in Python's Unicode version if Spark's version may define a case.
    """

    def call(arguments: Sequence[Operand], count: int) -> Operand:
        array = arguments[0].array(count)
        if pc.all(pc.string_is_ascii(array)).as_py() is not False:
            return Operand(Kind.STRING, ascii_only(array), "")
        texts = array.to_pylist()
        unknown = np.array([text is not None and any(map(_is_new, text)) for text in texts], bool)
        changed = [
            None if text is None or new else whole(text) for text, new in zip(texts, unknown.tolist(), strict=True)
        ]
        why = f"the case of a character is newer than Unicode {unicodedata.unidata_version}"
        return Operand(Kind.STRING, pa.array(changed, pa.string()), "", failure=failure(unknown, why))

    return call


def _is_new(letter: str) -> bool:
    """Return whether a character's case may be defined only in a Unicode version newer than Python's."""
    if letter in _CASED_LATER:
        return True
    point = ord(letter)
    never_assigned = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point < 0xFDF0
    return unicodedata.category(letter) == "Cn" and not never_assigned


def _length(arguments: Sequence[Operand], count: int) -> Operand:
    return Operand(Kind.INT, pc.utf8_length(arguments[0].array(count)).cast(pa.int64()), "", _INT)


def _concat(arguments: Sequence[Operand], count: int) -> Operand:
    arrays = [argument.array(count) for argument in arguments]
    return Operand(Kind.STRING, pc.binary_join_element_wise(*arrays, pa.scalar(""), null_handling="emit_null"), "")


def _substring(arguments: Sequence[Operand], count: int) -> Operand:
    texts = arguments[0].array(count).to_pylist()
    starts = arguments[1].array(count).to_pylist()
    sizes = arguments[2].array(count).to_pylist() if len(arguments) > 2 else [_MOST_INT] * count
    return Operand(Kind.STRING, pa.array(map(_part, texts, starts, sizes), pa.string()), "")


def _part(text: str | None, start: int | None, size: int | None) -> str | None:
    """Return a substring as Spark SQL does: starts 0 and 1 both mean the first character.

    A negative start counts from the end and may lie before the beginning.
    """
    if text is None or start is None or size is None:
        return None
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    last = min(first + size, _MOST_INT)
    return text[max(first, 0) : max(last, 0)] if last > first else ""


def _of_day(function: Callable[[pa.Array], pa.Array]) -> Callable[[Sequence[Operand], int], Operand]:
    def call(arguments: Sequence[Operand], count: int) -> Operand:
        days, far = near_days(arguments[0].array(count))
        return Operand(Kind.INT, function(days).cast(pa.int64()), "", _INT, far)

    return call


def _days(sign: int) -> Callable[[Sequence[Operand], int], Operand]:
    """Return a function that adds (`sign` 1) or subtracts (`sign` -1) days of dates."""

    def call(arguments: Sequence[Operand], count: int) -> Operand:
        (first, is_valid), (more, more_valid) = (
            _day_numbers(arguments[0], count),
            numbers(arguments[1], pa.int64(), count),
        )
        moved = (first + sign * more).astype(np.int32)  # Java's int wraps
        return Operand(Kind.DATE, pa.array(moved, pa.int32(), mask=~(is_valid & more_valid)).cast(pa.date32()), "")

    return call


def _day_difference(arguments: Sequence[Operand], count: int) -> Operand:
    (end, end_valid), (start, start_valid) = (_day_numbers(argument, count) for argument in arguments)
    return operand_of((end - start).astype(np.int32), end_valid & start_valid, _INT, "")


def _day_numbers(operand: Operand, count: int) -> tuple[Numbers, Mask]:
    """Return N dates as days since 1970, and a mask of the dates that are not null."""
    return numbers(Operand(Kind.INT, operand.array(count).cast(pa.int32()), "", _INT), pa.int64(), count)


_DUE: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("lower", "upper", "length", "trim", "ltrim", "rtrim", "concat"), (Kind.STRING,)),
    "substring": (Kind.STRING, Kind.INT, Kind.INT),
    **dict.fromkeys(("year", "month", "day", "datediff"), (Kind.DATE,)),
    **dict.fromkeys(("date_add", "date_sub"), (Kind.DATE, Kind.INT)),
}
_OF_NAME: dict[str, Callable[[Sequence[Operand], int], Operand]] = {
    "lower": _change_case(pc.ascii_lower, str.lower), "upper": _change_case(pc.ascii_upper, str.upper),
    "length": _length, "concat": _concat,
    "trim": _texts(lambda texts: pc.utf8_trim(texts, " ")), "ltrim": _texts(lambda texts: pc.utf8_ltrim(texts, " ")),
    "rtrim": _texts(lambda texts: pc.utf8_rtrim(texts, " ")), "substring": _substring, "year": _of_day(pc.year),
    "month": _of_day(pc.month),
    "day": _of_day(pc.day), "date_add": _days(1), "date_sub": _days(-1), "datediff": _day_difference,
}  # fmt: skip
