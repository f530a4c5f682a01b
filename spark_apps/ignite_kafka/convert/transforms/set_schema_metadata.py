"""Transform SetSchemaMetadata: it sets name or version of the schema of keys or values.

Source: org.apache.kafka.connect.transforms.SetSchemaMetadata (4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ...settings.fields import whole_number
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectType
from .batch import ConnectBatch, Transformed
from .properties import REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .sides import Side, changed, present, selected
from .structs import field_values, put, struct_column
from .thrown import Failures, Thrown

NAME = "schema.name"
VERSION = "schema.version"
PROPERTIES: Properties = {
    NAME: Property(default=None),
    VERSION: Property(whole_number(-(1 << 31), (1 << 31) - 1), None),
    **REPLACE_NULL,
}


@dataclass(frozen=True)
class SetSchemaMetadata:
    """Transform SetSchemaMetadata, for keys or for values."""

    side: Side
    name: str | None
    version: int | None
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Set name and version of the schema; a value without a schema fails.

        A null without a schema stays unchanged.
        """
        column = self.side.of(batch)
        if column.schema is not None:
            return changed(batch, self._change)
        is_present = present(column)
        failures = Failures(len(batch))
        failures.add(is_present, "Schema required for [updating schema metadata]")
        rest = selected(batch, ~is_present)
        return Transformed((rest,) if len(rest) else (), failures.bad_rows(batch.rows))

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = self.side.of(batch)
        assert column.schema is not None
        if column.schema.type is not ConnectType.STRUCT:
            raise Thrown("Cannot list fields on non-struct type")
        name = column.schema.name if self.name is None else self.name
        version = column.schema.version if self.version is None else self.version
        filled = self._with_defaults(column, failures) if column.data.null_count < len(column.data) else column
        return self.side.replaced(batch, ConnectColumn(filled.data, replace(column.schema, name=name, version=version)))

    def _with_defaults(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        schema = column.schema
        assert schema is not None
        columns = [field_values(column, number, use_default=self.use_default) for number in range(len(schema.fields))]
        is_valid = column.data.is_valid()
        for field, values in zip(schema.fields, columns, strict=True):
            put(field.name, field.schema, values, failures, is_valid)
        filled = struct_column(schema.fields, columns, schema, len(column.data))
        if not column.data.null_count:
            return filled
        places = np.where(np.asarray(is_valid), np.arange(len(filled.data)), -1)
        return ConnectColumn(filled.data.take(pa.array(places, mask=places < 0)), schema)


def set_schema_metadata(config: ComponentProperties, side: Side) -> SetSchemaMetadata:
    """Return the transform SetSchemaMetadata that the properties configure.

    :raises SettingsError: neither a name nor a version is given.
    """
    if config[NAME] is None and config[VERSION] is None:
        raise config.refused(NAME, f"neither it nor {VERSION} is given")
    return SetSchemaMetadata(side, config[NAME], config[VERSION], config[WITH_DEFAULT])
