"""Evaluates conditions on Arrow columns, with Spark's three-valued logic and its errors.

Spark evaluates from the left, and nothing whose value cannot matter: behind a false condition of AND, a true one of OR, and a null that
makes the result null. An error there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...errors import UnsupportedType
from ...sql.syntax import (
    And,
    Arithmetic,
    Call,
    Cast,
    Column,
    Compare,
    Condition,
    In,
    IsNull,
    Kind,
    Like,
    Literal,
    Negative,
    Not,
    Or,
    columns_of,
    parts_of,
)
from . import operands
from .arithmetic import calculated, negated
from .casts import cast
from .failures import Failure, check, either, within
from .functions import called
from .operands import Operand

Lookup = Callable[[Column], Operand]
"""Gives the operand of a column; raises UnsupportedType for one that does not exist."""

_SPECIAL = frozenset("\\.^$|?*+()[]{}")


def evaluate(condition: Condition, lookup: Lookup, count: int) -> pa.BooleanArray:
    """N results: true, false or null.

    :param count: N.
    :raises UnsupportedType: a column does not exist, or its type cannot be compared in this way; names it.
    :raises ConditionFailed: Spark has an error instead of the result of a row, such as a division by zero.
    """
    found = outcome(condition, lookup, count)
    check(found.failure)
    return found.values


def check_constants(condition: Condition) -> None:
    """Check the parts of a condition that name no column: Spark evaluates them beforehand, whatever the rows are.

    :raises UnsupportedType: a part has a type that cannot be used so, or an error instead of a value.
    """
    for part in parts_of(condition):
        check_constants(part)
    if parts_of(condition) and next(columns_of(condition), None) is None:
        failed = _Evaluation(_no_column, 1).operand(condition).failure
        if failed is not None:
            raise UnsupportedType(f"a constant of where has no value: {failed.why}", "Correct where.")


def _no_column(column: Column) -> Operand:
    raise AssertionError(f"{column} is in a part without columns")


def outcome(condition: Condition, lookup: Lookup, count: int) -> Operand:
    """The N results of a condition, with the rows that have none.

    :raises UnsupportedType: as :func:`evaluate`.
    """
    return _Evaluation(lookup, count).condition(condition)


class _Evaluation:
    """Evaluates conditions and expressions on N rows."""

    def __init__(self, lookup: Lookup, count: int) -> None:
        self._lookup, self._count = lookup, count

    def condition(self, condition: Condition) -> Operand:
        """The operand of a condition: N booleans."""
        count = self._count
        match condition:
            case And(left, right):
                return self._both(pc.and_kleene, left, right, decides=False)
            case Or(left, right):
                return self._both(pc.or_kleene, left, right, decides=True)
            case Not(inner):
                found = self.condition(inner)
                return _boolean(pc.invert(found.values), found.failure)
            case IsNull(inner):
                operand = self.operand(inner)
                return _boolean(_nulls(operand, count), operand.failure)
            case Compare(operator, left, right):
                return self._compared(operator, left, right)
            case In(inner, items):
                operand = self.operand(inner)
                return _boolean(_one_of(operand, items, count), None if _are_null(items) else operand.failure)
            case Like(inner, pattern):
                operand = self.operand(inner)
                return _boolean(_like(operand, pattern, count), operand.failure)
            case _:
                operand = self.operand(condition)
                return _boolean(_condition(operand, count), operand.failure)

    def operand(self, condition: Condition) -> Operand:
        """The operand of any expression."""
        found = self._operand(condition)
        if self._count and parts_of(condition) and next(columns_of(condition), None) is None:
            return replace(found, void=found.array(self._count).null_count == self._count)
        return found

    def _operand(self, condition: Condition) -> Operand:
        match condition:
            case Column():
                return self._lookup(condition)
            case Literal():
                return operands.literal(condition)
            case Arithmetic(operator, left, right):
                return calculated(operator, self.operand(left), self.operand(right), self._count)
            case Negative(inner):
                return negated(self.operand(inner), self._count)
            case Cast(inner, target, tries):
                return cast(self.operand(inner), target, self._count, tries=tries)
            case Call(name, arguments):
                return called(name, [self.operand(one) for one in arguments], self._count)
            case _:
                return self.condition(condition)

    def _both(self, combine: Callable[..., pa.BooleanArray], left: Condition, right: Condition, *, decides: bool) -> Operand:
        """Two conditions.

        :param decides: the result of the left one for which the right one is not evaluated; a constant of it decides on either side.
        """
        first, second = self.condition(left), self.condition(right)
        result = combine(first.values, second.values)
        if first.failure is second.failure is None:
            return _boolean(result, None)
        if second.failure is None and next(columns_of(right), None) is None and _all(second.values, decides):
            return _boolean(result, None)
        undecided: Mask = ~np.asarray(pc.fill_null(pc.equal(first.values, decides), False))
        return _boolean(result, either(first.failure, within(second.failure, undecided)))

    def _compared(self, operator: str, first: Condition, second: Condition) -> Operand:
        left, right, count = self.operand(first), self.operand(second), self._count
        for one, other in ((left, second), (right, first)):
            if one.kind is Kind.DECIMAL and not one.is_literal and not isinstance(other, Column | Literal):
                what = f"column {one.name} is a DECIMAL, which Spark may round to compare it with an expression"
                raise UnsupportedType(what, operands.REMEDY, field=one.name)
        if operator == "<=>":
            return _boolean(_null_safe_equal(left, right, count), either(left.failure, right.failure))
        found = operands.compared(operator, left, right, count)
        if left.failure is right.failure is None or left.void or right.void:
            return _boolean(found, None)
        there = ~np.asarray(_nulls(left, count))
        return _boolean(found, either(left.failure, within(right.failure, there)))


def _boolean(values: pa.BooleanArray, failed: Failure | None) -> Operand:
    """The operand of results; null for rows that have none."""
    if failed is not None:
        values = pc.if_else(pa.array(failed.rows), pa.scalar(None, pa.bool_()), values)
    return Operand(Kind.BOOLEAN, values, "a condition", failure=failed)


def _all(values: pa.BooleanArray, wanted: bool) -> bool:
    return not values.null_count and bool(pc.all(pc.equal(values, wanted)).as_py() is not False)


def _are_null(items: tuple[Literal, ...]) -> bool:
    return all(item.kind is Kind.NULL for item in items)


def _condition(operand: Operand, count: int) -> pa.BooleanArray:
    """A column or literal that is a condition itself."""
    if operand.kind is Kind.NULL:
        return pa.nulls(count, pa.bool_())
    if operand.kind is not Kind.BOOLEAN:
        what = f"{operand.name} is of type {operand.values.type}, and a BOOLEAN is due"
        raise UnsupportedType(what, "Correct where: compare it with a value.", field=operand.name)
    return operand.array(count)


def _null_safe_equal(left: Operand, right: Operand, count: int) -> pa.BooleanArray:
    equal = pc.fill_null(operands.compared("=", left, right, count), False)
    return pc.or_(equal, pc.and_(_nulls(left, count), _nulls(right, count)))


def _nulls(operand: Operand, count: int) -> pa.BooleanArray:
    return operand.array(count).is_null()


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
