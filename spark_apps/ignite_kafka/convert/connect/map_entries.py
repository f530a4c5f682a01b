"""Conversion between maps and lists of entries, because a JSON object has only texts as keys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.arrow_layout import null_mask
from .map_keys import unique_entries
from .schema import ConnectField, ConnectSchema, ConnectType

_ENTRY = "a map's entry"  # the name distinguishes an array of entries from one of structs that have the same fields


def is_listed(schema: ConnectSchema) -> bool:
    """Return whether JSON needs an array of entries for a MAP, because its keys are not texts or may be null."""
    keys = schema.key_schema
    return schema.type is ConnectType.MAP and (keys is None or keys.type is not ConnectType.STRING or keys.optional)


def has_listed(schema: ConnectSchema) -> bool:
    """Return whether a schema contains a MAP that JSON writes as an array of entries."""
    inner = [field.schema for field in schema.fields] + [
        part for part in (schema.key_schema, schema.value_schema) if part
    ]
    return is_listed(schema) or any(map(has_listed, inner))


def listed_schema(schema: ConnectSchema) -> ConnectSchema:
    """Return the schema with an ARRAY of entries in place of each MAP that JSON cannot write as an object."""
    fields = tuple(ConnectField(field.name, listed_schema(field.schema)) for field in schema.fields)
    key = schema.key_schema and listed_schema(schema.key_schema)
    value = schema.value_schema and listed_schema(schema.value_schema)
    if not is_listed(schema):
        return replace(schema, fields=fields, key_schema=key, value_schema=value)
    assert key
    assert value
    entry = ConnectSchema(
        ConnectType.STRUCT, name=_ENTRY, fields=(ConnectField("key", key), ConnectField("value", value))
    )
    default = (
        schema.default
        if schema.default is None
        else [{"key": entry_key, "value": entry_value} for entry_key, entry_value in schema.default]
    )
    return ConnectSchema(
        ConnectType.ARRAY,
        schema.optional,
        schema.name,
        schema.version,
        schema.doc,
        schema.parameters,
        default,
        value_schema=entry,
    )


def to_lists(array: pa.Array, schema: ConnectSchema) -> pa.Array:
    """Convert values of a schema to values of its :func:`listed_schema`, so that JSON can write them."""
    if not has_listed(schema):
        return array
    mask = null_mask(array)
    if schema.type is ConnectType.STRUCT:
        columns = [to_lists(array.field(number), field.schema) for number, field in enumerate(schema.fields)]
        return pa.StructArray.from_arrays(columns, names=[field.name for field in schema.fields], mask=mask)
    assert schema.value_schema
    if schema.type is ConnectType.ARRAY:
        return pa.ListArray.from_arrays(_offsets(array), to_lists(array.flatten(), schema.value_schema), mask=mask)
    assert schema.key_schema
    keys, items, offsets = _entries(array)
    keys = to_lists(keys, schema.key_schema)
    items = to_lists(items, schema.value_schema)
    if not is_listed(schema):
        return pa.MapArray.from_arrays(offsets, keys, items, mask=mask)
    return pa.ListArray.from_arrays(
        offsets, pa.StructArray.from_arrays([keys, items], names=["key", "value"]), mask=mask
    )


def to_maps(array: pa.Array, schema: ConnectSchema) -> tuple[pa.Array, Mask]:
    """Convert values of a :func:`listed_schema` back to maps; a row with a null key becomes null and is marked."""
    wrong = np.zeros(len(array), bool)
    if not has_listed(schema):
        return array, wrong
    mask = null_mask(array)
    if schema.type is ConnectType.STRUCT:
        columns = []
        for number, field in enumerate(schema.fields):
            column, bad = to_maps(array.field(number), field.schema)
            columns.append(column)
            wrong |= bad
        return pa.StructArray.from_arrays(columns, names=[field.name for field in schema.fields], mask=mask), wrong
    assert schema.value_schema
    if schema.type is ConnectType.ARRAY:
        values, bad = to_maps(array.flatten(), schema.value_schema)
        wrong |= _parents(array, bad)
        return pa.ListArray.from_arrays(_offsets(array), values, mask=mask), wrong
    assert schema.key_schema
    if is_listed(schema):
        null = array.flatten()
        wrong |= _parents(array, np.asarray(null.field(0).is_null()) | np.asarray(null.is_null()))
        if wrong.any():
            array = pc.if_else(pa.array(wrong), pa.scalar(None, array.type), array)
            mask = array.is_null()
        flat = array.flatten()
        keys = flat.field(0)
        items = flat.field(1)
        offsets = _offsets(array)
    else:
        keys, items, offsets = _entries(array)
    keys, bad_keys = to_maps(keys, schema.key_schema)
    items, bad = to_maps(items, schema.value_schema)
    counts = np.diff(np.asarray(offsets))
    parents = np.repeat(np.arange(len(array)), counts)
    wrong[parents[bad | bad_keys]] = True
    if is_listed(schema) and not bad_keys.any():
        starts, keys, items = unique_entries(np.asarray(offsets), keys, items)
        offsets = pa.array(starts)
    return pa.MapArray.from_arrays(offsets, keys, items, mask=mask), wrong


def _entries(array: pa.MapArray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return the keys and the values of all maps, and the position where each map starts."""
    entries = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
    mask = null_mask(array)
    flat = pa.ListArray.from_arrays(pa.array(np.array(array.offsets)), entries, mask=mask).flatten()
    return flat.field(0), flat.field(1), _offsets(array)


def _offsets(array: pa.Array) -> pa.Array:
    """Return where each list or map starts among the flattened values; a null has no values."""
    counts = np.diff(np.asarray(array.offsets))
    if array.null_count:
        counts = np.where(np.asarray(array.is_valid()), counts, 0)
    return pa.array(np.concatenate(([0], np.cumsum(counts))).astype(np.int32))


def _parents(array: pa.ListArray, bad: Mask) -> Mask:
    """Return a mask of the lists that contain a value marked as bad."""
    flags = np.zeros(len(array), bool)
    flags[np.repeat(np.arange(len(array)), np.diff(np.asarray(_offsets(array))))[bad]] = True
    return flags
