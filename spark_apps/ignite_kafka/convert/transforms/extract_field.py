"""Transform ExtractField: it replaces a struct or map by one of its fields.

Source: org.apache.kafka.connect.transforms.ExtractField (4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...settings.fields import SettingType
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectSchema, ConnectType
from .batch import ConnectBatch, Transformed
from .field_path import path_of
from .json_objects import objects_of
from .json_tokens import without_nulls
from .properties import REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .schemaless import class_of, parsed, row_by_row, written
from .sides import Side, changed, side_change
from .structs import field_values, refuse_others
from .thrown import ILLEGAL_ARGUMENT, Failures, Thrown

_PURPOSE = "field extraction"
_NESTED = "nested field access"
_NO_FIELDS = "Cannot look up fields on non-struct type"
_SYNTAX = "field.syntax.version"


def _version(value: object) -> str:
    if not isinstance(value, str) or value.upper() not in ("V1", "V2"):
        raise ValueError("it is neither V1 nor V2")
    return value.upper()


PROPERTIES: Properties = {
    "field": Property(),
    _SYNTAX: Property(SettingType("string", "V1 or V2", _version), "V1"),
    **REPLACE_NULL,
}


@dataclass(frozen=True)
class ExtractField:
    """Transform ExtractField, for keys or for values; the field may be nested."""

    side: Side
    field: str
    path: tuple[str, ...]
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Replace each struct or map by the field; null stays null, with the field's schema."""
        return changed(batch, side_change(self.side, self._with_schema, self._without_schema))

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        refuse_others(column, _PURPOSE, failures, null_reason=_NO_FIELDS)
        for step in self.path:
            column = self._inner(column, step)
        return column

    def _inner(self, column: ConnectColumn, step: str) -> ConnectColumn:
        schema = column.schema
        assert isinstance(schema, ConnectSchema)
        if schema.type is not ConnectType.STRUCT:
            raise Thrown(_NO_FIELDS)
        number = next((number for number, field in enumerate(schema.fields) if field.name == step), None)
        if number is None:
            raise Thrown(f"Unknown field: {self.field}", ILLEGAL_ARGUMENT)
        return ConnectColumn(field_values(column, number, use_default=self.use_default), schema.fields[number].schema)

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = objects_of(column) if len(self.path) == 1 else None
        if objects is not None:
            return ConnectColumn(without_nulls(objects.tokens(self.path[0])), None)

        def change(_: int, value: Any) -> Any:
            for step, purpose in zip(self.path, (_PURPOSE, *[_NESTED] * len(self.path)), strict=False):
                if value is None:
                    return None
                if not isinstance(value, dict):
                    raise Thrown(
                        f"Only Map objects supported in absence of schema for [{purpose}], found: {class_of(value)}"
                    )
                value = value.get(step)
            return value

        return written(row_by_row(parsed(column), change, failures))


def extract_field(config: ComponentProperties, side: Side) -> ExtractField:
    """Return the transform ExtractField that the properties configure.

    :raises SettingsError: the path is no path in syntax V2.
    """
    try:
        path = path_of(config["field"]) if config[_SYNTAX] == "V2" else (config["field"],)
    except ValueError as error:
        raise config.refused("field", str(error)) from None
    if not path:
        raise config.refused("field", "it is empty")
    return ExtractField(side, config["field"], path, config[WITH_DEFAULT])
