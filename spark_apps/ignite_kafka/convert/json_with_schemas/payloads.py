"""Writer of Connect columns as JSON payloads, as Kafka's JsonConverter writes them.

It adds the rules of schemas to :mod:`~.json.write_columns`: the schema of a map's keys decides the map's form, a
decimal has its schema's scale, and a null becomes the field's default, or an error if the field is required.

Source: org.apache.kafka.connect.json.JsonConverter.convertToJson (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ...common.arrow_layout import null_mask
from ...errors import UnsupportedType
from ...ignite.types.type_table import field_of
from ..connect import ConnectColumn, ConnectField, ConnectSchema, ConnectType
from ..connect.schema import DECIMAL, default_array, scale_of
from ..json.write_columns import JsonFormat, present_members, text
from ..rules.decimal_scales import with_scales

_ROOT = ""


def payload(column: ConnectColumn, form: JsonFormat, *, defaults: bool = True) -> pa.BinaryArray:
    """Return the JSON text of each value of a column with a schema; ``null`` for null.

    :param defaults: write a null of a field with a default as the default (``replace.null.with.default``).
    :raises UnsupportedType: a required field without a default is null, or a decimal is not exact at its schema's
        scale.
    """
    schema = column.schema
    assert schema is not None
    array, field = _Filling(defaults).value(column.data, schema, _ROOT)
    return text(array, field, replace(form, maps_by_type=True))


def sparse_payload(column: ConnectColumn, form: JsonFormat) -> pa.BinaryArray:
    """Return each struct as JSON without its own null fields; deeper nulls are written.

    It raises the errors of :func:`payload`.
    """
    schema = column.schema
    assert schema is not None
    array, field = _Filling(False).value(column.data, schema, _ROOT)
    return present_members(array, field, replace(form, maps_by_type=True))


class _Filling:
    """Preparation of Connect columns for :mod:`~.json.write_columns`: defaults for nulls, checks, marked fields."""

    def __init__(self, defaults: bool) -> None:
        self._defaults = defaults

    def value(
        self, array: pa.Array, schema: ConnectSchema, path: str, parent: pa.Array | None = None
    ) -> tuple[pa.Array, pa.Field]:
        """Return the column under `path`, with defaults for nulls, and the Arrow field to write it with.

        :param parent: struct array that contains the values; its null rows have no value.
        """
        if array.null_count:
            array = self._without_null(array, schema, path, parent)
        name = path.rpartition(".")[2]
        if schema.type is ConnectType.STRUCT:
            return self._struct(array, schema.fields, path, name)
        if schema.type is ConnectType.ARRAY:
            return self._list(array, schema, path, name)
        if schema.type is ConnectType.MAP:
            return self._map(array, schema, path, name)
        scale = scale_of(schema)
        if schema.name != DECIMAL:
            return array, pa.field(name, array.type)
        if scale is None:
            raise UnsupportedType(
                f"the Decimal of {_name_path(path)} has no parameter scale", "Set the scale in the schema.", field=path
            )
        return array, with_scales(field_of(name, array.type, "decimal"), {(): scale})

    def _without_null(self, array: pa.Array, schema: ConnectSchema, path: str, parent: pa.Array | None) -> pa.Array:
        """Replace the nulls of a column by the schema's default; refuse nulls of a required field."""
        replaced = schema.default is not None and self._defaults
        if not replaced and schema.optional:
            return array
        missing = np.asarray(array.is_null())
        if parent is not None and parent.null_count:
            missing &= np.asarray(parent.is_valid())
        if not missing.any():
            return array
        if not replaced:
            what = f"{_name_path(path)} is null, and its schema is neither optional nor has a default"
            raise UnsupportedType(what, "Correct the entry, or make the schema optional.", field=path)
        default = default_array(schema, array.type)
        rows = np.where(missing, len(array), np.arange(len(array)))
        return pa.concat_arrays([array, default]).take(pa.array(rows))

    def _struct(
        self, array: pa.StructArray, fields: Sequence[ConnectField], path: str, name: str
    ) -> tuple[pa.Array, pa.Field]:
        if not fields:
            return array, pa.field(name, array.type)
        columns = []
        kinds = []
        for number, field in enumerate(fields):
            inner, kind = self.value(
                array.field(number), field.schema, f"{path}.{field.name}" if path else field.name, array
            )
            columns.append(inner)
            kinds.append(kind.with_name(field.name))
        struct = pa.StructArray.from_arrays(columns, fields=kinds, mask=null_mask(array))
        return struct, pa.field(name, struct.type)

    def _list(self, array: pa.ListArray, schema: ConnectSchema, path: str, name: str) -> tuple[pa.Array, pa.Field]:
        assert schema.value_schema
        values, kind = self.value(array.flatten(), schema.value_schema, f"{path}[]")
        lists = pa.ListArray.from_arrays(_starts(array), values, type=pa.list_(kind), mask=null_mask(array))
        return lists, pa.field(name, lists.type)

    def _map(self, array: pa.MapArray, schema: ConnectSchema, path: str, name: str) -> tuple[pa.Array, pa.Field]:
        assert schema.key_schema
        assert schema.value_schema
        entries = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
        flat = pa.ListArray.from_arrays(pa.array(np.array(array.offsets)), entries, mask=null_mask(array)).flatten()
        keys, key = self.value(flat.field(0), schema.key_schema, f"{path}{{key}}")
        items, item = self.value(flat.field(1), schema.value_schema, f"{path}{{}}")
        kind = pa.map_(key.with_nullable(False), item)
        maps = pa.MapArray.from_arrays(_starts(array), keys, items, kind, mask=null_mask(array))
        return maps, pa.field(name, kind)


def _starts(array: pa.Array) -> pa.Array:
    """Return where each list or map starts among the flattened values; a null has no values."""
    bounds = np.asarray(array.offsets)
    counts = np.diff(bounds)
    if array.null_count:
        counts = np.where(np.asarray(array.is_valid()), counts, 0)
    return pa.array(np.concatenate(([0], np.cumsum(counts))).astype(np.int32))


def _name_path(path: str) -> str:
    return f"field {path}" if path else "the whole key or value"
