"""Syntax trees of conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum


class Kind(Enum):
    """Types of literals, by Spark's names. Two literals of one kind compare alike; INT stands for every integral type."""

    NULL = "VOID"
    BOOLEAN = "BOOLEAN"
    INT = "BIGINT"
    DECIMAL = "DECIMAL"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"


@dataclass(frozen=True)
class Column:
    """A column, or a field within it: the names of its path, as written."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True)
class SelectedField:
    """A field of values that a list of columns names.

    :param alias: its name in the result; `name` where the list gives none.
    """

    name: str
    alias: str


@dataclass(frozen=True)
class Literal:
    """A constant.

    :param value: a timestamp in microseconds since 1970 UTC; else the Python value.
    """

    kind: Kind
    value: bool | int | float | Decimal | str | date | None


@dataclass(frozen=True)
class Compare:
    """Two operands and an operator: ``=``, ``<>``, ``<``, ``<=``, ``>``, ``>=`` or ``<=>``."""

    operator: str
    left: Condition
    right: Condition


@dataclass(frozen=True)
class And:
    """Both conditions."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Or:
    """One condition or the other."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Not:
    """The opposite; null stays null."""

    operand: Condition


@dataclass(frozen=True)
class IsNull:
    """Whether a value is null."""

    operand: Condition


@dataclass(frozen=True)
class In:
    """Whether a value is one of some literals."""

    operand: Condition
    items: tuple[Literal, ...]


@dataclass(frozen=True)
class Like:
    """Whether a text matches a pattern.

    :param pattern: parts in order: plain text, ``%`` for any text, ``_`` for one character; the first of a pair says which of them.
    """

    operand: Condition
    pattern: tuple[tuple[str, str], ...]


Condition = Column | Literal | Compare | And | Or | Not | IsNull | In | Like


def columns_of(condition: Condition) -> Iterator[Column]:
    """Every column that a condition names, in its order."""
    match condition:
        case Column():
            yield condition
        case Compare(_, left, right) | And(left, right) | Or(left, right):
            yield from columns_of(left)
            yield from columns_of(right)
        case Not(operand) | IsNull(operand) | In(operand, _) | Like(operand, _):
            yield from columns_of(operand)
