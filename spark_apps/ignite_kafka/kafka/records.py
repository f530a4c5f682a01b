"""Batches of records as Arrow arrays: :class:`Records` to produce, and :class:`Consumed` from a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array, Mask, RowIndex
from ..errors import IgniteKafkaError, RecordTooLarge
from ..ignite.types.model import TypeUse
from .headers import HEADERS, header_bytes

MOST_BYTES = 2**31 - 1  # an Arrow binary array has int32 offsets


@dataclass(frozen=True)
class KeyType:
    """Type of record keys with an example, to find two types whose keys can have equal bytes.

    Keys of two types with a common element of `shapes` can have the same bytes.
    """

    name: str
    shapes: frozenset[str]
    example: str = field(default="", compare=False)


@dataclass(frozen=True)
class Records:
    """Batch of records to produce, in order: `keys[i]` and `values[i]` form a record; a null value is a tombstone.

    Both are ``pa.binary()`` arrays of equal length without an Arrow offset, so that base address and offsets give the
    place of each value.

    :param type_ids: Ignite binary types that a reader needs.
    :param key_kinds: kinds of the keys (:data:`~ignite_kafka.ignite.types.key_kind.KeyKind`), if a key's bytes do
        not show its type.
    :param key_types: types of the keys, if two of these types can have the same bytes.
    :param headers: of type :data:`.headers.HEADERS`; None: no record has any.
    :param times_ms: N timestamps in milliseconds since 1970; None: all have the time of sending.
    :param uses: classes and types of the decoded entries, which other formats than Ignite's do not contain.
    :param rows: row of each record's entry in the batch of entries, ascending, if transforms drop entries; None: each
        entry has a record.
    :param refused: rows of entries for which a transform throws an exception, with the error; they have no records.
    :param topics: N topics (``pa.string()``) that transforms have given the records; None: all have the topic of their
        cache.
    """

    keys: pa.BinaryArray
    values: pa.BinaryArray
    type_ids: frozenset[int] = frozenset()
    key_kinds: frozenset[tuple[int, ...]] = frozenset()
    key_types: frozenset[KeyType] = frozenset()
    headers: pa.ListArray | None = None
    times_ms: Int64Array | None = None
    uses: frozenset[TypeUse] = frozenset()
    rows: RowIndex | None = None
    refused: tuple[tuple[int, IgniteKafkaError], ...] = ()
    topics: pa.StringArray | None = None

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.values):
            raise ValueError(f"{len(self.keys)} keys and {len(self.values)} values")
        for name, column in (
            ("headers", self.headers),
            ("times", self.times_ms),
            ("rows", self.rows),
            ("topics", self.topics),
        ):
            if column is not None and len(column) != len(self.keys):
                raise ValueError(f"{len(self.keys)} keys and {len(column)} {name}")
        for array in (self.keys, self.values):
            if array.type != pa.binary() or array.offset:
                raise ValueError(
                    f"records are binary arrays without an offset, not {array.type} with offset {array.offset}"
                )

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Size of all keys, values and headers in bytes, without the bytes that Arrow adds."""
        headers = 0 if self.headers is None else int(header_bytes(self.headers).sum())
        return payload_bytes(self.keys) + payload_bytes(self.values) + headers


@dataclass(frozen=True)
class Consumed:
    """Batch of records consumed from one partition of a topic, in the order of their offsets.

    Row i of `keys`, `values` and `offsets` (int64) is one record.

    A null in `values` is a tombstone, a null in `keys` a record without a key; both are ``pa.binary()``. `times_ms` are
    the records' timestamps in milliseconds since 1970, -1 without one; `headers` are of type :data:`.headers.HEADERS`.
    None: not read. `first_ms` is the timestamp of the first record, which is always read; -1 without one.
    """

    topic: str
    partition: int
    keys: pa.BinaryArray
    values: pa.BinaryArray
    offsets: Int64Array
    times_ms: Int64Array | None = None
    headers: pa.ListArray | None = None
    head: bytes = b""
    first_ms: int = -1

    def __post_init__(self) -> None:
        if not len(self.keys) == len(self.values) == len(self.offsets):
            raise ValueError(f"{len(self.keys)} keys, {len(self.values)} values and {len(self.offsets)} offsets")

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def kept_bytes(self) -> int:
        """Size in bytes that the batch's keys and values occupy in memory."""
        return int(self.keys.nbytes + self.values.nbytes)

    @property
    def read_bytes(self) -> int:
        """Size in bytes of the batch's keys and values in the topic, including the heads cut from the values."""
        return self.kept_bytes + len(self.head) * (len(self) - int(self.values.null_count))


def payload_bytes(array: pa.BinaryArray) -> int:
    """Return the total size in bytes of the values of a binary array without an offset."""
    if not len(array):
        return 0
    bounds = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1)
    return int(bounds[-1] - bounds[0])


def no_records() -> Records:
    """Return a batch without records."""
    return Records(pa.array([], pa.binary()), pa.array([], pa.binary()))


def take_rows(records: Records, rows: Int64Array) -> Records:
    """Return the records at the given row numbers, in the order of these numbers."""
    index = pa.array(rows)
    headers = None if records.headers is None else records.headers.take(index)
    times = None if records.times_ms is None else records.times_ms[rows]
    of = None if records.rows is None else records.rows[rows]
    topics = None if records.topics is None else records.topics.take(index)
    keys = records.keys.take(index)
    values = records.values.take(index)
    return replace(records, keys=keys, values=values, headers=headers, times_ms=times, rows=of, topics=topics)


