"""The data of the benchmarks: a cache of six-field objects as in the peer's own test, and a wide one of 40 columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyignite

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.types.type_table import java_type, object_field
from tools import entries

_LONG, _INT, _DOUBLE, _TEXT, _TIME, _BOOL = (
    pa.int64(),
    pa.int32(),
    pa.float64(),
    pa.string(),
    pa.timestamp("us", "UTC"),
    pa.bool_(),
)
_KEY = pa.field("", _LONG)  # no column of its own for SQL
TEXT_KEY = pa.field("", _TEXT)
SINK_TOPICS, SINK_CACHES = "to-", "sink-"  # a topic of the other direction is to-X, its cache sink-X
_BATCH_ROWS = 20_000
_DAY = datetime(2026, 1, 1)

Columns = Mapping[str, list[Any]]


@dataclass(frozen=True)
class BenchTable:
    """One cache: keys 0, 1, 2, ... and objects of one type.

    :param columns: (first row, row after the last) -> values of each field.
    :param key: Long, or String.
    """

    cache: str
    value: pa.Field
    columns: Callable[[int, int], Columns]
    key: pa.Field = _KEY


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


def _objects(type_name: str, columns: Mapping[str, pa.DataType]) -> pa.Field:
    return object_field("", type_name, [pa.field(name, kind) for name, kind in columns.items()])


_TRADE = _objects("Trade", {"id": _LONG, "symbol": _TEXT, "price": _DOUBLE, "qty": _INT, "ts": _TIME, "note": _TEXT})
_WIDE_KINDS = {"l": _LONG, "i": _INT, "d": _DOUBLE, "s": _TEXT, "t": _TIME, "b": _BOOL}
_WIDE_COUNTS = {"l": 6, "i": 10, "d": 8, "s": 10, "t": 3, "b": 3}
_WIDE = _objects(
    "Wide", {f"{kind}{number}": _WIDE_KINDS[kind] for kind, count in _WIDE_COUNTS.items() for number in range(count)}
)
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

    return {field.name: [value(field.name, row) for row in range(first, last)] for field in _WIDE.type}


TRADES = BenchTable("trades", _TRADE, _trades)
WIDE = BenchTable("wide", _WIDE, _wide)


def java_types(table: BenchTable) -> dict[str, str]:
    """Field name to Java class, for peers that need the types."""
    return {field.name: java_type(field) for field in table.value.type}


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
    with Cluster(IgniteEndpoint((address,))) as cluster:
        entries.put(cluster, cluster.cache(table.cache), table.key, table.value, _batches(table, first, last))


def make_cache(address: str, table: BenchTable, *, sql: bool = False, atomicity: str | None = None) -> None:
    """The empty cache and its binary type."""
    with Cluster(IgniteEndpoint((address,))) as cluster:
        entries.make_cache(cluster, table.cache, table.key, table.value, sql=sql, atomicity=atomicity)


def destroy(address: str, cache: str) -> None:
    """Destroy a cache, if it exists, so that the next one can use its memory."""
    host, port = address.rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)):
        if cache in client.get_cache_names():
            client.get_cache(cache).destroy()


def records(table: BenchTable, rows: int) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each row in the order of the ids, as Kafka Connect's JsonConverter writes them without schemas."""
    for first, last in _ranges(0, rows):
        columns = table.columns(first, last)
        for key, values in enumerate(zip(*columns.values(), strict=True), first):
            value = json.dumps(dict(zip(columns, values, strict=True)), separators=(",", ":"), default=_millis)
            yield str(key).encode(), value.encode()


def _millis(time: datetime) -> int:
    return round(time.replace(tzinfo=UTC).timestamp() * 1000)


def _ranges(first: int, last: int) -> Iterator[tuple[int, int]]:
    for start in range(first, last, _BATCH_ROWS):
        yield start, min(start + _BATCH_ROWS, last)


def _batches(table: BenchTable, first: int, last: int) -> Iterator[tuple[pa.Array, pa.Array]]:
    for start, end in _ranges(first, last):
        columns = table.columns(start, end)
        arrays = [pa.array(columns[field.name], field.type) for field in table.value.type]
        keys = pa.array(range(start, end), _LONG).cast(table.key.type)
        yield keys, pa.StructArray.from_arrays(arrays, fields=list(table.value.type))
