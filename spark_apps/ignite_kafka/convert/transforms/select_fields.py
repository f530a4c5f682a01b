"""Setting select of a sink, as a last step behind the transforms.

It keeps only the selected fields of values, in the setting's order, and renames them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...sql import SelectedField
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField
from .batch import ConnectBatch, Transformed
from .chain import Step
from .json_objects import JsonObjects, objects_of
from .schemaless import parsed, require_map, row_by_row, written
from .sides import Side, changed_where, present, side_change
from .structs import basics, field_values, struct_column, struct_schema
from .thrown import Failures, Thrown

ALIAS = ""
"""Alias of the step for setting select; empty, so that no transform can have it."""
_SETTING = "select"


@dataclass(frozen=True)
class SelectFields:
    """Transform that keeps only the value fields in setting select, and renames them.

    Names are compared without case, as in Ignite; a field missing in the record stays missing.
    """

    fields: tuple[SelectedField, ...]

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Select the fields of values; nulls stay null.

        A record is bad if its value is not an object, or has none of the fields.
        """
        return changed_where(
            batch, present(batch.value), side_change(Side.VALUE, self._with_schema, self._without_schema)
        )

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        schema = struct_schema(column, _SETTING)
        numbers = {field.name: number for number, field in enumerate(schema.fields)}
        chosen = [(numbers[name], field, name) for field, name in self._chosen(numbers)]
        fields = [ConnectField(field.renamed(name), schema.fields[number].schema) for number, field, name in chosen]
        columns = [field_values(column, number, use_default=False) for number, _, _ in chosen]
        return struct_column(fields, columns, basics(schema), len(column.data))

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = objects_of(column)
        result = None if objects is None or objects.missing is not None else self._of_objects(objects)
        if result is not None:
            return result.column()

        def change(_: int, value: Any) -> dict[str, Any]:
            members = require_map(value, _SETTING)
            return {field.renamed(name): members[name] for field, name in self._chosen(members)}

        return written(row_by_row(parsed(column), change, failures))

    def _of_objects(self, objects: JsonObjects) -> JsonObjects | None:
        """Return JSON objects with the selected fields; None if they must be read one by one.

        That is so if an object has none of the fields, or two names differ only in case.
        """
        by_lower = {name.lower(): name for name in objects.members}
        if len(by_lower) < len(objects.members):
            return None
        names = [by_lower.get(field.name.lower()) for field in self.fields]
        chosen = objects.chosen(
            (name, field.renamed(name)) for field, name in zip(self.fields, names, strict=True) if name is not None
        )
        return chosen if chosen.all_have_members() else None

    def _chosen(self, names: Mapping[str, Any]) -> list[tuple[SelectedField, str]]:
        """Return the selected fields that a value has, with their names in the value.

        :raises Thrown: the value has none of the selected fields.
        """
        by_lower = {name.lower(): name for name in reversed(list(names))}
        chosen = [
            (field, field.name if field.name in names else by_lower[field.name.lower()])
            for field in self.fields
            if field.name.lower() in by_lower
        ]
        if not chosen:
            selected = _list_names(field.name for field in self.fields)
            raise Thrown(f"{_SETTING} names {selected}, and the value has {_list_names(names)}")
        return chosen


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(names) or "no fields"


def select_step(fields: tuple[SelectedField, ...]) -> Step:
    """Return the step that applies setting select."""
    return Step(ALIAS, SelectFields(fields))
