"""Transform Flatten: it lifts the fields of nested structs and maps into the outer struct or map.

Source: org.apache.kafka.connect.transforms.Flatten (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType
from .batch import ConnectBatch, Transformed
from .json_objects import objects_of
from .json_tokens import Kind, kinds
from .properties import ComponentProperties, Properties, Property
from .schemaless import in_hash_order, parsed, require_map, row_by_row, written
from .sides import Side, changed_where, present, side_change
from .structs import basics, check_names, field_values, put, struct_column
from .thrown import Failures, Thrown, java_class

_PURPOSE = "flattening"
PROPERTIES: Properties = {"delimiter": Property(default=".")}


@dataclass(frozen=True)
class _Leaf:
    """A field of the flat struct, and the indexes that lead to it in the nested structs."""

    field: ConnectField
    path: tuple[int, ...]


@dataclass(frozen=True)
class Flatten:
    """Transform Flatten, for keys or for values; each field is named by its path."""

    side: Side
    delimiter: str

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Flatten structs and maps; nulls stay null."""
        return changed_where(
            batch, present(self.side.of(batch)), side_change(self.side, self._with_schema, self._without_schema)
        )

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self.delimiter}{name}" if prefix else name

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        schema = column.schema
        assert schema is not None
        if schema.type is not ConnectType.STRUCT:
            raise Thrown(f"Only Struct objects supported for [{_PURPOSE}], found: {java_class(schema)}")
        leaves = list(self._leaves(schema, "", schema.optional, schema.default, ()))
        check_names([leaf.field for leaf in leaves])
        columns = []
        for leaf in leaves:
            values = column
            for number in leaf.path:
                assert values.schema is not None
                values = ConnectColumn(
                    field_values(values, number, use_default=True), values.schema.fields[number].schema
                )
            put(leaf.field.name, leaf.field.schema, values.data, failures)
            columns.append(values.data)
        return struct_column([leaf.field for leaf in leaves], columns, basics(schema), len(column.data))

    def _leaves(
        self, schema: ConnectSchema, prefix: str, optional: bool, default: Any, path: tuple[int, ...]
    ) -> Iterator[_Leaf]:
        """Yield the fields of the flat struct, in order, from a nested schema.

        :param optional: whether a struct on the path may be null.
        :param default: default of the nearest struct on the path with a default, as a dict.
        """
        for number, field in enumerate(schema.fields):
            name = self._name(prefix, field.name)
            may_be_null = optional or field.schema.optional
            own = (
                field.schema.default if field.schema.default is not None or default is None else default.get(field.name)
            )
            if field.schema.type is ConnectType.STRUCT:
                yield from self._leaves(field.schema, name, may_be_null, own, (*path, number))
            elif field.schema.type is ConnectType.MAP:
                raise Thrown(f"Flatten transformation does not support MAP for record with schemas (for field {name}).")
            else:
                leaf = replace(field.schema, optional=may_be_null, default=own)
                yield _Leaf(ConnectField(name, leaf), (*path, number))

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = objects_of(column)
        if objects is not None and all((kinds(objects.tokens(name)) != Kind.MAP).all() for name in objects.members):
            return objects.column()  # already flat

        def change(_: int, value: Any) -> dict[str, Any]:
            items = list(self._items(require_map(value, _PURPOSE), ""))
            if len({name for name, _ in items}) < len(items):
                # two fields have the same name: the last in the order of Java's maps is kept
                items = list(self._items(_in_hash_order(value), ""))
            return dict(items)

        return written(row_by_row(parsed(column), change, failures))

    def _items(self, items: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for name, item in items.items():
            full = self._name(prefix, name)
            if isinstance(item, dict):
                yield from self._items(item, full)
            else:
                yield full, item


def _in_hash_order(value: Any) -> Any:
    return {name: _in_hash_order(value[name]) for name in in_hash_order(value)} if isinstance(value, dict) else value


def flatten(config: ComponentProperties, side: Side) -> Flatten:
    """Return the transform Flatten that the properties configure."""
    return Flatten(side, config["delimiter"])
