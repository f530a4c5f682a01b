"""Check of a condition against the types that a cache declares, before the first entry is read."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa

from ...errors import UnsupportedType
from ...ignite.binary.entry_table import entries_schema
from ...ignite.types.model import CacheInfo, TypeSource
from ...sql.syntax import Column, Compare, Condition, In, Kind, Literal, parts_of
from .columns import TYPE, ColumnLookup
from .evaluate import evaluate

_MOST_DIGITS = 38
_LONG_DIGITS = 20


def check_declared(condition: Condition, cache: CacheInfo, types: TypeSource) -> None:
    """Check that a condition can be evaluated on the column types declared by a cache's only query entity.

    A number with more digits than a column of decimals is also refused, because Spark would round the number or the
    column.

    :raises UnsupportedType: the condition cannot compare a column of its declared type.
    """
    try:
        schema = entries_schema(cache, types, ())
    except UnsupportedType:
        return  # the entity declares no table; the types of the entries are checked later
    columns = {field.name: (pa.array([], field.type), field) for field in schema}
    columns.setdefault(TYPE, (pa.array([], pa.string()), pa.field(TYPE, pa.string())))
    lookup = ColumnLookup(columns, 0, lambda _: None)
    evaluate(condition, lookup, 0)
    for column, other in _pairs(condition):
        declared = lookup(column).values.type
        if not pa.types.is_decimal(declared):
            continue
        whole, scale = _digits(other, lookup)
        if scale > declared.scale or whole > _MOST_DIGITS - declared.scale:
            shown = other.value if isinstance(other, Literal) else other
            what = (
                f"{shown} has {whole} digits and {scale} behind the point; column {column} has "
                f"{_MOST_DIGITS - declared.scale} and"
            )
            remedy = (
                "Spark would round one of them: write no more digits than the column has, or name a function by "
                "setting filter."
            )
            raise UnsupportedType(f"{what} {declared.scale}", remedy, field=str(column))


def _digits(operand: Column | Literal, lookup: ColumnLookup) -> tuple[int, int]:
    """Return the maximum number of digits before and behind the decimal point, as Spark counts them.

    Both are 0 for an operand that is not a whole number or decimal.
    """
    if isinstance(operand, Column):
        return (_LONG_DIGITS if lookup(operand).kind is Kind.INT else 0), 0
    if operand.kind is Kind.INT:
        return len(str(operand.value).lstrip("-")), 0
    if operand.kind is not Kind.DECIMAL:
        return 0, 0
    assert isinstance(operand.value, Decimal)
    scale = max(0, -int(operand.value.as_tuple().exponent))
    return max(0, operand.value.adjusted() + 1) if operand.value else 0, scale


def _pairs(condition: Condition) -> Iterator[tuple[Column, Column | Literal]]:
    """Yield each column in a condition with the column or constant that it is compared with."""
    match condition:
        case Compare(_, (Column() | Literal()) as left, (Column() | Literal()) as right):
            if isinstance(left, Column):
                yield left, right
            if isinstance(right, Column):
                yield right, left
        case In(Column() as column, items):
            yield from ((column, item) for item in items)
        case _:
            for part in parts_of(condition):
                yield from _pairs(part)
