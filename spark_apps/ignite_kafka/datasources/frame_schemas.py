"""Conversion between columns of DataFrames and Kafka Connect's data model.

The table has the schema of each of Spark's types.

==================================  ============================================
Spark                               Kafka Connect
==================================  ============================================
byte, short, int, long              INT8, INT16, INT32, INT64
float, double, boolean              FLOAT32, FLOAT64, BOOLEAN
string, binary                      STRING, BYTES
decimal(p, s)                       Decimal of scale s
date, timestamp                     Date, Timestamp (milliseconds, rounded down)
array, map, struct                  ARRAY, MAP, STRUCT; nullable is optional
==================================  ============================================
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrow_layout import list_starts, null_mask
from ..common.exact_decimals import exact_cast
from ..convert.connect import ConnectField, ConnectSchema, ConnectType
from ..convert.connect.schema import arrow_type, date, decimal, timestamp
from ..errors import UnsupportedType
from ..ignite.binary.unify_types import cast_exactly

_SIMPLE = {
    pa.int8(): ConnectType.INT8, pa.int16(): ConnectType.INT16, pa.int32(): ConnectType.INT32,
    pa.int64(): ConnectType.INT64,
    pa.float32(): ConnectType.FLOAT32, pa.float64(): ConnectType.FLOAT64, pa.bool_(): ConnectType.BOOLEAN,
    pa.string(): ConnectType.STRING, pa.binary(): ConnectType.BYTES,
}  # fmt: skip


def schema_of(field: pa.Field, path: str = "") -> ConnectSchema:
    """Derive the Connect schema of a DataFrame's column from its type.

    :raises UnsupportedType: Kafka Connect has no schema for the column's type; the error names the field.
    """
    kind = field.type
    path = path or field.name
    if kind in _SIMPLE:
        schema = ConnectSchema(_SIMPLE[kind])
    elif pa.types.is_decimal(kind):
        schema = decimal(kind.scale)
    elif pa.types.is_date32(kind):
        schema = date()
    elif pa.types.is_timestamp(kind) and kind.tz:
        schema = timestamp()
    elif pa.types.is_struct(kind):
        schema = ConnectSchema(
            ConnectType.STRUCT,
            fields=tuple(
                ConnectField(inner_field.name, schema_of(inner_field, f"{path}.{inner_field.name}"))
                for inner_field in kind
            ),
        )
    elif pa.types.is_list(kind):
        schema = ConnectSchema(ConnectType.ARRAY, value_schema=schema_of(kind.value_field, f"{path}[]"))
    elif pa.types.is_map(kind):
        keys = schema_of(kind.key_field, f"{path}{{key}}")
        items = schema_of(kind.item_field, f"{path}{{}}")
        schema = ConnectSchema(ConnectType.MAP, key_schema=keys, value_schema=items)
    else:
        raise UnsupportedType(
            f"column {path} is of type {kind}, for which Kafka Connect has no form", "Cast it.", field=path
        )
    return schema.as_optional(field.nullable)


def to_connect(array: pa.Array, schema: ConnectSchema) -> pa.Array:
    """Convert a DataFrame's column to the Arrow type of its Connect schema, before serialization."""
    mask = null_mask(array)
    if schema.type is ConnectType.STRUCT:
        columns = [
            to_connect(column, field.schema) for column, field in zip(array.flatten(), schema.fields, strict=True)
        ]
        if not columns:
            return pa.array([{}] * len(array), pa.struct([]), mask=mask)
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(schema)), mask=mask)
    if schema.type is ConnectType.ARRAY:
        assert schema.value_schema is not None
        return pa.ListArray.from_arrays(
            list_starts(array), to_connect(array.flatten(), schema.value_schema), type=arrow_type(schema), mask=mask
        )
    if schema.type is ConnectType.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        lists = _entries(array)
        keys, items = lists.flatten().flatten()
        columns = [to_connect(keys, schema.key_schema), to_connect(items, schema.value_schema)]
        return pa.MapArray.from_arrays(list_starts(lists), *columns, arrow_type(schema), mask=mask)
    if pa.types.is_timestamp(array.type):
        return pc.floor_temporal(array, unit="millisecond").cast(arrow_type(schema))
    return exact_cast(array, arrow_type(schema))


def to_frame(array: pa.Array, frame_type: pa.DataType, path: str) -> pa.Array:
    """Convert a deserialized column of Connect data to the type of a DataFrame's column.

    Fields are matched by name; fields without a target are dropped.

    :raises UnsupportedType: the target cannot hold a value exactly; the error names the field.
    """
    source = array.type
    if source == frame_type:
        return array
    mask = null_mask(array)
    if array.null_count == len(array):
        return pa.nulls(len(array), frame_type)
    if pa.types.is_struct(source) and pa.types.is_struct(frame_type):
        column_of = dict(zip((field.name for field in source), array.flatten(), strict=True))
        columns = [
            to_frame(column_of.get(field.name, pa.nulls(len(array))), field.type, f"{path}.{field.name}")
            for field in frame_type
        ]
        return pa.StructArray.from_arrays(columns, fields=list(frame_type), mask=mask)
    if pa.types.is_list(source) and pa.types.is_list(frame_type):
        return pa.ListArray.from_arrays(
            list_starts(array),
            to_frame(array.flatten(), frame_type.value_type, f"{path}[]"),
            type=frame_type,
            mask=mask,
        )
    if pa.types.is_map(source) and pa.types.is_map(frame_type):
        lists = _entries(array)
        keys, items = lists.flatten().flatten()
        columns = [
            to_frame(keys, frame_type.key_type, f"{path}{{key}}"),
            to_frame(items, frame_type.item_type, f"{path}{{}}"),
        ]
        return pa.MapArray.from_arrays(list_starts(lists), *columns, frame_type, mask=mask)
    return cast_exactly(array, frame_type, path)


def _entries(array: pa.MapArray) -> pa.ListArray:
    return array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
