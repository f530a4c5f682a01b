"""Arrow arrays of values that were read row by row, because columns could not hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...ignite.binary.encode import encoded
from ...ignite.binary.object_layout import as_optional, is_optional
from ...ignite.types.type_table import MARK, TYPE_NAME, object_field
from ..rules.marked_fields import ANY, OBJECT, is_a
from .object_types import ObjectTypes

ENCODED = pa.field("", pa.binary(), metadata={MARK: b"encoded"})


def array_of(values: Sequence[Any], field: pa.Field, objects: ObjectTypes) -> tuple[pa.Array, pa.Field]:
    """Return values from :class:`~.json.read_rows.RowReader` as an Arrow array and the field to encode it with."""
    kind = field.type
    if is_a(field, OBJECT) or pa.types.is_struct(kind):
        return _structs(values, field, objects)
    if is_a(field, ANY):
        return _any(values, field, objects)
    if pa.types.is_list(kind):
        items, element = array_of(
            [member for value in values if value is not None for member in value], kind.value_field, objects
        )
        array = pa.ListArray.from_arrays(_starts(values), items, type=pa.list_(element), mask=_missing(values))
        return array, field.with_type(array.type)
    if pa.types.is_map(kind):
        pairs = [pair for value in values if value is not None for pair in value]
        keys, key_field = array_of([key for key, _ in pairs], kind.key_field, objects)
        items, item_field = array_of([item for _, item in pairs], kind.item_field, objects)
        starts = pa.array(np.asarray(_starts(values)), mask=np.array([*(value is None for value in values), False]))
        array = pa.MapArray.from_arrays(starts, keys, items, pa.map_(key_field.with_nullable(False), item_field))
        return array, field.with_type(array.type)
    return pa.array(values, kind), field


def _structs(values: Sequence[Any], field: pa.Field, objects: ObjectTypes) -> tuple[pa.Array, pa.Field]:
    if all(value is None for value in values):  # also the innermost level of a type that contains itself
        return pa.nulls(len(values), pa.binary()), ENCODED.with_name(field.name)
    name = str(field.metadata[TYPE_NAME], "utf-8")
    written = _written_fields(objects.written(name), values)
    columns = [
        array_of([None if value is None else value.get(child.name) for value in values], child, objects)
        for child in written
    ]
    fields = [
        as_optional(encoded_field.with_nullable(True), child)
        for child, (_, encoded_field) in zip(written, columns, strict=True)
    ]
    array = pa.StructArray.from_arrays([column for column, _ in columns], fields=fields, mask=_missing(values))
    return array, object_field(field.name, name, fields)


def _written_fields(fields: Sequence[pa.Field], values: Sequence[Any]) -> Sequence[pa.Field]:
    """Return the fields to write, without optional fields that are null in all values."""
    names = {label for value in values if value is not None for label, item in value.items() if item is not None}
    return [field for field in fields if field.name in names or not is_optional(field)] or fields[:1]


def _any(values: Sequence[Any], field: pa.Field, objects: ObjectTypes) -> tuple[pa.Array, pa.Field]:
    """Encode values of any types: the values of each type as one column."""
    kinds: dict[tuple[str, bytes | None], list[int]] = {}
    of_field: dict[int, tuple[str, bytes | None]] = {}  # by identity: values of one type share their field
    for row, value in enumerate(values):
        if value is not None:
            kind = of_field.get(id(value.field))
            if kind is None:
                kind = of_field[id(value.field)] = _kind(value.field)
            kinds.setdefault(kind, []).append(row)
    parts = [
        encoded(*array_of([values[row].value for row in rows], values[rows[0]].field, objects), schemas=objects)
        for rows in kinds.values()
    ]
    place = np.full(len(values), -1, np.int64)
    order = [row for rows in kinds.values() for row in rows]
    place[order] = np.arange(len(order))
    flat = pa.concat_arrays(parts) if parts else pa.array([], pa.binary())
    array = flat.take(pa.array(np.maximum(place, 0), mask=place < 0)) if parts else pa.nulls(len(values), pa.binary())
    return array, ENCODED.with_name(field.name)


def _kind(field: pa.Field) -> tuple[str, bytes | None]:
    return str(field.type), (field.metadata or {}).get(TYPE_NAME)


def _starts(values: Sequence[Any]) -> pa.Array:
    starts = np.zeros(len(values) + 1, np.int32)
    np.cumsum([0 if value is None else len(value) for value in values], out=starts[1:])
    return pa.array(starts)


def _missing(values: Sequence[Any]) -> pa.Array | None:
    missing = [value is None for value in values]
    return pa.array(missing, pa.bool_()) if any(missing) else None
