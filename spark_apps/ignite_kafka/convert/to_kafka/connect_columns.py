"""Conversion of decoded Ignite columns to Connect columns, one for each schema."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import RowIndex
from ...common.arrow_layout import list_starts, null_mask, union_layout
from ...common.exact_decimals import exact_cast
from ...errors import UnsupportedType
from ...ignite.types.type_table import mark_of
from ..connect.columns import ConnectColumn, ConnectPart
from ..connect.schema import ConnectSchema, ConnectType, arrow_type, scale_of
from ..rules.decimal_scales import is_decimal
from ..rules.json_times import DAY_MS, instants_to_json
from .connect_schemas import SchemaRules, row_schemas

_MOST_DIGITS = 38
_MOST_WIDE_DIGITS = 76


def connect_parts(array: pa.Array, field: pa.Field, rules: SchemaRules, zone: str = "UTC") -> list[ConnectPart]:
    """Convert a decoded column to Connect columns, one for each schema, with their rows.

    :param array: N values, none null, of a decoded column.
    :param field: the column's field with its marks.
    :param zone: time zone of the hours in a java.sql.Time.
    :raises UnsupportedType: Kafka Connect has no form for a value; the message names the field.
    """
    by_row = row_schemas(array, field, rules)
    numbers = np.flatnonzero(np.bincount(by_row.ids)).tolist()
    return [
        part_of(array, field, np.flatnonzero(by_row.ids == number), by_row.schemas[number].as_optional(False), zone)
        for number in numbers
    ]


def part_of(array: pa.Array, field: pa.Field, rows: RowIndex, schema: ConnectSchema, zone: str) -> ConnectPart:
    """Convert some rows of a decoded column, all of one schema, to a Connect column."""
    values = array if rows.size == len(array) else array.take(pa.array(rows))
    return ConnectPart(rows, ConnectColumn(projected(values, field, schema, zone), schema))


def projected(array: pa.Array, field: pa.Field, schema: ConnectSchema, zone: str = "UTC", path: str = "") -> pa.Array:
    """Convert a decoded column to the Arrow type that a Connect schema requires.

    :param schema: schema of the result: other fields of objects are left out, fields missing in the column are null.
    :raises UnsupportedType: the schema cannot hold a value; the message names the field.
    """
    if pa.types.is_dictionary(array.type):
        array, field = array.dictionary_decode(), field.with_type(array.type.value_type)
    kind = array.type
    if pa.types.is_union(kind):
        return _of_union(array, field, schema, zone, path)
    if array.null_count == len(array):
        return pa.nulls(len(array), arrow_type(schema))
    if schema.type is ConnectType.STRUCT:
        return _struct(array, field, schema, zone, path)
    if schema.type is ConnectType.ARRAY:
        assert schema.value_schema is not None
        values = projected(array.flatten(), field.type.value_field, schema.value_schema, zone, f"{path}[]")
        return pa.ListArray.from_arrays(
            list_starts(array), values, type=pa.list_(pa.field("item", values.type)), mask=null_mask(array)
        )
    if schema.type is ConnectType.MAP:
        return _map(array, field, schema, zone, path)
    if is_decimal(field):
        return _decimal(array, schema)
    if mark_of(field) == "time":
        return _times_of_day(array, zone, path)
    if pa.types.is_date(kind):
        return array.cast(pa.date32())
    if pa.types.is_time(kind):
        return instants_to_json(array).cast(pa.int32()).view(pa.time32("ms"))
    if pa.types.is_timestamp(kind):
        return instants_to_json(array).view(pa.timestamp("ms", "UTC"))
    return array


def _struct(array: pa.StructArray, field: pa.Field, schema: ConnectSchema, zone: str, path: str) -> pa.Array:
    at = {child.name: number for number, child in enumerate(field.type)}
    columns = []
    fields = []
    for target in schema.fields:
        name = f"{path}.{target.name}" if path else target.name
        number = at.get(target.name)
        if number is None:
            column = pa.nulls(len(array), arrow_type(target.schema))
        else:
            column = projected(array.field(number), field.type.field(number), target.schema, zone, name)
        columns.append(column)
        fields.append(pa.field(target.name, column.type))
    if not fields:
        valid = np.asarray(array.is_valid())
        return pa.array([{} if is_valid else None for is_valid in valid], pa.struct([]))
    return pa.StructArray.from_arrays(columns, fields=fields, mask=null_mask(array))


def _map(array: pa.MapArray, field: pa.Field, schema: ConnectSchema, zone: str, path: str) -> pa.Array:
    assert schema.key_schema is not None
    assert schema.value_schema is not None
    bounds = np.asarray(array.offsets)
    keys = projected(
        array.keys.slice(bounds[0], bounds[-1] - bounds[0]),
        field.type.key_field,
        schema.key_schema,
        zone,
        f"{path}{{key}}",
    )
    items = projected(
        array.items.slice(bounds[0], bounds[-1] - bounds[0]),
        field.type.item_field,
        schema.value_schema,
        zone,
        f"{path}{{}}",
    )
    offsets = pa.array(
        bounds - bounds[0], pa.int32(), mask=np.append(np.asarray(array.is_null()), False) if array.null_count else None
    )
    return pa.MapArray.from_arrays(
        offsets, keys, items, pa.map_(pa.field("key", keys.type, False), pa.field("value", items.type))
    )


def _of_union(array: pa.UnionArray, field: pa.Field, schema: ConnectSchema, zone: str, path: str) -> pa.Array:
    """Convert a union whose values all have this schema, or are null."""
    kind_of, offset = union_layout(array)
    parts = []
    place = np.full(len(array), -1, np.int64)
    total = 0
    for at, code in enumerate(array.type.type_codes):
        rows = np.flatnonzero(kind_of == code)
        child = array.field(at).take(pa.array(offset[rows]))
        if not rows.size or child.null_count == rows.size:
            continue
        parts.append(projected(child, field.type.field(at), schema, zone, path))
        place[rows] = total + np.arange(rows.size)
        total += rows.size
    if not parts:
        return pa.nulls(len(array), arrow_type(schema))
    whole = parts[0] if len(parts) == 1 else _join(parts, schema)
    return whole.take(pa.array(np.maximum(place, 0), mask=place < 0))


def _join(parts: Sequence[pa.Array], schema: ConnectSchema) -> pa.Array:
    """Concatenate columns of one schema, whose decimals may have different Arrow types."""
    kinds = {part.type for part in parts}
    if len(kinds) == 1:
        return pa.concat_arrays(parts)
    target = pa.string() if scale_of(schema) is not None else arrow_type(schema)
    return pa.concat_arrays([part.cast(target) for part in parts])


def _decimal(array: pa.Array, schema: ConnectSchema) -> pa.Array:
    """Convert decimals to the schema's scale as decimal128; as decimal256 or text if that is not exact."""
    scale = scale_of(schema)
    assert scale is not None
    if pa.types.is_decimal128(array.type) and array.type.scale == scale:
        return array
    if abs(scale) > _MOST_DIGITS:
        return array.cast(pa.string())
    for target in (pa.decimal256(_MOST_WIDE_DIGITS, scale), pa.decimal128(_MOST_DIGITS, scale)):
        try:
            array = exact_cast(array, target)
        except pa.ArrowInvalid:  # too many digits, or not exact: the serializer finds the value
            break
    return array if pa.types.is_decimal(array.type) and array.type.scale == scale else array.cast(pa.string())


def _times_of_day(array: pa.Array, zone: str, path: str) -> pa.Array:
    """Convert java.sql.Time, milliseconds since 1970, to milliseconds of the day in a time zone."""
    moments = array.view(pa.timestamp("ms", "UTC"))
    local = (
        moments.view(pa.int64())
        if zone == "UTC"
        else pc.local_timestamp(moments.cast(pa.timestamp("ms", zone))).view(pa.int64())
    )
    values = np.asarray(local.fill_null(0))
    wrong = np.flatnonzero((values < 0) | (values >= DAY_MS))
    if wrong.size:
        what = (
            f"field {path or '(whole)'} holds a java.sql.Time of {int(values[wrong[0]])} ms in time zone {zone}, which "
            "is no time of a day"
        )
        remedy = (
            "Set date_time_zone to the zone of the program that wrote it, or use converter json without schemas, or "
            "ignite-binary."
        )
        raise UnsupportedType(what, remedy, field=path or None)
    return local.cast(pa.int32()).view(pa.time32("ms"))
