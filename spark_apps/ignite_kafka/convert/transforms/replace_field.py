"""Transform ReplaceField: it removes and renames fields.

Source: org.apache.kafka.connect.transforms.ReplaceField (4.3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...settings.fields import TEXTS
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField
from .batch import ConnectBatch, Transformed
from .json_objects import objects_of
from .properties import REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .schemaless import in_hash_order, parsed, require_map, row_by_row, written
from .sides import Side, changed_where, present, side_change
from .structs import basics, check_names, field_values, put_other, struct_column, struct_schema
from .thrown import Failures, Thrown

_PURPOSE = "field replacement"
PROPERTIES: Properties = {
    "exclude": Property(TEXTS, (), once=True),
    "include": Property(TEXTS, (), once=True),
    "renames": Property(TEXTS, ()),
    **REPLACE_NULL,
}


@dataclass(frozen=True)
class ReplaceField:
    """Transform ReplaceField, for keys or for values; a field in both `exclude` and `include` is removed."""

    side: Side
    exclude: frozenset[str]
    include: frozenset[str]
    renames: Mapping[str, str]
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Remove and rename fields of structs and maps; nulls stay null."""
        return changed_where(
            batch, present(self.side.of(batch)), side_change(self.side, self._with_schema, self._without_schema)
        )

    def _keeps(self, name: str) -> bool:
        return name not in self.exclude and (not self.include or name in self.include)

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        schema = struct_schema(column, _PURPOSE)
        kept = [
            ConnectField(self.renames.get(field.name, field.name), field.schema)
            for field in schema.fields
            if self._keeps(field.name)
        ]
        check_names(kept)
        # Kafka looks up the value under this name, which may be the name of a removed field
        sources = {self.renames[old]: old for old in in_hash_order(self.renames)}
        numbers = {field.name: number for number, field in enumerate(schema.fields)}
        columns = []
        for field in kept:
            source = sources.get(field.name, field.name)
            if source not in numbers:
                raise Thrown(f"{source} is not a valid field name")
            values = field_values(column, numbers[source], use_default=self.use_default)
            columns.append(put_other(field.name, field.schema, values, schema.fields[numbers[source]].schema, failures))
        return struct_column(kept, columns, basics(schema), len(column.data))

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = objects_of(column)
        if objects is not None:
            renamed = {name: self.renames.get(name, name) for name in objects.members if self._keeps(name)}
            if len(set(renamed.values())) == len(renamed):
                return objects.chosen(renamed.items()).column()

        def change(_: int, value: Any) -> dict[str, Any]:
            members = require_map(value, _PURPOSE)
            kept = [name for name in members if self._keeps(name)]
            new = [self.renames.get(name, name) for name in kept]
            if len(set(new)) < len(new):  # two fields get the same name: the last in the order of Java's map is kept
                kept = in_hash_order(kept)
            return {self.renames.get(name, name): members[name] for name in kept}

        return written(row_by_row(parsed(column), change, failures))


def replace_field(config: ComponentProperties, side: Side) -> ReplaceField:
    """Return the transform ReplaceField that the properties configure.

    :raises SettingsError: a renaming is not of the form old:new.
    """
    renames: dict[str, str] = {}
    for item in config["renames"]:
        parts = item.rstrip(":").split(":")
        if len(parts) != 2:
            raise config.refused("renames", f"{item!r} is not of the form old:new")
        renames[parts[0]] = parts[1]
    return ReplaceField(side, frozenset(config["exclude"]), frozenset(config["include"]), renames, config[WITH_DEFAULT])