def take_consumed(consumed: Consumed, rows: RowIndex) -> Consumed:
    """Return the consumed records at the given row numbers, in the order of these numbers."""
    if rows.size == len(consumed) and np.array_equal(rows, np.arange(rows.size)):
        return consumed
    index = pa.array(rows)
    return replace(
        consumed,
        keys=consumed.keys.take(index),
        values=consumed.values.take(index),
        offsets=consumed.offsets[rows],
        times_ms=None if consumed.times_ms is None else consumed.times_ms[rows],
        headers=None if consumed.headers is None else consumed.headers.take(index),
    )


def concat_records(parts: Sequence[Records]) -> Records:
    """Concatenate batches of records into one batch."""
    if len(parts) == 1:
        return parts[0]
    return Records(
        gather([part.keys for part in parts]),
        gather([part.values for part in parts]),
        frozenset[int]().union(*(part.type_ids for part in parts)),
        frozenset[tuple[int, ...]]().union(*(part.key_kinds for part in parts)),
        frozenset[KeyType]().union(*(part.key_types for part in parts)),
        _concat_headers(parts),
        _concat_times(parts),
        frozenset[TypeUse]().union(*(part.uses for part in parts)),
        _concat_numbers([part.rows for part in parts]),
        tuple(refusal for part in parts for refusal in part.refused),
        concat_present([part.topics for part in parts]),
    )


def concat_present(columns: Sequence[pa.Array | None]) -> pa.Array | None:
    """Concatenate a column of several batches; return None if the batches lack the column.

    Either all batches have the column, or none has.
    """
    present = [column for column in columns if column is not None]
    return pa.concat_arrays(present) if present else None


def _concat_headers(parts: Sequence[Records]) -> pa.ListArray | None:
    """Concatenate the header columns of batches; records of a batch without headers get null."""
    if all(part.headers is None for part in parts):
        return None
    return pa.concat_arrays([pa.nulls(len(part), HEADERS) if part.headers is None else part.headers for part in parts])


def _concat_times(parts: Sequence[Records]) -> Int64Array | None:
    """Concatenate the timestamps of batches; records without one get 0, so that the time of sending applies."""
    if all(part.times_ms is None for part in parts):
        return None
    return np.concatenate([np.zeros(len(part), np.int64) if part.times_ms is None else part.times_ms for part in parts])


def _concat_numbers(columns: Sequence[Int64Array | None]) -> Int64Array | None:
    present = [column for column in columns if column is not None]
    return np.concatenate(present) if present else None


def with_tombstones(records: Records, removed: Mask) -> Records:
    """Return the records with null as the value of each removed key, so that they are tombstones.

    :param removed: mask of the records with a removed key.
    """
    if not removed.any():
        return records
    values = pc.if_else(pa.array(removed), pa.scalar(None, pa.binary()), records.values)
    return replace(records, values=values)


def gather(arrays: Sequence[pa.Array]) -> pa.BinaryArray:
    """Concatenate binary or string arrays into one contiguous binary array without an Arrow offset.

    :raises RecordTooLarge: the arrays hold more bytes than int32 offsets can reach.
    """
    total = sum(array.nbytes for array in arrays)
    if total > MOST_BYTES:
        raise too_large(total)
    parts = [array if array.type == pa.binary() else array.cast(pa.binary()) for array in arrays]
    if not parts:
        return pa.array([], pa.binary())
    whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    return _drop_offset(whole) if whole.offset else whole


def too_large(size: int) -> RecordTooLarge:
    """Return the error to raise for a batch with more bytes than Arrow's int32 offsets can address."""
    what = f"a batch of {size:,} bytes does not fit into one binary array of 2 GiB"
    return RecordTooLarge(what, "Lower page_bytes, so that a batch holds less.")


def _drop_offset(array: pa.BinaryArray) -> pa.BinaryArray:
    """Return an Arrow array with the same values but no Arrow offset, without copying the data."""
    count = len(array)
    _, offsets, data = array.buffers()
    kept = np.frombuffer(offsets, np.int32)[array.offset : array.offset + count + 1]
    valid = None
    if array.null_count:
        valid = pa.py_buffer(np.packbits(np.asarray(array.is_valid()), bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [valid, pa.py_buffer(kept), data])


def largest_record(records: Records) -> tuple[int, int]:
    """Return the row number of the largest record, and its size in bytes; (0, 0) without records."""
    if not len(records):
        return 0, 0
    sizes = record_sizes(records)
    row = int(np.argmax(sizes))
    return row, int(sizes[row])


def record_sizes(records: Records) -> Int64Array:
    """Return the size in bytes of each record, headers included."""
    if not len(records):
        return np.zeros(0, np.int64)
    bounds = [
        np.frombuffer(array.buffers()[1], np.int32, len(array) + 1).astype(np.int64)
        for array in (records.keys, records.values)
    ]
    total = bounds[0] + bounds[1]
    sizes: Int64Array = total[1:] - total[:-1]
    return sizes if records.headers is None else sizes + header_bytes(records.headers)
