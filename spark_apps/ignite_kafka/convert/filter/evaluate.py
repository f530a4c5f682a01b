"""Evaluates conditions on Arrow columns, with Spark's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UnsupportedType
from ...sql.syntax import And, Column, Compare, Condition, In, IsNull, Kind, Like, Literal, Not, Or
from . import operands
from .operands import Operand

Lookup = Callable[[Column], Operand]
"""Gives the operand of a column; raises UnsupportedType for one that does not exist."""

_SPECIAL = frozenset("\\.^$|?*+()[]{}")


def evaluate(condition: Condition, lookup: Lookup, count: int) -> pa.BooleanArray:
    """N results: true, false or null.

    :param count: N.
    :raises UnsupportedType: a column does not exist, or its type cannot be compared in this way; names it.
    """
    match condition:
        case And(left, right):
            return pc.and_kleene(evaluate(left, lookup, count), evaluate(right, lookup, count))
        case Or(left, right):
            return pc.or_kleene(evaluate(left, lookup, count), evaluate(right, lookup, count))
        case Not(inner):
            return pc.invert(evaluate(inner, lookup, count))
        case IsNull(inner):
            found = _operand(inner, lookup, count).values
            return pa.repeat(pa.scalar(not found.is_valid), count) if isinstance(found, pa.Scalar) else found.is_null()
        case Compare("<=>", left, right):
            return _null_safe_equal(_operand(left, lookup, count), _operand(right, lookup, count), count)
        case Compare(operator, left, right):
            return operands.compared(operator, _operand(left, lookup, count), _operand(right, lookup, count), count)
        case In(inner, items):
            return _one_of(_operand(inner, lookup, count), items, count)
        case Like(inner, pattern):
            return _like(_operand(inner, lookup, count), pattern, count)
        case _:
            return _condition(_operand(condition, lookup, count), count)


def _operand(condition: Condition, lookup: Lookup, count: int) -> Operand:
    if isinstance(condition, Column):
        return lookup(condition)
    if isinstance(condition, Literal):
        return operands.literal(condition)
    return Operand(Kind.BOOLEAN, evaluate(condition, lookup, count), "a condition")


def _condition(operand: Operand, count: int) -> pa.BooleanArray:
    """A column or literal that is a condition itself."""
    if operand.kind is Kind.NULL:
        return pa.nulls(count, pa.bool_())
    if operand.kind is not Kind.BOOLEAN:
        what = f"{operand.name} is of type {operand.values.type}, and a BOOLEAN is due"
        raise UnsupportedType(what, "Correct where: compare it with a value.", field=operand.name)
    return pa.repeat(operand.values, count) if isinstance(operand.values, pa.Scalar) else operand.values


def _null_safe_equal(left: Operand, right: Operand, count: int) -> pa.BooleanArray:
    equal = pc.fill_null(operands.compared("=", left, right, count), False)
    return pc.or_(equal, pc.and_(_nulls(left, count), _nulls(right, count)))


def _nulls(operand: Operand, count: int) -> pa.BooleanArray:
    found = operand.values
    return pa.repeat(pa.scalar(not found.is_valid), count) if isinstance(found, pa.Scalar) else found.is_null()


def _one_of(operand: Operand, items: tuple[Literal, ...], count: int) -> pa.BooleanArray:
    result = None
    for item in items:
        equal = operands.compared("=", operand, operands.literal(item), count)
        result = equal if result is None else pc.or_kleene(result, equal)
    return result


def _like(operand: Operand, pattern: tuple[tuple[str, str], ...], count: int) -> pa.BooleanArray:
    if operand.kind is Kind.NULL:
        return pa.nulls(count, pa.bool_())
    if operand.kind is not Kind.STRING:
        what = f"{operand.name} is of type {operand.values.type}, and LIKE compares STRINGs"
        raise UnsupportedType(what, "Correct where.", field=operand.name)
    regex = "".join({"%": ".*", "_": "."}.get(kind) or _quoted(text) for kind, text in pattern)
    result = pc.match_substring_regex(operand.values, rf"(?s)\A{regex}\z")
    return pa.repeat(result, count) if isinstance(result, pa.Scalar) else result


def _quoted(letter: str) -> str:
    """A character in RE2; a null character can be in a text, and ends no pattern."""
    if letter == "\0":
        return r"\x00"
    return f"\\{letter}" if letter in _SPECIAL else letter
