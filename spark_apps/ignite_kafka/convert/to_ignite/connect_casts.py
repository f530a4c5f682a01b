"""Casts of Connect's values to Ignite's types, by the schema and the target's field. Whatever is not exact is refused.

=====================  =====================================================================================
target                 schemas
=====================  =====================================================================================
byte … double          INT8 … FLOAT64 and Decimal; integers from Date, Time and Timestamp, which are days or
                       milliseconds
BigDecimal             Decimal, INT8 … INT64
char                   INT8 … INT64
String, Class, UUID    STRING
enum                   STRING (RED, Color.RED, org.example.Color.RED), INT8 … INT64 (the ordinal)
boolean, byte[]        BOOLEAN; BYTES
Date, Timestamp        Timestamp, Date (midnight), INT8 … INT64 (milliseconds since 1970)
java.sql.Date          Date, Timestamp at midnight, INT8 … INT64 (days since 1970)
Time                   Time, INT8 … INT64 (milliseconds of the day)
=====================  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.time_zones import UTC
from ...ignite.types import type_codes as codes
from ...ignite.types.type_table import declared_field, field_of, mark_of
from ..connect.schema import DATE, TIME, TIMESTAMP, ConnectSchema, ConnectType, scale_of
from ..json.read_columns import UUID_FORM
from ..rules.enum_forms import enum_forms, enum_values
from .connect_numbers import chars, decimals, from_decimals, none_wrong, numbers
from .connect_times import days, days_at, instants, midnight_millis, times, units

DECIMAL = "decimal"
_INTEGERS = frozenset({ConnectType.INT8, ConnectType.INT16, ConnectType.INT32, ConnectType.INT64})
_CODES = {
    ConnectType.INT8: codes.BYTE, ConnectType.INT16: codes.SHORT, ConnectType.INT32: codes.INT,
    ConnectType.INT64: codes.LONG,
    ConnectType.FLOAT32: codes.FLOAT, ConnectType.FLOAT64: codes.DOUBLE, ConnectType.BOOLEAN: codes.BOOL,
    ConnectType.STRING: codes.STRING, ConnectType.BYTES: codes.BYTE_ARRAY,
    DECIMAL: codes.DECIMAL, TIME: codes.TIME, TIMESTAMP: codes.TIMESTAMP,
}  # fmt: skip
_LOGICAL = {(ConnectType.INT32, DATE), (ConnectType.INT32, TIME), (ConnectType.INT64, TIMESTAMP)}


class Converted(NamedTuple):
    """Values of a target: the array, the field that `ignite.binary.encode.encoded` takes it with, and the rows with a wrong value.

    What a wrong row holds means nothing; it may be null.
    """

    data: pa.Array
    field: pa.Field
    wrong: Mask


Cast = Callable[[pa.Array], Converted]


def kind_of(schema: ConnectSchema) -> str:
    """The schema's logical type (`decimal`, or its name), or its type."""
    if scale_of(schema) is not None:
        return DECIMAL
    return schema.name if schema.name is not None and (schema.type, schema.name) in _LOGICAL else schema.type


def own_field(name: str, schema: ConnectSchema) -> pa.Field:
    """The field of a schema without content where the cluster has none.

    The type that the table of Kafka Connect's types gives.
    """
    kind = kind_of(schema)
    return pa.field(name, pa.date32()) if kind == DATE else declared_field(name, _CODES[kind])


