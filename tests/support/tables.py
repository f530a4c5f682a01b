"""A table that follows records by their schemas, as JDBC sinks of Kafka Connect do, and values as plain Python."""

from __future__ import annotations

import base64
import datetime
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from decimal import Decimal
from typing import Any

LOGICAL = "org.apache.kafka.connect.data."
# how sqlite holds the types of Kafka Connect; a text is exact for a decimal
_SQL_TYPES = {"boolean": "BOOLEAN", "string": "TEXT", "bytes": "BLOB", "float32": "REAL", "float64": "REAL"}


def plain(schema: Mapping[str, Any], value: Any) -> Any:
    """A value in the form of tests/java/ConnectData.java as plain Python; timestamps are milliseconds."""
    if value is None:
        return None
    if schema.get("name") == f"{LOGICAL}Decimal":
        return Decimal(value[0]).scaleb(-value[1])
    if schema["type"] == "struct":
        return {name: plain(one, item) for (name, one), item in zip(schema["fields"], value, strict=True)}
    if schema["type"] == "array":
        return [plain(schema["values"], item) for item in value]
    if schema["type"] == "bytes":
        return base64.b64decode(value)
    if schema["type"] == "float64":
        return struct.unpack(">d", bytes.fromhex(value))[0]
    return int(value) if schema["type"].startswith("int") else value


def comparable(value: Any) -> Any:
    """A value without fields that are null, times in milliseconds."""
    if isinstance(value, Mapping):
        return {name: comparable(one) for name, one in value.items() if one is not None}
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    return value


class Table:
    """A table of sqlite with a column for each field; fields of objects are columns ``object.field``.

    A new field must be optional and adds a column. A column keeps its type.

    :param keeps_absent: columns of fields that a record lacks keep their value, as an upsert of PostgreSQL or MySQL does; else they
        become null, as where a sink replaces rows.
    """

    def __init__(self, *, keeps_absent: bool) -> None:
        self._keeps_absent = keeps_absent
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE TABLE records (_key INTEGER PRIMARY KEY)")
        self._columns: dict[str, tuple[str, ...]] = {}
        self.close = self._database.close

    def apply(self, key: int, schema: Mapping[str, Any], value: Any) -> None:
        """Store a record.

        :raises ValueError: the table cannot follow the schema.
        """
        row = {name: _stored(item) for name, one, item in _flat(schema, plain(schema, value)) if self._fits(name, one)}
        columns, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" for _ in row)
        if self._keeps_absent:
            changes = ", ".join(f'"{name}" = excluded."{name}"' for name in row)
            store = f"INSERT INTO records (_key, {columns}) VALUES (?, {places}) ON CONFLICT (_key) DO UPDATE SET {changes}"
        else:
            store = f"INSERT OR REPLACE INTO records (_key, {columns}) VALUES (?, {places})"
        self._database.execute(store, [key, *row.values()])

    def _fits(self, name: str, schema: Mapping[str, Any]) -> bool:
        """Add the column of a field, or check that it is the one that the table has."""
        kind = (schema["type"], schema.get("name", ""), str(schema.get("parameters", "")), str(schema.get("values", "")))
        if self._columns.setdefault(name, kind) != kind:
            raise ValueError(f"field {name} was {self._columns[name]} and is {kind}")
        if name not in self.columns():
            if not schema["optional"]:
                raise ValueError(f"field {name} is new and not optional")
            self._database.execute(f'ALTER TABLE records ADD COLUMN "{name}" {_SQL_TYPES.get(schema["type"], "INTEGER")}')
        return True

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [name for _, name, *_ in self._database.execute("PRAGMA table_info(records)")]

    def rows(self) -> dict[int, dict[str, Any]]:
        """Columns that are not null by key."""
        with closing(self._database.execute("SELECT * FROM records")) as found:
            names = [name for name, *_ in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found]
        return {row.pop("_key"): {name: item for name, item in row.items() if item is not None} for row in rows}


def flat_row(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value as a row of :class:`Table` shows it."""
    row: dict[str, Any] = {}
    for name, item in value.items():
        if isinstance(item, Mapping):
            row |= {f"{name}.{inner}": one for inner, one in flat_row(item).items()}
        elif item is not None:
            row[name] = _stored(item)
    return row


def _flat(schema: Mapping[str, Any], value: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    for name, one in schema["fields"]:
        item = None if value is None else value[name]
        if one["type"] == "struct":
            yield from ((f"{name}.{inner}", of, held) for inner, of, held in _flat(one, item))
        else:
            yield name, one, item


def _stored(item: Any) -> Any:
    if isinstance(item, bool):
        return int(item)
    return str(item) if isinstance(item, (Decimal, list)) else item
