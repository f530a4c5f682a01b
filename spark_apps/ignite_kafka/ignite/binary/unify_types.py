"""Choice of a common Arrow type for two fields, and exact casts to it."""

from __future__ import annotations

import pyarrow as pa

from ...common.exact_decimals import exact_cast
from ...errors import UnsupportedType
from ..types.type_table import field_of, mark_of


def unify_fields(first: pa.Field, second: pa.Field) -> pa.Field | None:
    """Return a field, named as the first, that holds the values of both exactly; None if there is none.

    Integers widen, floats widen, the null type is replaced, decimals of different scales become text, containers are
    unified inside.
    """
    kind = first.type
    other = second.type
    if pa.types.is_null(other) or kind == other:
        return first
    if pa.types.is_null(kind):
        return second.with_name(first.name)
    if mark_of(first) != mark_of(second):
        return None
    if mark_of(first) == "decimal":
        return field_of(first.name, pa.string(), "decimal")
    if (pa.types.is_integer(kind) and pa.types.is_integer(other)) or (
        pa.types.is_floating(kind) and pa.types.is_floating(other)
    ):
        return first.with_type(kind if kind.bit_width > other.bit_width else other)
    inner = _unify_inner(kind, other)
    return None if inner is None else first.with_type(inner)


def _unify_inner(kind: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if pa.types.is_list(kind) and pa.types.is_list(other):
        item = unify_fields(kind.value_field, other.value_field)
        return None if item is None else pa.list_(item)
    if pa.types.is_map(kind) and pa.types.is_map(other):
        key = unify_fields(kind.key_field, other.key_field)
        value = unify_fields(kind.item_field, other.item_field)
        return None if key is None or value is None else pa.map_(key.with_nullable(False), value)
    if pa.types.is_struct(kind) and pa.types.is_struct(other):
        fields = {field.name: field for field in kind}
        for field in other:
            joined = unify_fields(fields[field.name], field) if field.name in fields else field
            if joined is None:
                return None
            fields[field.name] = joined
        return pa.struct(list(fields.values()))
    return None


def cast_exactly(array: pa.Array, target: pa.DataType, path: str) -> pa.Array:
    """Cast an array to a type without changing a value; `path` is the field's name for errors.

    :raises UnsupportedType: a value that the target cannot hold.
    """
    source = array.type
    if source.equals(target, check_metadata=True):
        return array
    if pa.types.is_null(source) or array.null_count == len(array):
        return pa.nulls(len(array), target)
    if pa.types.is_struct(source) and pa.types.is_struct(target):
        return _cast_struct(array, target, path)
    if pa.types.is_list(source) and pa.types.is_list(target):
        values = cast_exactly(array.values, target.value_type, f"{path}[]")
        return pa.ListArray.from_arrays(
            array.offsets, values, type=target, mask=array.is_null() if array.null_count else None
        )
    if pa.types.is_map(source) and pa.types.is_map(target):
        keys = cast_exactly(array.keys, target.key_type, f"{path} key")
        items = cast_exactly(array.items, target.item_type, f"{path} value")
        offsets = pa.array(array.offsets.to_numpy())
        return pa.MapArray.from_arrays(offsets, keys, items, target, mask=array.is_null() if array.null_count else None)
    if not _is_castable(source, target):
        raise _cast_error(path, source, target, "")
    try:
        return exact_cast(array, target)
    except pa.ArrowInvalid as error:
        raise _cast_error(path, source, target, f": {error}") from None


def _is_castable(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Arrow's cast between two types either keeps a value exactly or raises an error."""
    kinds = pa.types
    return bool(
        (kinds.is_integer(source) and kinds.is_integer(target))
        or (kinds.is_floating(source) and kinds.is_floating(target) and target.bit_width >= source.bit_width)
        or (kinds.is_timestamp(source) and kinds.is_timestamp(target) and source.tz == target.tz)
        or (kinds.is_decimal(source) and (kinds.is_decimal(target) or kinds.is_string(target)))
        or (kinds.is_string(source) and kinds.is_decimal(target))
        or (kinds.is_time(source) and kinds.is_string(target))
    )


def _cast_struct(array: pa.StructArray, target: pa.StructType, path: str) -> pa.Array:
    names_of_target = {field.name for field in target}
    for field, column in zip(array.type, array.flatten(), strict=True):
        if field.name not in names_of_target and column.null_count < len(column):
            raise UnsupportedType(
                f"Field {path}.{field.name} is not in the schema", _REMEDY, field=f"{path}.{field.name}"
            )
    names = {field.name: index for index, field in enumerate(array.type)}
    empty = pa.nulls(len(array))
    columns = [
        cast_exactly(
            array.field(names[field.name]) if field.name in names else empty, field.type, f"{path}.{field.name}"
        )
        for field in target
    ]
    mask = array.is_null() if array.null_count else None
    if not columns:
        return pa.array([{}] * len(array), target, mask=mask)
    return pa.StructArray.from_arrays(columns, fields=list(target), mask=mask)


_REMEDY = "Take the schema from more rows (sample_rows), give the cache a query entity, or copy it as JSON"


def _cast_error(path: str, source: pa.DataType, target: pa.DataType, why: str) -> UnsupportedType:
    return UnsupportedType(f"Field {path} holds {source}, its column is {target}{why}", _REMEDY, field=path)
