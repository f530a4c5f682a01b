"""Transform Cast: it converts fields, or the whole key or value, to other types.

Source: org.apache.kafka.connect.transforms.Cast (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ...settings.fields import TEXTS
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, arrow_type, default_array
from .batch import ConnectBatch, Transformed
from .cast_columns import TARGETS, cast_column
from .json_objects import objects_of
from .json_tokens import NULL, Kind, booleans, changed_by_kind, doubles, longs, texts, tokens_of, with_nulls
from .properties import REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .schemaless import in_hash_order, members, parsed, require_map, row_by_row, written
from .sides import Side, changed_where, present
from .structs import basics, field_values, put, struct_column
from .thrown import SCHEMA_BUILDER_EXCEPTION, Failures, Thrown, is_logical

_PURPOSE = "cast types"
_NAMES = {target.name: target for target in TARGETS}
_VALUES: Mapping[Kind, tuple[Callable[[pa.BinaryArray], pa.Array], ConnectType]] = {
    Kind.LONG: (longs, ConnectType.INT64), Kind.DOUBLE: (doubles, ConnectType.FLOAT64),
    Kind.BOOLEAN: (booleans, ConnectType.BOOLEAN),
}  # fmt: skip
_CONTAINERS = {Kind.LIST: "ARRAY", Kind.MAP: "MAP"}
PROPERTIES: Properties = {"spec": Property(TEXTS, not_empty=True), **REPLACE_NULL}


@dataclass(frozen=True)
class Cast:
    """Transform Cast, for keys or for values.

    :param whole: type for the whole key or value; None: `fields` are cast.
    """

    side: Side
    fields: Mapping[str, ConnectType]
    whole: ConnectType | None
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Cast the fields, or the whole keys or values; nulls stay null."""
        return changed_where(batch, present(self.side.of(batch)), self._change)

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = self.side.of(batch)
        if column.schema is None:
            result = self._without_schema(column, failures)
        elif self.whole:
            result = _cast(column.data, column.schema, self.whole, basics(column.schema, self.whole), failures)
        else:
            result = self._with_schema(column, failures)
        return self.side.replaced(batch, result)

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        assert column.schema is not None
        if column.schema.type is not ConnectType.STRUCT:
            raise Thrown("Cannot list fields on non-struct type")
        schema = column.schema
        fields = []
        columns = []
        for number, field in enumerate(schema.fields):
            values = field_values(column, number, use_default=self.use_default)
            member = ConnectColumn(values, field.schema)
            if field.name in self.fields:
                target = self.fields[field.name]
                member = _cast(values, field.schema, target, ConnectSchema(target), failures)
            assert member.schema is not None
            put(field.name, member.schema, values, failures)
            fields.append(ConnectField(field.name, member.schema))
            columns.append(member.data)
        shell = replace(basics(schema), optional=schema.optional, default=schema.default)
        return struct_column(fields, columns, shell, len(column.data))

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = None if self.whole else objects_of(column)
        if objects is not None:
            cast_members = {
                name: _cast_tokens(objects.tokens(name), self.fields[name], failures)
                for name in in_hash_order(self.fields)
            }
            return objects.with_members({**objects.members, **cast_members}).column()
        values = parsed(column)
        if self.whole:
            return written(_cast_values(values, self.whole, failures))
        maps = row_by_row(values, lambda _, value: dict(require_map(value, _PURPOSE)), failures)
        for name in in_hash_order(self.fields):
            target = self.fields[name]
            for mapping, item in zip(maps, _cast_values(members(maps, name), target, failures), strict=True):
                if mapping is not None:
                    mapping[name] = item
        return written(maps)


def _cast(
    data: pa.Array, schema: ConnectSchema, target: ConnectType, shell: ConnectSchema, failures: Failures
) -> ConnectColumn:
    """Cast a column with a schema; the new schema is optional and has a default if the old one did."""
    default = None
    if schema.default is not None:
        refused = Failures(1)
        default = cast_column(default_array(schema), schema, target, refused)[0].as_py()
        if refused.bad.any():
            raise Thrown(refused.bad_rows(np.zeros(1, np.int64))[0].reason)
        if is_logical(shell):  # a whole value keeps the name, for which SchemaBuilder requires a date, time or decimal
            raise Thrown("Invalid default value", SCHEMA_BUILDER_EXCEPTION)
    cast_data = cast_column(data, schema, target, failures)
    shell = replace(shell, optional=schema.optional, default=default)
    return ConnectColumn(cast_data if cast_data.type == arrow_type(shell) else cast_data.view(arrow_type(shell)), shell)


def _cast_values(values: list[Any], target: ConnectType, failures: Failures) -> list[Any]:
    """Cast values without a schema, given as Python values."""
    return parsed(ConnectColumn(_cast_tokens(written(values).data, target, failures), None))


def _cast_tokens(tokens: pa.BinaryArray, target: ConnectType, failures: Failures) -> pa.BinaryArray:
    """Cast JSON texts without a schema; a missing text becomes ``null``."""

    def change(kind: Kind, kind_tokens: pa.BinaryArray, refused: Failures) -> pa.BinaryArray:
        if kind is Kind.STRING or kind in _VALUES:
            read, source = _VALUES.get(kind, (partial(texts, failures=refused), ConnectType.STRING))
            return with_nulls(tokens_of(cast_column(read(kind_tokens), ConnectSchema(source), target, refused)))
        if kind is not Kind.NULL:
            names = ", ".join(connect_type.name for connect_type in (*TARGETS, ConnectType.BYTES))
            reason = (
                f"Cast transformation does not support casting from {_CONTAINERS[kind]}; supported types are [{names}]"
            )
            refused.add_all(Thrown(reason))
        return pa.repeat(NULL, len(kind_tokens))

    return changed_by_kind(tokens, change, failures)


def cast(config: ComponentProperties, side: Side) -> Cast:
    """Return the transform that the properties configure.

    :raises SettingsError: the specification is neither a type nor a list of field:type.
    """
    fields: dict[str, ConnectType] = {}
    whole = None
    for item in config["spec"]:
        parts = [part.strip() for part in item.rstrip(":").split(":")]
        target = _NAMES.get(parts[-1].upper())
        if len(parts) > 2 or target is None:
            raise config.refused(
                "spec", f"{item!r} is neither field:type nor a type", f"Types: {', '.join(_NAMES).lower()}."
            )
        if len(parts) == 1:
            whole = target
        else:
            fields[parts[0]] = target
    if whole and len(config["spec"]) > 1:
        raise config.refused("spec", "the type of the whole value is given, and fields as well")
    return Cast(side, fields, whole, config[WITH_DEFAULT])
