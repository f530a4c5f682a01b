"""Transform ValueToKey: it makes the key from fields of the value.

Source: org.apache.kafka.connect.transforms.ValueToKey (4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType
from .batch import ConnectBatch, Transformed
from .json_objects import objects_of
from .json_tokens import with_nulls
from .properties import FIELDS, REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties
from .schemaless import parsed, require_map, row_by_row, written
from .sides import changed
from .structs import field_values, put, struct_column, struct_schema
from .thrown import Failures, Thrown

_PURPOSE = "copying fields from value to key"
PROPERTIES: Properties = {"fields": FIELDS, **REPLACE_NULL}


@dataclass(frozen=True)
class ValueToKey:
    """Transform ValueToKey: it replaces the key by a struct or map of value fields."""

    fields: tuple[str, ...]
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Replace the keys; a record whose value is null fails."""
        return changed(batch, self._change)

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = batch.value
        key = self._without_schema(column, failures) if column.schema is None else self._with_schema(column, failures)
        return replace(batch, key=key)

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        failures.add(column.data.is_null(), f"Only Struct objects supported for [{_PURPOSE}], found: null")
        schema = struct_schema(column, _PURPOSE)
        numbers = {field.name: number for number, field in enumerate(schema.fields)}
        fields = []
        columns = []
        for name in self.fields:
            if name not in numbers:
                raise Thrown(f"Field does not exist: {name}")
            fields.append(ConnectField(name, schema.fields[numbers[name]].schema))
            columns.append(field_values(column, numbers[name], use_default=self.use_default))
        for field, values in zip(fields, columns, strict=True):
            put(field.name, field.schema, values, failures)
        return struct_column(fields, columns, ConnectSchema(ConnectType.STRUCT), len(column.data))

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = objects_of(column)
        if objects is not None and objects.missing is None:
            return objects.with_members({name: with_nulls(objects.tokens(name)) for name in self.fields}).column()

        def change(_: int, value: Any) -> dict[str, Any]:
            members = require_map(value, _PURPOSE)
            return {name: members.get(name) for name in self.fields}

        return written(row_by_row(parsed(column), change, failures))


def value_to_key(config: ComponentProperties) -> ValueToKey:
    """Return the transform ValueToKey that the properties configure."""
    return ValueToKey(config["fields"], config[WITH_DEFAULT])
