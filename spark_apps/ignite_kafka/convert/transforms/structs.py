"""Columns of structs with the rules of Connect's ``Struct``: defaults, and values that are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, arrow_type, default_array
from .thrown import SCHEMA_BUILDER_EXCEPTION, Failures, Thrown, is_logical, java_class


def struct_schema(column: ConnectColumn, purpose: str) -> ConnectSchema:
    """Return a column's schema if it is a STRUCT; otherwise raise Thrown, as ``Requirements.requireStruct``.

    :raises Thrown: the schema has another type.
    """
    schema = column.schema
    assert schema is not None
    if schema.type is not ConnectType.STRUCT:
        actual = java_class(schema) if column.data.null_count < len(column.data) else "null"
        raise Thrown(f"Only Struct objects supported for [{purpose}], found: {actual}")
    return schema


def refuse_others(column: ConnectColumn, purpose: str, failures: Failures, *, null_reason: str) -> None:
    """Refuse a column that is not of STRUCTs; nulls pass, as with ``Requirements.requireStructOrNull``.

    :param null_reason: Kafka Connect's message for a null, whose schema has no fields to look up.
    :raises Thrown: the column is not of structs; values that are not null are noted before, with another message.
    """
    schema = column.schema
    assert schema is not None
    if schema.type is not ConnectType.STRUCT:
        failures.add(
            column.data.is_valid(), f"Only Struct objects supported for [{purpose}], found: {java_class(schema)}"
        )
        raise Thrown(null_reason)


def field_values(column: ConnectColumn, number: int, *, use_default: bool) -> pa.Array:
    """Return the values of a field in a column of structs; null where the struct is null.

    :param use_default: whether to return the field's default instead of null (``Struct.get``).
    """
    assert column.schema is not None
    values = pc.struct_field(column.data, [number])
    schema = column.schema.fields[number].schema
    if not use_default or schema.default is None or not values.null_count:
        return values
    missing = pc.and_(values.is_null(), column.data.is_valid())
    default = default_array(schema)
    if default.type != values.type:
        values, default = _same_type(values, default)
    places = np.where(np.asarray(missing), len(values), np.arange(len(values)))
    return pa.concat_arrays([values, default]).take(pa.array(places))


def _same_type(values: pa.Array, default: pa.Array) -> tuple[pa.Array, pa.Array]:
    if pa.types.is_string(values.type) or pa.types.is_string(default.type):  # decimals as text
        return values.cast(pa.string()), default.cast(pa.string())
    return values, default.cast(values.type)


def put(
    name: str, schema: ConnectSchema, values: pa.Array, failures: Failures, is_valid: pa.BooleanArray | None = None
) -> None:
    """Fail the records in which ``Struct.put`` would refuse a null of a required field.

    :param is_valid: flags of the records that have a struct; None: all records have one.
    """
    if not schema.optional and values.null_count:
        reason = f'Invalid value: null used for required field: "{name}", schema type: {schema.type.name}'
        failures.add(values.is_null() if is_valid is None else pc.and_(values.is_null(), is_valid), reason)


def put_other(name: str, schema: ConnectSchema, values: pa.Array, other: ConnectSchema, failures: Failures) -> pa.Array:
    """Fail the records in which ``Struct.put`` would refuse another field's value; return the values.

    :param other: schema of the values.
    :returns: the values; nulls of the field's type if all values are refused.
    """
    put(name, schema, values, failures)
    if _takes(schema, other):
        return values
    if schema.type is other.type is ConnectType.STRUCT:
        reason = "Struct schemas do not match."
    else:
        named = f' "{schema.name}"' if schema.name else ""
        reason = (
            f"Invalid Java object for schema{named} with type {schema.type.name}: class {java_class(other)} for field: "
            f'"{name}"'
        )
    failures.add(values.is_valid(), reason)
    return pa.nulls(len(values), arrow_type(schema))


def _takes(schema: ConnectSchema, other: ConnectSchema) -> bool:
    """Return whether a schema accepts another's values, as ``ConnectSchema.validateValue`` decides.

    Logical values must also have the same name and parameters, because their columns differ although Java's class may
    be the same.
    """
    if schema.type is ConnectType.STRUCT:
        return schema == other
    if is_logical(schema) or is_logical(other):
        return (schema.type, schema.name, schema.parameters) == (other.type, other.name, other.parameters)
    parts = ((schema.key_schema, other.key_schema), (schema.value_schema, other.value_schema))
    return schema.type is other.type and all(
        first is None or second is None or _takes(first, second) for first, second in parts
    )


def struct_column(
    fields: Sequence[ConnectField], columns: Sequence[pa.Array], schema: ConnectSchema, count: int
) -> ConnectColumn:
    """Return a column of N structs whose fields are the given columns.

    :param schema: schema of the structs, without fields.
    """
    if fields:
        names = [pa.field(field.name, values.type) for field, values in zip(fields, columns, strict=True)]
        data: pa.Array = pa.StructArray.from_arrays(list(columns), fields=names)
    else:
        data = pa.array([{}] * count, pa.struct([]))
    return ConnectColumn(data, replace(schema, fields=tuple(fields)))


def basics(schema: ConnectSchema, kind: ConnectType = ConnectType.STRUCT) -> ConnectSchema:
    """Return a schema with the name, version, doc and parameters of another (``SchemaUtil.copySchemaBasics``)."""
    return ConnectSchema(kind, name=schema.name, version=schema.version, doc=schema.doc, parameters=schema.parameters)


def check_names(fields: Sequence[ConnectField]) -> None:
    """Refuse empty and repeated field names of a new struct, as ``SchemaBuilder.field`` does.

    :raises Thrown: two fields have the same name, or a name is empty.
    """
    seen: set[str] = set()
    for field in fields:
        if not field.name:
            raise Thrown("fieldName cannot be null.", SCHEMA_BUILDER_EXCEPTION)
        if field.name in seen:
            raise Thrown(
                f"Cannot create field because of field name duplication {field.name}", SCHEMA_BUILDER_EXCEPTION
            )
        seen.add(field.name)


def constant(value: Any, schema: ConnectSchema, count: int) -> pa.Array:
    """Return an array that repeats one value N times."""
    return pa.repeat(pa.scalar(value, arrow_type(schema)), count)
