"""Transforms InsertHeader, HeaderFrom and DropHeaders. Source: org.apache.kafka.connect.transforms (4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ...settings.fields import TEXTS, choice
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, arrow_type, scale_of
from ..scalars.parse_string import NestedTooDeep, parse_string
from .batch import ConnectBatch, Header, Transformed
from .json_objects import objects_of
from .json_tokens import without_nulls
from .properties import REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .schemaless import members, parsed, require_map, row_by_row, written
from .sides import Side, changed
from .structs import basics, field_values, put, struct_column
from .thrown import NULL_POINTER, Failures, Thrown, java_class

INSERT_HEADER: Properties = {"header": Property(), "value.literal": Property()}
HEADER_FROM: Properties = {
    "fields": Property(TEXTS, not_empty=True),
    "headers": Property(TEXTS, not_empty=True),
    "operation": Property(choice("move", "copy")),
    **REPLACE_NULL,
}
DROP_HEADERS: Properties = {"headers": Property(TEXTS, not_empty=True)}


@dataclass(frozen=True)
class InsertHeader:
    """Transform InsertHeader: it adds a header with a constant value behind the other headers."""

    name: str
    schema: ConnectSchema | None
    value: pa.Scalar

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Add the header to all records."""
        return changed(batch, self._change)

    def _change(self, batch: ConnectBatch, _: Failures) -> ConnectBatch:
        column = ConnectColumn(pa.repeat(self.value, len(batch)), self.schema)
        return replace(batch, headers=(*batch.headers, Header(self.name, column)))


@dataclass(frozen=True)
class DropHeaders:
    """Transform DropHeaders: it removes all headers with certain names."""

    names: frozenset[str]

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Remove the headers from all records."""
        return changed(batch, self._change)

    def _change(self, batch: ConnectBatch, _: Failures) -> ConnectBatch:
        return replace(batch, headers=tuple(header for header in batch.headers if header.name not in self.names))


@dataclass(frozen=True)
class HeaderFrom:
    """Transform HeaderFrom: it copies or moves fields of the key or value into new headers.

    :param pairs: names of each field and its header.
    """

    side: Side
    pairs: tuple[tuple[str, str], ...]
    moves: bool
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Copy or move the fields into headers; a record whose key or value is null fails."""
        return changed(batch, self._change)

    @property
    def _purpose(self) -> str:
        return f"header {'move' if self.moves else 'copy'}"

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = self.side.of(batch)
        extract = self._without_schema if column.schema is None else self._with_schema
        column, added = extract(column, failures)
        headers = tuple(Header(name, values) for (_, name), values in zip(self.pairs, added, strict=True))
        return replace(self.side.replaced(batch, column), headers=(*batch.headers, *headers))

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> tuple[ConnectColumn, list[ConnectColumn]]:
        schema = column.schema
        assert schema is not None
        failures.add(column.data.is_null(), f"Only Struct objects supported for [{self._purpose}], found: null")
        if schema.type is not ConnectType.STRUCT:
            raise Thrown(f"Only Struct objects supported for [{self._purpose}], found: {java_class(schema)}")
        values = [field_values(column, number, use_default=self.use_default) for number in range(len(schema.fields))]
        numbers = {own_field.name: number for number, own_field in enumerate(schema.fields)}
        moved = {field for field, _ in self.pairs} if self.moves else set()
        remaining = self._move(schema, values, moved, len(column.data), failures) if self.moves else column
        added = []
        for name, _ in self.pairs:
            if name not in numbers:
                what = '"org.apache.kafka.connect.data.Schema.field(String)" is null'
                raise Thrown(
                    f'Cannot invoke "org.apache.kafka.connect.data.Field.schema()" because the return value of {what}',
                    NULL_POINTER,
                )
            added.append(ConnectColumn(values[numbers[name]], schema.fields[numbers[name]].schema))
        return remaining, added

    def _move(
        self, schema: ConnectSchema, values: list[pa.Array], moved: set[str], count: int, failures: Failures
    ) -> ConnectColumn:
        kept: list[ConnectField] = []
        columns = []
        for field, data in zip(schema.fields, values, strict=True):
            if field.name not in moved:
                put(field.name, field.schema, data, failures)
                kept.append(field)
                columns.append(data)
        return struct_column(kept, columns, basics(schema), count)

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> tuple[ConnectColumn, list[ConnectColumn]]:
        objects = objects_of(column)
        if objects is not None and objects.missing is None:
            added = [ConnectColumn(without_nulls(objects.tokens(field)), None) for field, _ in self.pairs]
            moved = {field for field, _ in self.pairs} if self.moves else set()
            rest = {name: tokens for name, tokens in objects.members.items() if name not in moved}
            return objects.with_members(rest).column(), added
        maps = row_by_row(parsed(column), lambda _, value: dict(require_map(value, self._purpose)), failures)
        added = [written(members(maps, field)) for field, _ in self.pairs]
        return self._rest(column, maps), added

    def _rest(self, column: ConnectColumn, maps: list[Any]) -> ConnectColumn:
        if not self.moves:
            return column
        moved = {field for field, _ in self.pairs}
        return written(
            [
                None if mapping is None else {name: item for name, item in mapping.items() if name not in moved}
                for mapping in maps
            ]
        )


