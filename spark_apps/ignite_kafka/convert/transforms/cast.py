"""Cast: fields, or the whole key or value, as another type. Source: org.apache.kafka.connect.transforms.Cast (4.3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ...settings.fields import TEXTS
from ..connect.columns import ConnectColumn
from ..connect.java_text import java_text
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, arrow_type, default_array
from .batch import ConnectBatch, Transformed
from .cast_columns import TARGETS, cast_column
from .properties import REPLACE_NULL, WITH_DEFAULT, Owner, Properties, Property
from .schemaless import Number, in_hash_order, members, parsed, require_map, row_by_row, written
from .sides import Side, changed_where, present
from .structs import basics, field_values, put, struct_column
from .thrown import Failures, Thrown

_PURPOSE = "cast types"
_NAMES = {one.name: one for one in TARGETS}
_JAVA_TYPES = {int: ConnectType.INT64, float: ConnectType.FLOAT64, str: ConnectType.STRING, bool: ConnectType.BOOLEAN}
PROPERTIES: Properties = {"spec": Property(TEXTS, not_empty=True), **REPLACE_NULL}


@dataclass(frozen=True)
class Cast:
    """Casts fields, or the whole value.

    :param whole: type of the whole value; None: `fields` are cast.
    """

    side: Side
    fields: Mapping[str, ConnectType]
    whole: ConnectType | None
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Nulls pass."""
        return changed_where(batch, present(self.side.of(batch)), self._changed)

    def _changed(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = self.side.of(batch)
        if column.schema is None:
            made = self._without_schema(column, failures)
        elif self.whole:
            made = _cast(column.data, column.schema, self.whole, basics(column.schema, self.whole), failures)
        else:
            made = self._with_schema(column, failures)
        return self.side.replaced(batch, made)

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        assert column.schema is not None
        if column.schema.type is not ConnectType.STRUCT:
            raise Thrown("Cannot list fields on non-struct type")
        schema = column.schema
        fields, columns = [], []
        for number, one in enumerate(schema.fields):
            values = field_values(column, number, use_default=self.use_default)
            made = ConnectColumn(values, one.schema)
            if one.name in self.fields:
                target = self.fields[one.name]
                made = _cast(values, one.schema, target, ConnectSchema(target), failures)
            assert made.schema is not None
            put(one.name, made.schema, values, failures)
            fields.append(ConnectField(one.name, made.schema))
            columns.append(made.data)
        shell = replace(basics(schema), optional=schema.optional, default=schema.default)
        return struct_column(fields, columns, shell, len(column.data))

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        values = parsed(column)
        if self.whole:
            return written(_cast_values(values, self.whole, failures))
        maps = row_by_row(values, lambda _, value: dict(require_map(value, _PURPOSE)), failures)
        for name in in_hash_order(self.fields):
            target = self.fields[name]
            for one, item in zip(maps, _cast_values(members(maps, name), target, failures), strict=True):
                if one is not None:
                    one[name] = item
        return written(maps)


def _cast(data: pa.Array, schema: ConnectSchema, target: ConnectType, shell: ConnectSchema, failures: Failures) -> ConnectColumn:
    """Values cast to another type, with a schema that is optional and has a default as the first."""
    default = None
    if schema.default is not None:
        refused = Failures(1)
        default = cast_column(default_array(schema), schema, target, refused)[0].as_py()
        if refused.bad.any():
            raise Thrown(refused.bad_rows(np.zeros(1, np.int64))[0].reason)
    made = cast_column(data, schema, target, failures)
    shell = replace(shell, optional=schema.optional, default=default)
    return ConnectColumn(made if made.type == arrow_type(shell) else made.view(arrow_type(shell)), shell)


def _cast_values(values: list[Any], target: ConnectType, failures: Failures) -> list[Any]:
    """Values without a schema cast to a type, those of a Java type at once."""
    made: list[Any] = [None] * len(values)
    for kind, source in _JAVA_TYPES.items():
        rows = [row for row, value in enumerate(values) if isinstance(value, kind) and (kind is not int or not isinstance(value, bool))]
        if rows:
            refused = Failures(len(rows))
            found = _cast_of_kind([values[row] for row in rows], source, target, refused)
            for row, item in zip(rows, found, strict=True):
                made[row] = item
            _copy(refused, rows, failures)
    for row, value in enumerate(values):
        if isinstance(value, list | dict):
            kind_name = "ARRAY" if isinstance(value, list) else "MAP"
            mask = np.arange(len(values)) == row
            names = ", ".join(one.name for one in (*TARGETS, ConnectType.BYTES))
            failures.add(mask, f"Cast transformation does not support casting from {kind_name}; supported types are [{names}]")
    return made


def _cast_of_kind(values: list[Any], source: ConnectType, target: ConnectType, failures: Failures) -> list[Any]:
    schema = ConnectSchema(source)
    if source is ConnectType.INT64:  # JsonConverter keeps the low bits of a larger number
        values = [(value + (1 << 63) & (1 << 64) - 1) - (1 << 63) for value in values]
    made = cast_column(pa.array(values, arrow_type(schema)), schema, target, failures)
    if target in (ConnectType.FLOAT32, ConnectType.FLOAT64):
        return [None if text is None else _number(text) for text in java_text(made).to_pylist()]
    return list(made.to_pylist())


def _number(text: str) -> Any:
    return text if text in ("NaN", "Infinity", "-Infinity") else Number(text)


def _copy(refused: Failures, rows: list[int], failures: Failures) -> None:
    for one in refused.bad_rows(np.array(rows, np.int64)):
        failures.add(np.arange(len(failures.bad)) == one.row, one.reason, one.exception)


def cast(given: Owner, side: Side) -> Cast:
    """The transform with its properties.

    :raises SettingsError: the specification is neither a type nor a list of field:type.
    """
    fields: dict[str, ConnectType] = {}
    whole = None
    for item in given["spec"]:
        parts = [part.strip() for part in item.rstrip(":").split(":")]
        target = _NAMES.get(parts[-1].upper())
        if len(parts) > 2 or target is None:
            raise given.refused("spec", f"{item!r} is neither field:type nor a type", f"Types: {', '.join(_NAMES).lower()}.")
        if len(parts) == 1:
            whole = target
        else:
            fields[parts[0]] = target
    if whole and len(given["spec"]) > 1:
        raise given.refused("spec", "the type of the whole value is given, and fields as well")
    return Cast(side, fields, whole, given[WITH_DEFAULT])
