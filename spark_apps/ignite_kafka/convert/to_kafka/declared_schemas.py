"""Connect schemas of types that are declared by query entities, in metadata, or by Arrow types.

Source: the reference's table of types (docs/types.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from ...errors import UnknownBinaryType
from ...ignite.types import type_codes as codes
from ...ignite.types.model import BinaryType, CacheInfo, QueryEntity, TypeSource
from ...ignite.types.type_table import BY_CODE, java_field, mark_of
from ...java.hash_code import java_hash
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, date, decimal, time, timestamp
from ..rules.decimal_scales import declared_scales, is_decimal

UNDEFINED = ConnectSchema(ConnectType.STRUCT, optional=True, name="o.g.k.c.s.undef")
"""Placeholder schema of the GridGain connector for values of unknown schema, such as a null object."""

_SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], ConnectSchema], ...] = (
    (pa.types.is_int8, ConnectSchema(ConnectType.INT8, True)),
    (pa.types.is_int16, ConnectSchema(ConnectType.INT16, True)),
    (pa.types.is_int32, ConnectSchema(ConnectType.INT32, True)),
    (pa.types.is_int64, ConnectSchema(ConnectType.INT64, True)),
    (pa.types.is_float32, ConnectSchema(ConnectType.FLOAT32, True)),
    (pa.types.is_float64, ConnectSchema(ConnectType.FLOAT64, True)),
    (pa.types.is_boolean, ConnectSchema(ConnectType.BOOLEAN, True)),
    (pa.types.is_string, ConnectSchema(ConnectType.STRING, True)),
    (pa.types.is_binary, ConnectSchema(ConnectType.BYTES, True)),
    (pa.types.is_date, date(optional=True)),
    (pa.types.is_time, time(optional=True)),
    (pa.types.is_timestamp, timestamp(optional=True)),
)


def simple_schema(field: pa.Field) -> ConnectSchema | None:
    """Return a field's optional schema if its Arrow type and mark determine it, and None otherwise.

    It is None for decimals, containers and the null type.
    """
    if mark_of(field) == "time":
        return time(optional=True)
    if is_decimal(field):
        return None
    return next((schema for fits, schema in _SIMPLE if fits(field.type)), None)


def schema_of_code(code: int, field: pa.Field) -> ConnectSchema | None:
    """Return the schema for a type code in binary metadata; None if the code alone does not determine it."""
    if code in (codes.ENUM, codes.BINARY_ENUM):
        ordinal = pa.types.is_int32(field.type)
        return ConnectSchema(ConnectType.INT32 if ordinal else ConnectType.STRING, True)
    entry = BY_CODE.get(code)
    if entry is None:
        return None
    if entry.element is not None:
        element = schema_of_code(entry.element, pa.field("", pa.null()))
        return None if element is None else ConnectSchema(ConnectType.ARRAY, True, value_schema=element)
    if entry.arrow is None:
        return None
    metadata_of = {b"ignite": entry.mark.encode()} if entry.mark else None
    return simple_schema(pa.field("", entry.arrow, metadata=metadata_of))


def declared_schemas(cache: CacheInfo, types: TypeSource, *, key: bool) -> Iterator[ConnectSchema]:
    """Yield the Connect schemas of a cache's keys (or values) that its query entities declare.

    A simple class has a schema of its own; an object's schema follows from its metadata. Nothing is yielded for other
    classes, and for types without any object yet.
    """
    for entity in cache.query_entities:
        name = entity.key_type if key else entity.value_type
        schema = _of_class(cache, entity, name, key=key)
        if schema is not None:
            yield schema.as_optional(False)
            continue
        try:
            binary = types.binary_type(java_hash(name.lower()))
        except UnknownBinaryType:
            continue
        yield _of_object(cache, binary, key=key) if not binary.is_enum else ConnectSchema(ConnectType.STRING)


def _of_class(cache: CacheInfo, entity: QueryEntity, name: str, *, key: bool) -> ConnectSchema | None:
    field = java_field("", name)
    if pa.types.is_null(field.type):
        return None
    if is_decimal(field):
        scale = declared_scales(cache, None, key=key).get(())
        return None if scale is None else decimal(scale)
    return simple_schema(field)


def _of_object(cache: CacheInfo, binary: BinaryType, *, key: bool) -> ConnectSchema:
    scales = declared_scales(cache, binary.type_id, key=key)
    fields = []
    for field in binary.fields:
        scale = scales.get((field.name.lower(),))
        declared = decimal(scale, optional=True) if field.type_code == codes.DECIMAL and scale is not None else None
        fields.append(
            ConnectField(field.name, declared or schema_of_code(field.type_code, pa.field("", pa.null())) or UNDEFINED)
        )
    return ConnectSchema(ConnectType.STRUCT, name=binary.name, fields=tuple(fields))