def insert_header(config: ComponentProperties) -> InsertHeader:
    """Return the transform InsertHeader that the properties configure.

    :raises SettingsError: the value is an array or map that is nested too deep, or has items without a common type.
    """
    try:
        parsed = parse_string(config["value.literal"])
    except NestedTooDeep as error:
        raise config.refused("value.literal", str(error), "Give another value.") from None
    if parsed.schema is None:
        return InsertHeader(config["header"], None, pa.scalar(None, pa.binary()))
    if not _is_whole(parsed.schema):
        raise config.refused(
            "value.literal", "it is an array or map whose items have no common type", "Give items of one type."
        )
    return InsertHeader(config["header"], parsed.schema, _scalar(parsed.value, parsed.schema))


def _is_whole(schema: ConnectSchema) -> bool:
    """Return whether all arrays and maps in a schema have schemas for their content."""
    inner = {ConnectType.ARRAY: (schema.value_schema,), ConnectType.MAP: (schema.key_schema, schema.value_schema)}
    return all(part is not None and _is_whole(part) for part in inner.get(schema.type, ()))


def _scalar(value: Any, schema: ConnectSchema) -> pa.Scalar:
    try:
        return pa.array([_for_arrow(value, schema)], arrow_type(schema))[0]
    except pa.ArrowException:
        if scale_of(schema) is None:
            raise
        return pa.array([str(value)], pa.string())[0]  # a decimal with more digits than Arrow's type


def _for_arrow(value: Any, schema: ConnectSchema) -> Any:
    """Return a value as pyarrow accepts it: with the pairs of maps as tuples."""
    if schema.type is ConnectType.MAP and schema.key_schema and schema.value_schema:
        return [(_for_arrow(key, schema.key_schema), _for_arrow(item, schema.value_schema)) for key, item in value]
    if schema.type is ConnectType.ARRAY and schema.value_schema:
        return [_for_arrow(item, schema.value_schema) for item in value]
    return str(value) if pa.types.is_string(arrow_type(schema)) and scale_of(schema) is not None else value


def header_from(config: ComponentProperties, side: Side) -> HeaderFrom:
    """Return the transform HeaderFrom that the properties configure.

    :raises SettingsError: the numbers of fields and headers differ.
    """
    if len(config["fields"]) != len(config["headers"]):
        raise config.refused("headers", "there are not as many as fields")
    pairs = tuple(zip(config["fields"], config["headers"], strict=True))
    return HeaderFrom(side, pairs, config["operation"] == "move", config[WITH_DEFAULT])


def drop_headers(config: ComponentProperties) -> DropHeaders:
    """Return the transform DropHeaders that the properties configure."""
    return DropHeaders(frozenset(config["headers"]))
