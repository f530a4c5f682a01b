"""Transform InsertField: it adds topic, partition, offset, timestamp or a text as a field.

Source: org.apache.kafka.connect.transforms.InsertField (4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, timestamp
from .batch import NO_TIME, ConnectBatch, Transformed
from .json_objects import objects_of
from .json_tokens import tokens_of
from .properties import REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .schemaless import parsed, require_map, row_by_row, written
from .sides import Side, changed_where, present
from .structs import basics, check_names, constant, field_values, put, struct_column, struct_schema
from .thrown import Failures, Thrown

_PURPOSE = "field insertion"
_SOURCE_RECORD = "org.apache.kafka.connect.source.SourceRecord"
TOPIC = "topic.field"  # fmt: skip
PARTITION = "partition.field"
OFFSET = "offset.field"
TIMESTAMP = "timestamp.field"
STATIC = "static.field"
STATIC_VALUE = "static.value"
_PLACES = (TOPIC, PARTITION, OFFSET, TIMESTAMP, STATIC)
PROPERTIES: Properties = {name: Property(default=None) for name in (*_PLACES, STATIC_VALUE)} | {**REPLACE_NULL}
_SCHEMAS = {
    TOPIC: ConnectSchema(ConnectType.STRING), PARTITION: ConnectSchema(ConnectType.INT32),
    OFFSET: ConnectSchema(ConnectType.INT64),
    TIMESTAMP: timestamp(), STATIC: ConnectSchema(ConnectType.STRING),
}  # fmt: skip


@dataclass(frozen=True)
class Insertion:
    """A field that InsertField adds, with its name and content.

    :param what: property with the name of the field, which decides the field's content.
    """

    what: str
    name: str
    optional: bool

    @property
    def field(self) -> ConnectField:
        """Connect field to add, with its schema."""
        return ConnectField(self.name, _SCHEMAS[self.what].as_optional(self.optional))


@dataclass(frozen=True)
class InsertField:
    """Transform InsertField, for keys or values; it adds topic, partition, offset, timestamp, text in this order."""

    side: Side
    insertions: tuple[Insertion, ...]
    text: str | None
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Add the fields to structs and maps; nulls stay null."""
        return changed_where(batch, present(self.side.of(batch)), self._change)

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = self.side.of(batch)
        result = (
            self._without_schema(column, batch, failures)
            if column.schema is None
            else self._with_schema(column, batch, failures)
        )
        return self.side.replaced(batch, result)

    def _with_schema(self, column: ConnectColumn, batch: ConnectBatch, failures: Failures) -> ConnectColumn:
        schema = struct_schema(column, _PURPOSE)
        fields = [*schema.fields, *(insertion.field for insertion in self.insertions)]
        check_names(fields)
        columns = []
        for number, field in enumerate(schema.fields):
            values = field_values(column, number, use_default=self.use_default)
            put(field.name, field.schema, values, failures)
            columns.append(values)
        columns += [self._inserted_values(insertion, batch) for insertion in self.insertions]
        return struct_column(fields, columns, basics(schema), len(batch))

    def _inserted_values(self, insertion: Insertion, batch: ConnectBatch) -> pa.Array:
        if insertion.what == TOPIC:
            return batch.topics
        if insertion.what == STATIC:
            return constant(self.text, insertion.field.schema, len(batch))
        if insertion.what == TIMESTAMP:
            return pa.array(batch.times_ms, mask=batch.times_ms == NO_TIME).cast(pa.timestamp("ms", "UTC"))
        if insertion.what == PARTITION:
            return (
                constant(None, insertion.field.schema, len(batch))
                if batch.position is None
                else pa.array(batch.position.partitions, pa.int32())
            )
        return pa.array(self._offsets(batch), pa.int64())

    def _offsets(self, batch: ConnectBatch) -> Any:
        if batch.position is None:
            raise Thrown(f"Only SinkRecord supported for [{_PURPOSE}], found: {_SOURCE_RECORD}")
        return batch.position.offsets

    def _without_schema(self, column: ConnectColumn, batch: ConnectBatch, failures: Failures) -> ConnectColumn:
        objects = objects_of(column)
        if objects is not None:
            members = dict(objects.members)
            for insertion in self.insertions:
                item = self._tokens(insertion, batch)
                members[insertion.name] = (
                    pc.coalesce(item, objects.with_members(members).tokens(insertion.name)) if item.null_count else item
                )
            return objects.with_members(members).column()

        def change(row: int, value: Any) -> dict[str, Any]:
            mapping = dict(require_map(value, _PURPOSE))
            for insertion in self.insertions:
                item = self._item(insertion, batch, row)
                if item is not None:
                    mapping[insertion.name] = item
            return mapping

        return written(row_by_row(parsed(column), change, failures))

    def _tokens(self, insertion: Insertion, batch: ConnectBatch) -> pa.BinaryArray:
        """Return the values to insert as JSON texts; null where nothing is inserted."""
        values = self._inserted_values(insertion, batch)
        if insertion.what == STATIC:
            return pa.repeat(tokens_of(values.slice(0, 1))[0], len(batch))
        return tokens_of(values.view(pa.int64()) if insertion.what == TIMESTAMP else values)

    def _item(self, insertion: Insertion, batch: ConnectBatch, row: int) -> Any:
        if insertion.what == TOPIC:
            return batch.topics[row].as_py()
        if insertion.what == STATIC:
            return self.text
        if insertion.what == TIMESTAMP:
            return None if batch.times_ms[row] == NO_TIME else int(batch.times_ms[row])
        if insertion.what == PARTITION:
            return None if batch.position is None else int(batch.position.partitions[row])
        return int(self._offsets(batch)[row])


def insert_field(config: ComponentProperties, side: Side, *, sink: bool) -> InsertField:
    """Return the transform InsertField that the properties configure.

    :raises SettingsError: nothing is inserted, a text or the field for it is missing, or a source inserts offsets.
    """
    insertions = tuple(_insertion(what, config[what]) for what in _PLACES if config[what] is not None)
    if not insertions:
        raise config.refused(STATIC, "no field is inserted", f"Give one of {', '.join(_PLACES)}.")
    if config[STATIC] is not None and config[STATIC_VALUE] is None:
        raise config.refused(STATIC_VALUE, f"it is not given, and {STATIC} is")
    if config[OFFSET] is not None and not sink:
        raise config.refused(OFFSET, "records of a source have no offset", "Leave it out.")
    return InsertField(side, insertions, config[STATIC_VALUE], config[WITH_DEFAULT])


def _insertion(what: str, text: str) -> Insertion:
    """Parse a field's name in a property, where a final ``!`` means required and ``?`` optional."""
    name = text[:-1] if text.endswith(("?", "!")) else text
    return Insertion(what, name, not text.endswith("!"))
