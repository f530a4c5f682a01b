"""Rows of data source `ignite-backlog`: changes as the planner sends them to tasks, and as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.arrays import Int64Array
from ..errors import UnsupportedType
from ..ignite.backlog_changes import EXPIRED, REMOVED, UPDATED
from ..ignite.binary import EntryGroup, decode_entries
from ..ignite.binary.entry_table import KEY, to_batch
from ..ignite.binary.unify_types import cast_exactly
from ..ignite.types import type_codes as codes
from ..ignite.types.model import CacheInfo, Page, TypeSource
from ..source.stream.batch import ChangeBatch, page_of_rows, page_of_states

CHANGE = "_change"
NUMBER = "_number"
PARTITION = "_partition"
TIME = "_time"
LOADED = 0
"""Kind of an entry read from the cache, because changes of its partition were lost."""
_NAMES = ("loaded", "created", "updated", "removed", "expired")  # by kind
_OURS = (
    pa.field(CHANGE, pa.string()),
    pa.field(NUMBER, pa.int64()),
    pa.field(PARTITION, pa.int32()),
    pa.field(TIME, pa.timestamp("us", "UTC")),
)

_PIECE_BYTES = 256 << 10  # a smaller piece is not worth the start of a Spark task


@dataclass(frozen=True)
class ChangeRows:
    """N changes in order, as columns that the planner sends to Spark tasks.

    :param number: N update counters; -1: the row has none.
    :param entries: N entries in the form of a scan page.
    """

    partition: npt.NDArray[np.int32]
    number: Int64Array
    time_ms: Int64Array
    kind: npt.NDArray[np.int8]
    entries: bytes

    def __len__(self) -> int:
        return len(self.number)


def with_change_columns(entries: pa.Schema, cache: str) -> pa.Schema:
    """Add the columns `_change`, `_number`, `_partition` and `_time` to a schema of entries.

    :raises UnsupportedType: a field of the entries has the name of such a column.
    """
    reserved = [name for name in entries.names if name.lower() in {field.name for field in _OURS}]
    if reserved:
        raise UnsupportedType(
            f"Field {reserved[0]} is named like a column of this source", "Copy the cache as JSON", cache=cache
        )
    return pa.schema([*entries, *_OURS], entries.metadata)


def without_change_columns(schema: pa.Schema) -> pa.Schema:
    """Remove the columns `_change`, `_number`, `_partition` and `_time` from a schema."""
    ours = {field.name for field in _OURS}
    return pa.schema([field for field in schema if field.name not in ours], schema.metadata)


def split_rows(batch: ChangeBatch, now_ms: int, most: int) -> list[ChangeRows]:
    """Split a batch into pieces of similar size for Spark tasks, each cache partition in one piece.

    :param now_ms: time of looked-up states that belong to no change.
    :param most: maximum number of pieces.
    """
    changes = batch.changes
    position = np.searchsorted(batch.units, batch.classified.unit)
    size = np.bincount(position, changes.key_length + changes.value_length, len(batch.units)).astype(np.int64)
    for (unit, key), value in batch.states.items():
        size[np.searchsorted(batch.units, unit)] += len(key) + len(value or b"")
    most = min(most, 1 + int(size.sum()) // _PIECE_BYTES)
    piece_of = np.minimum((np.cumsum(size) - size) * most // max(1, int(size.sum())), most - 1)
    looked_up = np.flatnonzero(batch.classified.lookup)
    kinds_and_times = zip(changes.kind[looked_up].tolist(), changes.time_ms[looked_up].tolist(), strict=True)
    origin = dict(zip(batch.located_keys(looked_up), kinds_and_times, strict=True))
    pieces = []
    for piece in np.unique(piece_of).tolist():
        rows = np.flatnonzero(batch.classified.new & (piece_of[position] == piece))
        units = set(batch.units[piece_of == piece].tolist())
        states = [(located, value) for located, value in batch.states.items() if located[0] in units]
        if not rows.size and not states:
            continue
        kinds = []
        times = []
        for located, value in states:
            kind, time_ms = origin.get(located, (UPDATED, now_ms))
            kinds.append(UPDATED if value is not None else EXPIRED if kind == EXPIRED else REMOVED)
            times.append(time_ms)
        pages = [page_of_rows(changes, rows)] if rows.size else []
        pages += [page_of_states([(located[1], value) for located, value in states])] if states else []
        pieces.append(
            ChangeRows(
                np.append(batch.classified.unit[rows], [located[0] for located, _ in states]).astype(np.int32),
                np.append(changes.number[rows], np.full(len(states), -1)),
                np.append(changes.time_ms[rows], np.array(times, np.int64)),
                np.append(changes.kind[rows], np.array(kinds, np.int8)),
                b"".join(page.data for page in pages),
            )
        )
    return pieces


def make_loaded_rows(pages: Sequence[Page], now_ms: int) -> ChangeRows:
    """Build rows with `_change` loaded from scanned entries."""
    counts = [page.rows for page in pages]
    rows = sum(counts)
    return ChangeRows(
        np.repeat(np.array([page.partition for page in pages], np.int32), counts),
        np.full(rows, -1),
        np.full(rows, now_ms),
        np.full(rows, LOADED, np.int8),
        b"".join(page.data for page in pages),
    )


def concat_rows(pieces: Iterable[ChangeRows], rows: int) -> Iterator[ChangeRows]:
    """Concatenate small pieces to at least `rows` rows, so that the decoder is called less often."""
    held: list[ChangeRows] = []
    for piece in pieces:
        held.append(piece)
        if sum(map(len, held)) >= rows:
            yield _join_pieces(held)
            held = []
    if any(map(len, held)):
        yield _join_pieces(held)


def _join_pieces(pieces: Sequence[ChangeRows]) -> ChangeRows:
    def column(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(piece, name) for piece in pieces])

    entries = b"".join(piece.entries for piece in pieces)
    return ChangeRows(column("partition"), column("number"), column("time_ms"), column("kind"), entries)


def to_change_batch(rows: ChangeRows, schema: pa.Schema, cache: CacheInfo, types: TypeSource) -> pa.RecordBatch:
    """Decode changes to an Arrow batch of exactly the given `schema`, in the same order.

    Removed and expired keys have null in the other columns of the entry.

    :raises UnsupportedType: no column of the schema fits a value.
    """
    entries = without_change_columns(schema)
    groups = decode_entries([Page(-1, len(rows), memoryview(rows.entries), True)], cache, types)
    parts = [
        _keep_keys(group, entries) if group.value_type.code == codes.NULL else to_batch(group, entries)
        for group in groups
    ]
    table = pa.Table.from_batches(parts, entries).combine_chunks()
    if len(groups) > 1:
        table = table.take(pa.array(np.argsort(np.concatenate([group.rows for group in groups])))).combine_chunks()
    names = pa.DictionaryArray.from_arrays(pa.array(rows.kind), pa.array(_NAMES)).cast(pa.string())
    ours = [
        names,
        pa.array(rows.number, mask=rows.number < 0),
        pa.array(rows.partition),
        pa.array(rows.time_ms * 1000).cast(_OURS[3].type),
    ]
    added = dict(zip((field.name for field in _OURS), ours, strict=True))
    columns = [added[name] if name in added else table[name].combine_chunks() for name in schema.names]
    columns = [column.chunk(0) if isinstance(column, pa.ChunkedArray) else column for column in columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _keep_keys(group: EntryGroup, entries: pa.Schema) -> pa.RecordBatch:
    size = len(group.key)
    columns = [
        cast_exactly(group.key, field.type, KEY) if field.name == KEY else pa.nulls(size, field.type)
        for field in entries
    ]
    return pa.RecordBatch.from_arrays(columns, schema=entries)
