"""Transform MaskField: it replaces the values of fields by an empty value or a given one.

Source: org.apache.kafka.connect.transforms.MaskField (4.3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from ...java.numbers import wrapped
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectSchema, arrow_type
from .batch import ConnectBatch, Transformed
from .json_objects import objects_of
from .json_tokens import JAVA_CLASSES, Kind, changed_by_kind
from .properties import FIELDS, REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .schemaless import class_of, in_hash_order, parsed, require_map, row_by_row, value_text, written
from .sides import Side, changed, side_change
from .structs import field_values, put, struct_column, struct_schema
from .thrown import Failures, Thrown, java_class

_PURPOSE = "mask fields"
PROPERTIES: Properties = {"fields": FIELDS, "replacement": Property(default=None, not_empty=True), **REPLACE_NULL}
_BITS = {"java.lang.Byte": 8, "java.lang.Short": 16, "java.lang.Integer": 32, "java.lang.Long": 64}
_FLOATS = {"java.lang.Float": 32, "java.lang.Double": 64}
_NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(_BITS, 0), **dict.fromkeys(_FLOATS, 0.0), "java.lang.Boolean": False, "java.lang.String": "",
    "java.math.BigDecimal": 0, "java.util.Date": 0,
}  # fmt: skip
_CONTAINERS = {"java.util.ArrayList": list, "java.util.HashMap": dict}


@dataclass(frozen=True)
class MaskField:
    """Transform MaskField, for keys or for values; null stays null."""

    side: Side
    fields: frozenset[str]
    replacement: str | None
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Mask the fields; a record whose key or value is null fails."""
        return changed(batch, side_change(self.side, self._with_schema, self._without_schema))

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        if column.data.null_count:
            failures.add(column.data.is_null(), f"Only Struct objects supported for [{_PURPOSE}], found: null")
        if column.data.null_count == len(column.data):
            return column
        schema = struct_schema(column, _PURPOSE)
        columns = []
        for number, field in enumerate(schema.fields):
            values = field_values(column, number, use_default=self.use_default)
            if field.name in self.fields:
                values = self._mask_column(values, field.schema, failures)
            else:
                put(field.name, field.schema, values, failures)
            columns.append(values)
        return struct_column(schema.fields, columns, schema, len(column.data))

    def _mask_column(self, values: pa.Array, schema: ConnectSchema, failures: Failures) -> pa.Array:
        is_valid = np.asarray(values.is_valid())
        if not is_valid.any():
            return values
        name = java_class(schema)
        try:
            mask = self._mask(name)
        except Thrown as error:
            failures.add(is_valid, error.reason, error.exception)
            return values
        if name in _CONTAINERS:
            mask = []
        if name == "java.math.BigDecimal":
            return _decimals(Decimal(mask), is_valid, values.type)
        kind = arrow_type(schema)
        if pa.types.is_float32(kind):
            with np.errstate(over="ignore"):
                mask = float(np.float32(mask))
        return pa.array([mask, None], kind).take(pa.array(np.where(is_valid, 0, 1)))

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = objects_of(column)
        if objects is not None and objects.missing is None:
            masked = {name: self._mask_tokens(objects.tokens(name), failures) for name in in_hash_order(self.fields)}
            return objects.with_members({**objects.members, **masked}).column()

        def change(_: int, value: Any) -> dict[str, Any]:
            mapping = dict(require_map(value, _PURPOSE))
            for name in in_hash_order(self.fields):
                item = mapping.get(name)
                mapping[name] = None if item is None else self._mask(class_of(item))
            return mapping

        return written(row_by_row(parsed(column), change, failures))

    def _mask_tokens(self, tokens: pa.BinaryArray, failures: Failures) -> pa.BinaryArray:
        """Return JSON texts to replace a member's values with; ``null`` for a missing text."""

        def change(kind: Kind, kind_tokens: pa.BinaryArray, refused: Failures) -> pa.BinaryArray:
            mask = None
            try:
                mask = None if kind is Kind.NULL else self._mask(JAVA_CLASSES[kind])
            except Thrown as error:
                refused.add_all(error)
            return pa.repeat(pa.scalar(value_text(mask), pa.binary()), len(kind_tokens))

        return changed_by_kind(tokens, change, failures)

    def _mask(self, name: str) -> Any:
        """Return the value that replaces all values of a Java class.

        :raises Thrown: there is no such value.
        """
        if self.replacement is not None:
            return _replacement(self.replacement, name)
        if name in _CONTAINERS:
            return _CONTAINERS[name]()
        if name not in _NOTHING:
            raise Thrown(f"Cannot mask value of type: class {name}")
        return _NOTHING[name]


def _replacement(text: str, name: str) -> Any:
    if name == "java.lang.String":
        return text
    if name not in _BITS and name not in _FLOATS and name != "java.math.BigDecimal":
        raise Thrown(f"Cannot mask value of type class {name} with custom replacement.")
    number = _decimal(text)
    if number is None:
        kind = "number" if name == "java.math.BigDecimal" else "a number"
        raise Thrown(f"Unable to convert {text} (class java.lang.String) to {kind}")
    if name in _BITS:
        return wrapped(int(number), _BITS[name])
    return number if name not in _FLOATS else float(number)


def _decimal(text: str) -> Decimal | None:
    """Parse a text as Java's ``new BigDecimal`` does; None for a text that is no number."""
    if not text or text.strip() != text or "_" in text or text.lstrip("+-")[:1].isalpha():
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _decimals(mask: Decimal, is_valid: Any, kind: pa.DataType) -> pa.Array:
    """Return a column of one repeated decimal, null in invalid rows; as text if its scale differs from the type's."""
    places = pa.array(np.where(is_valid, 0, 1))
    if pa.types.is_decimal(kind) and -int(mask.as_tuple().exponent) == kind.scale:
        return pa.array([mask, None], kind).take(places)
    return pa.array([str(mask), None], pa.string()).take(places)


def mask_field(config: ComponentProperties, side: Side) -> MaskField:
    """Return the transform MaskField that the properties configure."""
    return MaskField(side, frozenset(config["fields"]), config["replacement"], config[WITH_DEFAULT])
