"""Operands of conditions: columns, literals and results, with the types that Spark distinguishes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UnsupportedType
from ...ignite.types.type_table import mark_of
from ...sql.syntax import Kind, Literal
from .failures import Failure

_DAYS = pa.date32()
_MICROSECONDS = pa.timestamp("us", "UTC")
_LITERALS = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.DATE: _DAYS,
}


@dataclass(frozen=True)
class Operand:
    """An operand of a condition: N values of a column or an expression, or one literal.

    :param kind: kind of the type; None for a type that can only be tested for null.
    :param values: int64, double, string, bool, date32, timestamp(us, UTC), or a decimal; a literal has a scalar.
        Decimals of several scales are strings.
    :param name: name for messages.
    :param width: Spark's type of a whole number or a float; `values` may be wider. None for other kinds.
    :param failure: rows where Spark raises an error instead of returning a value; their values are null.
    :param constant: whether the value depends on no column, if only after simplification: ``coalesce(1, a)``,
        ``a + NULL``, ``a AND FALSE``.
    :param void: whether the operand is a constant with the value null. Spark folds an expression with such an operand
        into null and does not evaluate the other operands.
    """

    kind: Kind | None
    values: pa.Array | pa.Scalar
    name: str
    width: pa.DataType | None = None
    failure: Failure | None = None
    constant: bool = False
    void: bool = False

    @property
    def is_literal(self) -> bool:
        """Whether the operand is a literal."""
        return isinstance(self.values, pa.Scalar)

    @property
    def type_name(self) -> str:
        """Name of the type for messages: Spark's name, or Arrow's if Spark has none."""
        return self.kind.value if self.kind is not None else str(self.values.type)

    def array(self, count: int) -> pa.Array:
        """Return the operand's N values; a literal is repeated N times."""
        return pa.repeat(self.values, count) if isinstance(self.values, pa.Scalar) else self.values


def literal(constant: Literal) -> Operand:
    """Return the operand for a literal in a condition."""
    if constant.kind is Kind.TIMESTAMP:
        return Operand(
            constant.kind, pa.scalar(constant.value, pa.int64()).cast(_MICROSECONDS), "a TIMESTAMP", constant=True
        )
    if constant.kind is Kind.DECIMAL:
        assert isinstance(constant.value, Decimal)
        scale = max(0, -int(constant.value.as_tuple().exponent))
        return Operand(
            constant.kind,
            pa.scalar(constant.value, pa.decimal128(38, scale)),
            f"DECIMAL {constant.value}",
            constant=True,
        )
    width = None
    if constant.kind is Kind.NULL:
        return Operand(constant.kind, pa.scalar(None), "NULL", constant=True, void=True)
    if constant.kind is Kind.INT:
        assert isinstance(constant.value, int)
        width = pa.int64() if constant.long or not -(2**31) <= constant.value < 2**31 else pa.int32()
    if constant.kind is Kind.DOUBLE:
        width = pa.float64()
    return Operand(
        constant.kind,
        pa.scalar(constant.value, _LITERALS.get(constant.kind, pa.null())),
        f"a {constant.kind.value}",
        width,
        constant=True,
    )


def column(array: pa.Array, field: pa.Field, name: str) -> Operand:
    """Return the operand for a decoded column.

    :param field: Arrow field with the mark of the Ignite type.
    :raises UnsupportedType: a time is outside the range of Spark's timestamps.
    """
    kind = array.type
    types = pa.types
    if types.is_null(kind):
        return Operand(Kind.NULL, array, name)
    if types.is_boolean(kind):
        return Operand(Kind.BOOLEAN, array, name)
    if types.is_integer(kind):
        return Operand(Kind.INT, array.cast(pa.int64()), name, kind if types.is_signed_integer(kind) else None)
    if types.is_floating(kind):
        return Operand(Kind.DOUBLE, array.cast(pa.float64()), name, kind)
    if types.is_decimal(kind) or mark_of(field) == "decimal":
        return Operand(Kind.DECIMAL, array, name)
    if types.is_string(kind):
        return Operand(Kind.STRING, array, name)
    if types.is_date32(kind):
        return Operand(Kind.DATE, array, name)
    if types.is_timestamp(kind) and kind.tz is not None:
        return Operand(Kind.TIMESTAMP, _microseconds(array, name), name)
    return Operand(None, array, name)


def _microseconds(array: pa.Array, name: str) -> pa.Array:
    try:
        return array.cast(_MICROSECONDS)
    except pa.ArrowInvalid as error:
        what = f"column {name} has a time that is out of the range of microseconds in 64 bits"
        raise UnsupportedType(
            what, "Correct the entry; error_handling_policy passes over such entries.", field=name
        ) from error


