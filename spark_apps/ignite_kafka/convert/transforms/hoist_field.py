"""Transform HoistField: it wraps each key or value in a struct or map with one field.

Source: org.apache.kafka.connect.transforms.HoistField (4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType
from .batch import ConnectBatch, Transformed
from .json_objects import JsonObjects, joined, objects_of
from .json_tokens import with_nulls
from .properties import ComponentProperties, Properties, Property
from .schemaless import parsed, written
from .sides import Side, changed
from .structs import check_names, put, struct_column
from .thrown import Failures

PROPERTIES: Properties = {"field": Property()}


@dataclass(frozen=True)
class HoistField:
    """Transform HoistField, for keys or for values."""

    side: Side
    field: str

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Wrap each key or value in a struct or map; a null becomes a null field in it."""
        return changed(batch, self._change)

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = self.side.of(batch)
        return self.side.replaced(batch, self._wrap(column, failures))

    def _wrap(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        if column.schema is None:
            objects = objects_of(column)
            if objects is not None:
                return JsonObjects(objects.count, {self.field: with_nulls(joined(objects.column()).data)}).column()
            return written([{self.field: value} for value in parsed(column)])
        fields = [ConnectField(self.field, column.schema)]
        check_names(fields)
        put(self.field, column.schema, column.data, failures)
        return struct_column(fields, [column.data], ConnectSchema(ConnectType.STRUCT), len(column.data))


def hoist_field(config: ComponentProperties, side: Side) -> HoistField:
    """Return the transform HoistField that the properties configure."""
    return HoistField(side, config["field"])