def scalar_cast(schema: ConnectSchema, field: pa.Field, zone: str = UTC) -> Cast | None:
    """The cast of a schema's values to a field without content; None: there is none.

    :param zone: time zone of java.sql.Date and java.sql.Time.
    """
    kind = kind_of(schema)
    whole = schema.type in _INTEGERS
    integer = whole and kind == schema.type
    mark = mark_of(field)
    wanted = field.type
    if mark == DECIMAL or pa.types.is_decimal(wanted):
        if kind != DECIMAL and not integer:
            return None
        return partial(_decimals, field)
    if mark in _MARKED:
        return _MARKED[mark](field, kind, integer, zone)
    if pa.types.is_timestamp(wanted) or wanted == pa.date32():
        return _temporal(field, kind, integer, zone)
    if pa.types.is_floating(wanted) or pa.types.is_integer(wanted):
        return _numbers(field, kind, whole)
    simple = {pa.bool_(): ConnectType.BOOLEAN, pa.string(): ConnectType.STRING, pa.binary(): ConnectType.BYTES}
    return partial(_as_they_are, field) if simple.get(wanted) == kind else None


def _of(field: pa.Field, function: Callable[[pa.Array], tuple[pa.Array, Mask]]) -> Cast:
    def cast(array: pa.Array) -> Converted:
        data, wrong = function(array)
        return Converted(data, field, wrong)

    return cast


def _as_they_are(field: pa.Field, array: pa.Array) -> Converted:
    return Converted(array, field, none_wrong(array))


def _decimals(field: pa.Field, array: pa.Array) -> Converted:
    """Decimals at the declared scale; without one each keeps its own."""
    data, wrong = decimals(array, field.type if pa.types.is_decimal128(field.type) else None)
    return Converted(data, field_of(field.name, data.type, DECIMAL), wrong)


def _numbers(field: pa.Field, kind: str, whole: bool) -> Cast | None:
    wanted = field.type
    if kind == DECIMAL:
        return _of(field, lambda array: from_decimals(array, wanted))
    if kind in (DATE, TIME, TIMESTAMP):
        return _of(field, lambda array: numbers(units(array), wanted)) if pa.types.is_integer(wanted) else None
    if not whole and kind not in (ConnectType.FLOAT32, ConnectType.FLOAT64):
        return None
    return _of(field, lambda array: numbers(array, wanted))


def _temporal(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    """Casts to java.util.Date, java.sql.Timestamp and java.sql.Date."""
    wanted = field.type
    if wanted == pa.date32():
        if kind == TIMESTAMP:
            return _of(field, lambda array: days_at(array, zone))
        return _of(field, days) if kind == DATE or integer else None
    if kind == DATE:
        return _of(field, lambda array: instants(midnight_millis(array, zone), wanted))
    return _of(field, lambda array: instants(array, wanted)) if kind == TIMESTAMP or integer else None


def _time(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    return _of(field, lambda array: times(array, zone)) if kind == TIME or integer else None


def _char(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    return _of(field, chars) if integer else None


def _class(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    return partial(_as_they_are, field) if kind == ConnectType.STRING else None


def _uuid(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    def uuids(array: pa.Array) -> tuple[pa.Array, Mask]:
        return array, ~np.asarray(pc.match_substring_regex(array, UUID_FORM).fill_null(True))

    return _of(field, uuids) if kind == ConnectType.STRING else None


def _enum(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    if kind != ConnectType.STRING and not integer:
        return None
    ordinals = enum_values(field)
    forms = enum_forms(field)
    made = field.with_type(pa.int32())

    def by_name(array: pa.Array) -> tuple[pa.Array, Mask]:
        found = pc.index_in(array, value_set=pa.array(list(forms), pa.string()))
        wrong = np.asarray(found.is_null()) & np.asarray(array.is_valid())
        return pa.array(list(forms.values()), pa.int32()).take(found), wrong

    def by_ordinal(array: pa.Array) -> tuple[pa.Array, Mask]:
        data, wrong = numbers(array, pa.int32())
        known = pc.is_in(data, value_set=pa.array(list(ordinals.values()), pa.int32()))
        return data, wrong | (~np.asarray(known) & np.asarray(array.is_valid()))

    return _of(made, by_ordinal if integer else by_name)


_MARKED: Mapping[str | None, Callable[[pa.Field, str, bool, str], Cast | None]] = {
    "time": _time, "char": _char, "class": _class, "uuid": _uuid, "enum": _enum,
}  # fmt: skip
