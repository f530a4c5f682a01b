"""Evaluation of conditions on Arrow columns, with Spark's three-valued logic and errors.

Spark evaluates from the left and skips operands that cannot change the result: operands after a false condition of AND,
a true condition of OR, or a null that makes the result null. Errors of skipped operands do not count.
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
from .failures import Failure, either, within, without
from .functions import called, is_folded
from .operands import Operand

Lookup = Callable[[Column], Operand]
"""Function from a column named in a condition to its operand; it raises UnsupportedType for an unknown column."""

_SPECIAL = frozenset("\\.^$|?*+()[]{}")


def evaluate(condition: Condition, lookup: Lookup, count: int) -> Operand:
    """Evaluate a condition on N rows; return true, false or null for each row, and the rows where Spark would fail.

    :param count: N.
    :raises UnsupportedType: a column does not exist, or its type cannot be compared in this way (the error names the
        column), or a constant has no value.
    """
    return _Evaluation(lookup, count).condition(condition)


def check_constants(condition: Condition) -> None:
    """Refuse constant parts of a condition that fail: Spark evaluates them at the start, whatever the rows are.

    :raises UnsupportedType: a part's type cannot be used there, or the part has an error instead of a value.
    """
    if next(columns_of(condition), None) is None:
        _Evaluation(_no_column, 1).operand(condition)
        return
    for part in parts_of(condition):
        check_constants(part)


def _no_column(column: Column) -> Operand:
    raise AssertionError(f"{column} is in a part without columns")


class _Evaluation:
    """Evaluator of conditions and expressions on N rows."""

    def __init__(self, lookup: Lookup, count: int) -> None:
        self._lookup = lookup
        self._count = count

    def condition(self, condition: Condition) -> Operand:
        """Evaluate a condition; return its N booleans."""
        operand = self.operand(condition)
        return replace(operand, kind=Kind.BOOLEAN, values=_condition(operand, self._count))

    def operand(self, condition: Condition) -> Operand:
        """Evaluate any expression; return its result as an operand.

        :raises UnsupportedType: the expression is a constant with an error instead of a value.
        """
        operand = self._operand(condition)
        if not operand.constant or operand.is_literal or not self._count:
            return operand
        if operand.failure is not None:
            raise UnsupportedType(f"a constant of where has no value: {operand.failure.first}", "Correct where.")
        return replace(operand, void=operand.array(self._count).null_count == self._count)

    def _operand(self, condition: Condition) -> Operand:
        count = self._count
        match condition:
            case Column():
                return self._lookup(condition)
            case Literal():
                return operands.literal(condition)
            case Arithmetic(operator, left, right):
                first = self.operand(left)
                second = self.operand(right)
                return replace(calculated(operator, first, second, count), constant=_fold(first, second))
            case Negative(inner):
                operand = self.operand(inner)
                return replace(negated(operand, count), constant=operand.constant)
            case Cast(inner, target, tries):
                operand = self.operand(inner)
                return replace(cast(operand, target, count, tries=tries), constant=operand.constant)
            case Call(name, parts):
                arguments = [self.operand(part) for part in parts]
                if name in ("coalesce", "nvl"):
                    constant = _first_is_constant(arguments)
                else:
                    constant = all(argument.constant for argument in arguments) or is_folded(name, arguments)
                return replace(called(name, arguments, count), constant=constant)
            case _:
                return self._predicate(condition)

    def _predicate(self, condition: Condition) -> Operand:
        count = self._count
        match condition:
            case And(left, right):
                return self._combine(pc.and_kleene, left, right, decides=False)
            case Or(left, right):
                return self._combine(pc.or_kleene, left, right, decides=True)
            case Not(inner):
                operand = self.condition(inner)
                return _boolean(pc.invert(operand.values), operand.failure, constant=operand.constant)
            case IsNull(inner):
                operand = self.operand(inner)
                return _boolean(_nulls(operand, count), operand.failure, constant=operand.constant)
            case In(inner, items):
                operand = self.operand(inner)
                void = all(item.kind is Kind.NULL for item in items)
                return _boolean(
                    _one_of(operand, items, count), None if void else operand.failure, constant=operand.constant or void
                )
            case Like(inner, pattern):
                operand = self.operand(inner)
                return _boolean(_like(operand, pattern, count), operand.failure, constant=operand.constant)
            case Compare(operator, left, right):
                return self._compare(operator, left, right)
        raise AssertionError(f"{condition} is no condition")

    def _combine(
        self, combine: Callable[..., pa.BooleanArray], left: Condition, right: Condition, *, decides: bool
    ) -> Operand:
        """Combine the results of two conditions by AND or OR.

        :param decides: the result of the left condition for which Spark skips the right condition; a constant with this
            value determines the result on either side.
        """
        first = self.condition(left)
        second = self.condition(right)
        result = combine(first.values, second.values)
        decided = any(side.constant and _all(side.values, decides) for side in (first, second))
        constant = decided or (first.constant and second.constant)
        if decided or first.failure is second.failure is None:
            return _boolean(result, None, constant=constant)
        undecided: Mask = ~np.asarray(pc.fill_null(pc.equal(first.values, decides), False))
        return _boolean(result, either(first.failure, within(second.failure, undecided)), constant=constant)

    def _compare(self, operator: str, first: Condition, second: Condition) -> Operand:
        left = self.operand(first)
        right = self.operand(second)
        count = self._count
        for side, other in ((left, second), (right, first)):
            if side.kind is Kind.DECIMAL and not side.is_literal and not isinstance(other, Column | Literal):
                what = f"column {side.name} is a DECIMAL, which Spark may round to compare it with an expression"
                raise UnsupportedType(what, operands.REMEDY, field=side.name)
        if operator == "<=>":
            both = left.constant and right.constant
            return _boolean(_null_safe_equal(left, right, count), either(left.failure, right.failure), constant=both)
        result = operands.compared(operator, left, right, count)
        constant = _fold(left, right)
        if left.failure is right.failure is None or left.void or right.void:
            return _boolean(result, None, constant=constant)
        left_valid = ~np.asarray(_nulls(left, count))
        return _boolean(result, either(left.failure, within(right.failure, left_valid)), constant=constant)


def _fold(*parts: Operand) -> bool:
    """Return whether Spark replaces an expression by a constant before it reads any row."""
    return all(part.constant for part in parts) or any(part.void for part in parts)


def _first_is_constant(arguments: list[Operand]) -> bool:
    """Return whether Spark replaces coalesce by a constant, as no column precedes its first non-null constant."""
    first = next((argument for argument in arguments if not argument.void), None)
    return first is None or first.constant


def _boolean(values: pa.BooleanArray, failed: Failure | None, *, constant: bool) -> Operand:
    """Return an operand of booleans, null in the rows that failed."""
    return Operand(Kind.BOOLEAN, without(values, failed), "a condition", failure=failed, constant=constant)


def _all(values: pa.BooleanArray, expected: bool) -> bool:
    return not values.null_count and pc.all(pc.equal(values, expected)).as_py() is not False


def _condition(operand: Operand, count: int) -> pa.BooleanArray:
    """Return the booleans of an operand that is used as a condition."""
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
    regex = "".join({"%": ".*", "_": "."}.get(kind) or _quote(text) for kind, text in pattern)
    result = pc.match_substring_regex(operand.values, rf"(?s)\A{regex}\z")
    return pa.repeat(result, count) if isinstance(result, pa.Scalar) else result


def _quote(letter: str) -> str:
    """Quote a character for an RE2 regular expression; a null character is written in hexadecimal."""
    if letter == "\0":
        return r"\x00"
    return f"\\{letter}" if letter in _SPECIAL else letter