def compared(operator: str, left: Operand, right: Operand, count: int) -> pa.Array:
    """Compare the values of two operands in N rows; null where an operand is null.

    :param operator: ``=``, ``<>``, ``<``, ``<=``, ``>`` or ``>=``.
    :raises UnsupportedType: Spark refuses to compare the types, or converts one in a way that is not reproduced here.
    """
    if left.kind is None or right.kind is None:
        odd = left if left.kind is None else right
        what = f"column {odd.name} is of type {odd.values.type}, of which a condition can only ask whether it is null"
        raise UnsupportedType(what, REMEDY, field=odd.name)
    if Kind.NULL in (left.kind, right.kind):
        return pa.nulls(count, pa.bool_())
    kinds = {left.kind, right.kind}
    if (
        kinds == {Kind.DOUBLE}
        or kinds == {Kind.DOUBLE, Kind.INT}
        or (kinds == {Kind.DOUBLE, Kind.DECIMAL} and _as_double(left, right))
    ):
        return _full(_doubles(operator, _double(left), _double(right)), count)
    if Kind.DECIMAL in kinds and kinds <= {Kind.DECIMAL, Kind.INT}:
        return _decimals(operator, left, right, count)
    if len(kinds) > 1:
        what = f"{left.name} ({left.kind.value}) is compared with {right.name} ({right.kind.value})"
        raise UnsupportedType(
            what, f"Write both with one type. {REMEDY}", field=left.name if not left.is_literal else right.name
        )
    if left.kind is Kind.BOOLEAN:
        return _full(_KERNELS[operator](left.values.cast(pa.int8()), right.values.cast(pa.int8())), count)
    return _full(_KERNELS[operator](left.values, right.values), count)


REMEDY = "Correct where, or name a function by setting filter."
_KERNELS = {
    "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT_DIGITS = 15


def _full(result: pa.Array | pa.Scalar, count: int) -> pa.Array:
    return pa.repeat(result, count) if isinstance(result, pa.Scalar) else result


def _as_double(left: Operand, right: Operand) -> bool:
    """Return whether a decimal can be compared as a double without an error: a literal of at most 15 digits."""
    decimal = left if left.kind is Kind.DECIMAL else right
    return decimal.is_literal and len(decimal.values.as_py().as_tuple().digits) <= _EXACT_DIGITS


def _double(operand: Operand) -> pa.Array | pa.Scalar:
    if operand.kind is Kind.DECIMAL:
        return pa.scalar(float(operand.values.as_py()))
    # rounds a long to a double as Java does; Arrow's checked cast refuses inexact results
    return operand.values.cast(pa.float64(), safe=False)


def _doubles(operator: str, left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Compare doubles in Spark's order: NaN equals NaN and is greater than any other number."""
    if operator in (">", ">="):
        return _doubles(_MIRRORED[operator], right, left)
    if operator in ("<>", "<="):
        opposite = _doubles("=", left, right) if operator == "<>" else _doubles("<", right, left)
        return pc.invert(opposite)
    left_nan = pc.is_nan(left)
    right_nan = pc.is_nan(right)
    if operator == "=":
        return pc.or_(pc.equal(left, right), pc.and_(left_nan, right_nan))
    return pc.or_(pc.less(left, right), pc.and_(right_nan, pc.invert(left_nan)))


def _decimals(operator: str, left: Operand, right: Operand, count: int) -> pa.Array:
    """Compare decimals exactly; refuse two columns, which Spark may round."""
    if not (left.is_literal or right.is_literal) and left.kind is right.kind:
        what = f"columns {left.name} and {right.name} are decimals, which Spark may round to compare them"
        raise UnsupportedType(what, REMEDY, field=left.name)
    if left.is_literal and not right.is_literal:
        return _decimals(_MIRRORED[operator], right, left, count)
    if pa.types.is_string(left.values.type) or pa.types.is_string(right.values.type):
        return _decimal_texts(operator, left, right, count)
    first = _wide(left)
    second = _wide(right)
    scale = max(first.type.scale, second.type.scale)
    common = pa.decimal256(76, scale)
    return _full(_KERNELS[operator](first.cast(common), second.cast(common)), count)


def _wide(operand: Operand) -> pa.Array | pa.Scalar:
    if operand.kind is not Kind.INT:
        return operand.values
    return operand.values.cast(pa.decimal128(19, 0))


_PYTHON = {
    "=": lambda order: order == 0, "<>": lambda order: order != 0, "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0, ">=": lambda order: order >= 0,
}  # fmt: skip


def _decimal_texts(operator: str, left: Operand, right: Operand, count: int) -> pa.Array:
    """Compare decimals kept as text, because they have several scales or more than 38 digits."""
    first, second = (_python_decimals(operand, count) for operand in (left, right))
    order: npt.NDArray[np.int8] = np.array(
        [0 if a is None or b is None else (a > b) - (a < b) for a, b in zip(first, second, strict=True)], np.int8
    )
    absent = np.array([a is None or b is None for a, b in zip(first, second, strict=True)], bool)
    return pa.array(_PYTHON[operator](order), pa.bool_(), mask=absent)


def _python_decimals(operand: Operand, count: int) -> list[Decimal | None]:
    values = [operand.values.as_py()] * count if operand.is_literal else operand.values.to_pylist()
    return [None if value is None else Decimal(value) for value in values]
