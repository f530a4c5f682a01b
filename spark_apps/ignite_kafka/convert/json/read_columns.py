"""Reader of JSON texts as Arrow columns, without a Python object per row.

:mod:`~ignite_kafka.convert.json.write_columns` writes these forms.

A column is parsed as a plain JSON type (:func:`parsed_as`) and then converted to its field's type (:func:`typed`). Rows
that do not match are returned as a mask; :mod:`.read_rows` then finds the reason or, for a few forms that columns do
not support, the value.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.arrow_layout import list_starts, null_mask
from ...ignite.binary.object_layout import is_optional
from ...ignite.types.type_table import ENUM_VALUES, mark_of
from ..rules.connect_decimals import decimals_from_bytes
from ..rules.enum_forms import enum_forms
from ..rules.json_bytes import bytes_from_json
from ..rules.json_times import sql_times_from_json, timestamps_from_json
from ..rules.marked_fields import is_open, spelling
from .write_columns import JsonFormat

_WIDE = 64
_NAME = re.compile(rb'"([^"\\]*)"[ \t\r\n]*:')
UUID_FORM = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_MARKED = {"char": pa.uint16(), "time": pa.int64(), "date": pa.int64(), "uuid": pa.string()}


def parsed_as(field: pa.Field, form: JsonFormat) -> pa.DataType | None:
    """Return the plain Arrow type to parse a field's JSON as; None if the field must be read row by row."""
    kind = field.type
    mark = mark_of(field)
    if is_open(field):
        return pa.null()
    if mark in _MARKED:
        return _MARKED[mark]
    if pa.types.is_decimal128(kind):
        return pa.string() if form.decimal_format == "BASE64" else None
    if mark == "decimal" or pa.types.is_null(kind):
        return None
    if mark == "enum":
        return pa.string() if ENUM_VALUES in field.metadata else None
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_binary(kind):
        return pa.string()
    if pa.types.is_list(kind):
        element = parsed_as(kind.value_field, form)
        return None if element is None else pa.list_(element)
    if pa.types.is_struct(kind):
        inner = [(spelling(child), parsed_as(child, form)) for child in kind]
        nothing = all(map(is_open, kind))
        return None if nothing or any(child_type is None for _, child_type in inner) else pa.struct(inner)
    return None if pa.types.is_map(kind) else kind


def narrowed(field: pa.Field, texts: pa.BinaryArray) -> pa.Field:
    """Return a wide object's field without optional members absent from all texts, to parse fewer columns.

    Each column costs time, even if it is all null.

    Members are found by their names in the texts. If a member is missed, because its name has escapes for example, its
    rows are read one by one.
    """
    if not _is_wide(field) or not len(texts):
        return field
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    names = set(_NAME.findall(texts.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))))
    return _with_members(field, names)


def _is_wide(field: pa.Field) -> bool:
    kind = field.type
    if pa.types.is_list(kind):
        return _is_wide(kind.value_field)
    return pa.types.is_struct(kind) and (kind.num_fields > _WIDE or any(map(_is_wide, kind)))


def _with_members(field: pa.Field, names: set[bytes]) -> pa.Field:
    kind = field.type
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_with_members(kind.value_field, names)))
    if not pa.types.is_struct(kind):
        return field
    kept = [child for child in kind if not is_optional(child) or spelling(child).encode() in names]
    return field.with_type(pa.struct([_with_members(child, names) for child in kept or list(kind)[:1]]))


def typed(array: pa.Array, field: pa.Field) -> tuple[pa.Array, Mask]:
    """Convert a parsed column to its field's type; return it and a mask of the rows whose values do not fit.

    Values in wrong rows are undefined.
    """
    kind = field.type
    mark = mark_of(field)
    right = np.zeros(len(array), bool)
    if pa.types.is_struct(kind):
        return _struct(array, field)
    if pa.types.is_list(kind):
        return _list(array, field)
    if mark == "char":
        return array.cast(pa.int32()), right
    if mark == "time":
        return sql_times_from_json(array)
    if mark == "uuid":
        return array, ~_fill(pc.match_substring_regex(array, UUID_FORM), True)
    if mark == "enum":
        return _enum(array, field)
    if pa.types.is_timestamp(kind):
        return timestamps_from_json(array, kind)
    if pa.types.is_date32(kind):
        return array.view(kind), right
    if pa.types.is_floating(kind):
        return array, ~_fill(pc.is_finite(array), True)
    if pa.types.is_binary(kind):
        return bytes_from_json(array)
    if pa.types.is_decimal(kind):
        return decimals_from_bytes(*bytes_from_json(array), kind)
    return array, right


def _struct(array: pa.StructArray, field: pa.Field) -> tuple[pa.Array, Mask]:
    wrong = np.zeros(len(array), bool)
    columns = []
    fields = []
    for index, child in enumerate(field.type):
        column, bad = (array.field(index), False) if is_open(child) else typed(array.field(index), child)
        wrong |= bad
        if not child.nullable and column.null_count:
            wrong |= np.asarray(column.is_null())
        if not is_open(child):
            columns.append(column)
            fields.append(child.with_type(column.type).with_nullable(True))
    missing = null_mask(array)
    if missing is not None:
        wrong &= ~np.asarray(missing)
    if not fields:
        return pa.array([None if gone else {} for gone in _fill(array.is_null(), True)], pa.struct([])), wrong
    return pa.StructArray.from_arrays(columns, fields=fields, mask=missing), wrong


def _list(array: pa.ListArray, field: pa.Field) -> tuple[pa.Array, Mask]:
    values, bad = typed(array.flatten(), field.type.value_field)
    if not field.type.value_field.nullable and values.null_count:
        bad |= np.asarray(values.is_null())
    wrong = np.zeros(len(array), bool)
    if bad.any():
        wrong[np.asarray(pc.list_parent_indices(array))[bad]] = True
    kind = pa.list_(field.type.value_field.with_type(values.type))
    return pa.ListArray.from_arrays(list_starts(array), values, type=kind, mask=null_mask(array)), wrong


def _enum(array: pa.Array, field: pa.Field) -> tuple[pa.Array, Mask]:
    """Return the ordinals of enum constants given by name, and a mask of the rows with unknown names."""
    forms = enum_forms(field)
    places = pc.index_in(array, value_set=pa.array(list(forms), pa.string()))
    wrong = np.asarray(places.is_null()) & np.asarray(array.is_valid())
    return pa.array(list(forms.values()), pa.int32()).take(places), wrong


def _fill(flags: pa.BooleanArray, value: bool) -> Mask:
    return np.asarray(flags.fill_null(value))
