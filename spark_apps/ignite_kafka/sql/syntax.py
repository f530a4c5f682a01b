"""Syntax trees of conditions in Spark SQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum


class Kind(Enum):
    """Types of literals, under Spark's names.

    Two literals of one kind compare alike; INT stands for every integral type.
    """

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
    """A column, or a field within a column, as a path of names."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True)
class SelectedField:
    """A field in setting `select`, with its name in the result.

    :param alias: the field's name in the result; equal to `name` without ``AS``.
    """

    name: str
    alias: str

    def renamed(self, own: str) -> str:
        """Return the field's name in the result: its alias or, without one, its name in the cache, given as `own`."""
        return own if self.alias == self.name else self.alias


@dataclass(frozen=True)
class Literal:
    """A literal in a condition.

    :param value: a timestamp in microseconds since 1970 UTC; else the Python value.
    :param long: whether an integer is a BIGINT whatever its size; comparisons do not depend on it.
    """

    kind: Kind
    value: bool | int | float | Decimal | str | date | None
    long: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Compare:
    """Comparison of two operands by ``=``, ``<>``, ``<``, ``<=``, ``>``, ``>=`` or ``<=>``."""

    operator: str
    left: Condition
    right: Condition


@dataclass(frozen=True)
class And:
    """Two conditions joined by AND."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Or:
    """Two conditions joined by OR."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Not:
    """Negation of a condition; null stays null."""

    operand: Condition


@dataclass(frozen=True)
class IsNull:
    """Test whether a value is null."""

    operand: Condition


@dataclass(frozen=True)
class In:
    """Test whether a value equals any of several literals."""

    operand: Condition
    items: tuple[Literal, ...]


@dataclass(frozen=True)
class Like:
    """Test whether a text matches a LIKE pattern.

    :param pattern: parts in order, as pairs of kind and text: ``text`` for plain text, ``%`` for any text, ``_`` for
        one character.
    """

    operand: Condition
    pattern: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Arithmetic:
    """Arithmetic of two numbers by ``+``, ``-``, ``*``, ``/`` or ``%``."""

    operator: str
    left: Condition
    right: Condition


@dataclass(frozen=True)
class Negative:
    """A number with its sign reversed."""

    operand: Condition


@dataclass(frozen=True)
class Cast:
    """Conversion of a value to another type.

    :param target: a name of :data:`CAST_TARGETS`.
    :param tries: null instead of an error (``TRY_CAST``).
    """

    operand: Condition
    target: str
    tries: bool


@dataclass(frozen=True)
class Call:
    """Call of a function, given by its first name in :data:`FUNCTIONS`."""

    name: str
    arguments: tuple[Condition, ...]


Condition = Column | Literal | Compare | And | Or | Not | IsNull | In | Like | Arithmetic | Negative | Cast | Call

CAST_TARGETS = {
    "TINYINT": "TINYINT", "BYTE": "TINYINT", "SMALLINT": "SMALLINT", "SHORT": "SMALLINT", "INT": "INT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT", "LONG": "BIGINT", "FLOAT": "FLOAT", "REAL": "FLOAT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN",
    "STRING": "STRING",
}  # fmt: skip
"""Spark's target types of ``CAST``, by every name that they may be written as."""

_MANY = 1_000
FUNCTIONS = {
    ("lower", "lcase"): (1, 1), ("upper", "ucase"): (1, 1), ("length", "char_length", "character_length"): (1, 1),
    ("substring", "substr"): (2, 3), ("trim",): (1, 1), ("ltrim",): (1, 1), ("rtrim",): (1, 1), ("concat",): (1, _MANY),
    ("coalesce",): (1, _MANY), ("nvl", "ifnull"): (2, 2), ("abs",): (1, 1), ("year",): (1, 1), ("month",): (1, 1),
    ("day", "dayofmonth"): (1, 1), ("date_add",): (2, 2), ("date_sub",): (2, 2), ("datediff",): (2, 2),
}  # fmt: skip
"""Minimum and maximum number of arguments of each function, by all its names."""


def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """Return the operands of a condition or expression."""
    match condition:
        case Compare(_, left, right) | Arithmetic(_, left, right) | And(left, right) | Or(left, right):
            return left, right
        case (
            Not(operand) | IsNull(operand) | In(operand, _) | Like(operand, _) | Negative(operand) | Cast(operand, _, _)
        ):
            return (operand,)
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def columns_of(condition: Condition) -> Iterator[Column]:
    """Yield every column that a condition names, in the order written."""
    if isinstance(condition, Column):
        yield condition
    for part in parts_of(condition):
        yield from columns_of(part)
