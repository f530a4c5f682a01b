"""Records whose bytes stand for values with Connect schemas: a deserializer without a format, schemas, and decoded values."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ignite_kafka.convert.connect.columns import ConnectColumn, ConnectPart, Deserialized
from ignite_kafka.convert.connect.schema import ConnectField, ConnectSchema, ConnectType, arrow_type
from ignite_kafka.convert.ignite_types.entries import Types
from ignite_kafka.convert.to_ignite import Entries, RecordConverter, SideRules
from ignite_kafka.ignite.binary.row_values import Document, MapValue
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.to_ignite_records import consumed, rules

Value = tuple[ConnectSchema | None, Any]
"""A value as pyarrow takes it for the schema's Arrow type, or a JSON text without a schema."""


class Numbered:
    """Reads each record's bytes, a number, as the value of that number; bytes that are no number are bad."""

    name = "numbered"

    def __init__(self, values: Sequence[Value]) -> None:
        self.values = list(values)
        self.topics: set[str] = set()

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """One part for each schema."""
        self.topics.add(topic)
        rows: dict[ConnectSchema | None, list[tuple[int, Any]]] = {}
        bad = []
        for row, text in enumerate(data.to_pylist()):
            if not text.isdigit():
                bad.append((row, "no number"))
                continue
            schema, value = self.values[int(text)]
            rows.setdefault(schema, []).append((row, value))
        parts = [
            ConnectPart(
                np.array([row for row, _ in found], np.int64),
                ConnectColumn(column_of(schema, [value for _, value in found]), schema),
            )
            for schema, found in rows.items()
        ]
        return Deserialized(tuple(parts), tuple(bad))


def column_of(schema: ConnectSchema | None, values: Sequence[Any]) -> pa.Array:
    """Return an array of the schema's values."""
    return pa.array(values, pa.binary() if schema is None else arrow_type(schema))


def struct(name: str | None = None, /, **fields: ConnectSchema) -> ConnectSchema:
    """Return the schema of a STRUCT."""
    return ConnectSchema(ConnectType.STRUCT, name=name, fields=tuple(ConnectField(label, schema) for label, schema in fields.items()))


def plain(kind: str, *, optional: bool = False) -> ConnectSchema:
    """Return a schema of a type without content, by its name in JSON."""
    return ConnectSchema(ConnectType(kind), optional)


def converted(cache: CacheInfo, types: Types, values: Sequence[Value | None], keys: Sequence[Value] | None = None, **more: Any) -> Entries:
    """Convert records with these values, None for a tombstone, and keys; by default the JSON keys 0, 1, 2, ..."""
    return numbered_converter(cache, types, [value or (None, b"null") for value in values], keys, **more).convert(
        consumed(
            [None if value is None else str(row).encode() for row, value in enumerate(values)],
            [str(row).encode() for row in range(len(values))],
        )
    )


def numbered_converter(
    cache: CacheInfo, types: Types, values: Sequence[Value], keys: Sequence[Value] | None = None, **more: Any
) -> RecordConverter:
    """Return a converter of records that are numbers of values, and of keys if there are any."""
    read = {"key": None if keys is None else Numbered(keys), "value": Numbered(values)}

    def deserializers(side: str, _: SideRules) -> Numbered | None:
        return read[side]

    return RecordConverter(cache, types, rules(**more), topic="topic", deserializers=deserializers)


INT8, INT16, INT32, INT64 = plain("int8"), plain("int16"), plain("int32"), plain("int64")
FLOAT, DOUBLE, BOOLEAN, STRING, BYTES = plain("float"), plain("double"), plain("boolean"), plain("string"), plain("bytes")
POINT = struct("org.example.Point", x=INT32, y=INT32)


def fields_of(entry: Any) -> Any:
    """A decoded value with objects as dicts, maps as pairs."""
    if isinstance(entry, Document):
        return {name: fields_of(value) for name, value in entry.fields.items()}
    if isinstance(entry, MapValue):
        return {key: fields_of(value) for key, value in entry.items}
    if isinstance(entry, list):
        return [fields_of(one) for one in entry]
    return str(entry) if isinstance(entry, uuid.UUID) else entry
