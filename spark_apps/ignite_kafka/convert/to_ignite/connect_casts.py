"""Casts of Connect values to Ignite types; inexact results are refused.

A value that is not exact in the Ignite type is refused.

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
    """Converted values: Arrow array, field to encode it with, and mask of the values that do not fit.

    Array and field are for `ignite.binary.encode.encoded`. Values in wrong rows are undefined, and may be null.
    """

    data: pa.Array
    field: pa.Field
    wrong: Mask


Cast = Callable[[pa.Array], Converted]


def kind_of(schema: ConnectSchema) -> str:
    """Return a schema's logical type, such as Date or `decimal`; without one, its type."""
    if scale_of(schema) is not None:
        return DECIMAL
    return schema.name if schema.name is not None and (schema.type, schema.name) in _LOGICAL else schema.type


def own_field(name: str, schema: ConnectSchema) -> pa.Field:
    """Return the Ignite field for a scalar schema whose field the cluster does not have yet.

    The table of Kafka Connect's types decides the field's type.
    """
    kind = kind_of(schema)
    return pa.field(name, pa.date32()) if kind == DATE else declared_field(name, _CODES[kind])


def scalar_cast(schema: ConnectSchema, field: pa.Field, zone: str = UTC) -> Cast | None:
    """Return the function that casts a scalar schema's values to an Ignite field; None if no cast exists.

    :param zone: time zone of java.sql.Date and java.sql.Time.
    """
    kind = kind_of(schema)
    whole = schema.type in _INTEGERS
    integer = whole and kind == schema.type
    mark = mark_of(field)
    arrow_type = field.type
    if mark == DECIMAL or pa.types.is_decimal(arrow_type):
        if kind != DECIMAL and not integer:
            return None
        return partial(_cast_decimals, field)
    if mark in _MARKED:
        return _MARKED[mark](field, kind, integer, zone)
    if pa.types.is_timestamp(arrow_type) or arrow_type == pa.date32():
        return _cast_to_dates(field, kind, integer, zone)
    if pa.types.is_floating(arrow_type) or pa.types.is_integer(arrow_type):
        return _cast_to_numbers(field, kind, whole)
    simple = {pa.bool_(): ConnectType.BOOLEAN, pa.string(): ConnectType.STRING, pa.binary(): ConnectType.BYTES}
    return partial(_keep, field) if simple.get(arrow_type) == kind else None


def _make_cast(field: pa.Field, function: Callable[[pa.Array], tuple[pa.Array, Mask]]) -> Cast:
    def cast(array: pa.Array) -> Converted:
        data, wrong = function(array)
        return Converted(data, field, wrong)

    return cast


def _keep(field: pa.Field, array: pa.Array) -> Converted:
    return Converted(array, field, none_wrong(array))


def _cast_decimals(field: pa.Field, array: pa.Array) -> Converted:
    """Cast decimals to the field's declared scale; without one, each value keeps its own."""
    data, wrong = decimals(array, field.type if pa.types.is_decimal128(field.type) else None)
    return Converted(data, field_of(field.name, data.type, DECIMAL), wrong)


def _cast_to_numbers(field: pa.Field, kind: str, whole: bool) -> Cast | None:
    arrow_type = field.type
    if kind == DECIMAL:
        return _make_cast(field, lambda array: from_decimals(array, arrow_type))
    if kind in (DATE, TIME, TIMESTAMP):
        return (
            _make_cast(field, lambda array: numbers(units(array), arrow_type))
            if pa.types.is_integer(arrow_type)
            else None
        )
    if not whole and kind not in (ConnectType.FLOAT32, ConnectType.FLOAT64):
        return None
    return _make_cast(field, lambda array: numbers(array, arrow_type))


def _cast_to_dates(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    """Return the cast to java.util.Date, java.sql.Timestamp or java.sql.Date; None if no cast exists."""
    arrow_type = field.type
    if arrow_type == pa.date32():
        if kind == TIMESTAMP:
            return _make_cast(field, lambda array: days_at(array, zone))
        return _make_cast(field, days) if kind == DATE or integer else None
    if kind == DATE:
        return _make_cast(field, lambda array: instants(midnight_millis(array, zone), arrow_type))
    return _make_cast(field, lambda array: instants(array, arrow_type)) if kind == TIMESTAMP or integer else None


def _cast_to_times(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    return _make_cast(field, lambda array: times(array, zone)) if kind == TIME or integer else None


def _cast_to_chars(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    return _make_cast(field, chars) if integer else None


def _cast_to_classes(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    return partial(_keep, field) if kind == ConnectType.STRING else None


def _cast_to_uuids(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    def uuids(array: pa.Array) -> tuple[pa.Array, Mask]:
        return array, ~np.asarray(pc.match_substring_regex(array, UUID_FORM).fill_null(True))

    return _make_cast(field, uuids) if kind == ConnectType.STRING else None


def _cast_to_enums(field: pa.Field, kind: str, integer: bool, zone: str) -> Cast | None:
    if kind != ConnectType.STRING and not integer:
        return None
    ordinals = enum_values(field)
    forms = enum_forms(field)
    ordinal_field = field.with_type(pa.int32())

    def by_name(array: pa.Array) -> tuple[pa.Array, Mask]:
        places = pc.index_in(array, value_set=pa.array(list(forms), pa.string()))
        wrong = np.asarray(places.is_null()) & np.asarray(array.is_valid())
        return pa.array(list(forms.values()), pa.int32()).take(places), wrong

    def by_ordinal(array: pa.Array) -> tuple[pa.Array, Mask]:
        data, wrong = numbers(array, pa.int32())
        is_ordinal = pc.is_in(data, value_set=pa.array(list(ordinals.values()), pa.int32()))
        return data, wrong | (~np.asarray(is_ordinal) & np.asarray(array.is_valid()))

    return _make_cast(ordinal_field, by_ordinal if integer else by_name)


_MARKED: Mapping[str | None, Callable[[pa.Field, str, bool, str], Cast | None]] = {
    "time": _cast_to_times, "char": _cast_to_chars, "class": _cast_to_classes, "uuid": _cast_to_uuids,
    "enum": _cast_to_enums,
}  # fmt: skip
