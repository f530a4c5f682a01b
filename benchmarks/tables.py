"""The data of the benchmarks: a cache of six-field objects as in the peer's own test, and a wide one of 40 columns."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyignite
from pyignite.datatypes import BoolObject, DoubleObject, IntObject, LongObject, String, TimestampObject
from pyignite.datatypes.prop_codes import PROP_NAME, PROP_QUERY_ENTITIES

from ignite_kafka.thin.connection import IgniteCredentials, IgniteEndpoint, ThinConnection
from ignite_kafka.thin.protocol import cache_id
from tools.binary_objects import ObjectType, encode_column

_LONG, _INT, _DOUBLE = "java.lang.Long", "java.lang.Integer", "java.lang.Double"
_TEXT, _TIME, _BOOL = "java.lang.String", "java.sql.Timestamp", "java.lang.Boolean"
_PYIGNITE = {_LONG: LongObject, _INT: IntObject, _DOUBLE: DoubleObject, _TEXT: String, _TIME: TimestampObject, _BOOL: BoolObject}
_PUT_ALL = 1004
_BATCH_ROWS = 10_000
_OUTSTANDING = 3
_DAY = datetime(2026, 1, 1)

Columns = Mapping[str, list[Any]]


@dataclass(frozen=True)
class BenchTable:
    """One cache: Long keys 0, 1, 2, ... and objects of one type.

    :param columns: (first row, row after the last) -> values of each field.
    """

    cache: str
    value: ObjectType
    columns: Callable[[int, int], Columns]


def _trades(first: int, last: int) -> Columns:
    rows = range(first, last)
    return {
        "id": list(rows),
        "symbol": [f"SYM{row % 100}" for row in rows],
        "price": [row * 0.5 for row in rows],
        "qty": [row % 1000 for row in rows],
        "ts": [_DAY + timedelta(seconds=row) for row in rows],
        "note": [f"note for trade number {row}" for row in rows],
    }


_TRADE = ObjectType("Trade", {"id": _LONG, "symbol": _TEXT, "price": _DOUBLE, "qty": _INT, "ts": _TIME, "note": _TEXT})
_WIDE_KINDS = {"l": _LONG, "i": _INT, "d": _DOUBLE, "s": _TEXT, "t": _TIME, "b": _BOOL}
_WIDE_COUNTS = {"l": 6, "i": 10, "d": 8, "s": 10, "t": 3, "b": 3}
_WIDE = ObjectType("Wide", {f"{kind}{number}": _WIDE_KINDS[kind] for kind, count in _WIDE_COUNTS.items() for number in range(count)})
_WIDE_VALUES: Mapping[str, Callable[[int, int], Any]] = {
    "l": lambda row, number: row * 1_000_003 + number,
    "i": lambda row, number: (row * (number + 1)) % 100_000,
    "d": lambda row, number: row / (number + 3),
    "s": lambda row, number: f"text {row % 5_000} of {number}",
    "t": lambda row, number: _DAY + timedelta(seconds=row, milliseconds=number),
    "b": lambda row, number: (row + number) % 3 == 0,
}


def _wide(first: int, last: int) -> Columns:
    """Every seventh value of the odd columns is null."""

    def value(name: str, row: int) -> Any:
        number = int(name[1:])
        return None if number % 2 and row % 7 == 0 else _WIDE_VALUES[name[0]](row, number)

    return {name: [value(name, row) for row in range(first, last)] for name in _WIDE.fields}


TRADES = BenchTable("trades", _TRADE, _trades)
WIDE = BenchTable("wide", _WIDE, _wide)


def trades(cache: str) -> BenchTable:
    """The six-field table under another name, for other sizes."""
    return BenchTable(cache, _TRADE, _trades)


def load(address: str, table: BenchTable, rows: int, *, sql: bool = False) -> None:
    """Make the cache and put ``rows`` entries.

    :param sql: with a query entity, so that JDBC sees a table of the cache's name in schema of the same name.
    """
    make_cache(address, table, sql=sql)
    put(address, table, 0, rows)


def put(address: str, table: BenchTable, first: int, last: int) -> None:
    """Put the entries of these rows, again or for the first time."""
    with ThinConnection(IgniteEndpoint((address,)), IgniteCredentials()) as connection:
        waiting: deque[int] = deque()
        for payload in _requests(table, first, last):
            waiting.append(connection.send(_PUT_ALL, payload))
            if len(waiting) > _OUTSTANDING:
                connection.receive(waiting.popleft())
        for request in waiting:
            connection.receive(request)


def make_cache(address: str, table: BenchTable, *, sql: bool = False) -> None:
    """The empty cache and its binary type."""
    host, port = address.rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)):
        client.put_binary_type(table.value.name, schema={name: _PYIGNITE[kind] for name, kind in table.value.fields.items()})
        settings: dict[int, Any] = {PROP_NAME: table.cache}
        if sql:
            settings[PROP_QUERY_ENTITIES] = [_query_entity(table)]
        client.create_cache(settings)


def destroy(address: str, cache: str) -> None:
    """So that its memory serves the next one."""
    host, port = address.rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)):
        client.get_cache(cache).destroy()


def _query_entity(table: BenchTable) -> dict[str, Any]:
    return {
        "table_name": table.cache.upper(),
        "key_field_name": None,
        "key_type_name": _LONG,
        "value_field_name": None,
        "value_type_name": table.value.name,
        "field_name_aliases": [],
        "query_fields": [{"name": name, "type_name": kind} for name, kind in table.value.fields.items()],
        "query_indexes": [],
    }


def _requests(table: BenchTable, first: int, last: int) -> Iterator[bytes]:
    """Payload of each put-all: cache id, flags, count, then key and value in turn."""
    for start in range(first, last, _BATCH_ROWS):
        end = min(start + _BATCH_ROWS, last)
        keys = encode_column(_LONG, range(start, end))
        values = table.value.encode(table.columns(start, end))
        entries = [part for entry in zip(keys, values, strict=True) for part in entry]
        yield struct.pack("<iBi", cache_id(table.cache), 0, end - start) + b"".join(entries)
