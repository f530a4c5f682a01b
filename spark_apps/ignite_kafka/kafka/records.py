"""Batches of records as Arrow arrays: :class:`Records` to be produced, :class:`Consumed` as they were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array, Mask
from ..errors import RecordTooLarge

MOST_BYTES = 2**31 - 1  # an Arrow binary array has int32 offsets


@dataclass(frozen=True)
class KeyType:
    """A type of keys and one of them as the record has it. Two types whose `shapes` have one in common can give the same bytes."""

    name: str
    shapes: frozenset[str]
    example: str = field(default="", compare=False)


@dataclass(frozen=True)
class Records:
    """Records of one topic, in order: `keys[i]` and `values[i]` belong together; a null value is a tombstone.

    Both are ``pa.binary()`` arrays of equal length without an Arrow offset, so that base address + offsets name each value.

    :param type_ids: Ignite binary types that a reader must know to read them.
    :param key_kinds: kinds of the keys (:data:`.object_keys.Kind`), where the bytes of a key do not tell its type.
    :param key_types: types of the keys, where two of them can give the same bytes.
    """

    keys: pa.BinaryArray
    values: pa.BinaryArray
    type_ids: frozenset[int] = frozenset()
    key_kinds: frozenset[tuple[int, ...]] = frozenset()
    key_types: frozenset[KeyType] = frozenset()

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.values):
            raise ValueError(f"{len(self.keys)} keys and {len(self.values)} values")
        for array in (self.keys, self.values):
            if array.type != pa.binary() or array.offset:
                raise ValueError(f"records are binary arrays without an offset, not {array.type} with offset {array.offset}")

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Bytes of all keys and values, without Arrow's own."""
        return payload_bytes(self.keys) + payload_bytes(self.values)


@dataclass(frozen=True)
class Consumed:
    """Records of one partition of a topic, in their order: row i of `keys`, `values` and `offsets` (int64) is one record.

    A null in `values` is a tombstone, a null in `keys` a record without a key; both are ``pa.binary()``. `times_ms` are the records'
    timestamps since the epoch, -1 where there is none; None: not asked for.
    """

    topic: str
    partition: int
    keys: pa.BinaryArray
    values: pa.BinaryArray
    offsets: Int64Array
    times_ms: Int64Array | None = None

    def __post_init__(self) -> None:
        if not len(self.keys) == len(self.values) == len(self.offsets):
            raise ValueError(f"{len(self.keys)} keys, {len(self.values)} values and {len(self.offsets)} offsets")

    def __len__(self) -> int:
        return len(self.keys)


def payload_bytes(array: pa.BinaryArray) -> int:
    """Bytes of all values of a binary array that has no offset."""
    if not len(array):
        return 0
    bounds = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1)
    return int(bounds[-1] - bounds[0])


def no_records() -> Records:
    """Records of an empty batch."""
    return Records(pa.array([], pa.binary()), pa.array([], pa.binary()))


def taken(records: Records, rows: Int64Array) -> Records:
    """These rows of the records, in this order."""
    index = pa.array(rows)
    return replace(records, keys=records.keys.take(index), values=records.values.take(index))


def joined(parts: Sequence[Records]) -> Records:
    """Records one part after the other."""
    if len(parts) == 1:
        return parts[0]
    return Records(
        gather([part.keys for part in parts]),
        gather([part.values for part in parts]),
        frozenset[int]().union(*(part.type_ids for part in parts)),
        frozenset[tuple[int, ...]]().union(*(part.key_kinds for part in parts)),
        frozenset[KeyType]().union(*(part.key_types for part in parts)),
    )


def with_tombstones(records: Records, removed: Mask) -> Records:
    """The records with null for the value of each removed key."""
    if not removed.any():
        return records
    values = pc.if_else(pa.array(removed), pa.scalar(None, pa.binary()), records.values)
    return replace(records, values=values)


def gather(arrays: Sequence[pa.Array]) -> pa.BinaryArray:
    """Binary or string arrays one after the other as one contiguous ``pa.binary()`` array without an offset.

    :raises RecordTooLarge: they hold more bytes than int32 offsets can reach.
    """
    total = sum(array.nbytes for array in arrays)
    if total > MOST_BYTES:
        raise too_large(total)
    parts = [array if array.type == pa.binary() else array.cast(pa.binary()) for array in arrays]
    if not parts:
        return pa.array([], pa.binary())
    whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    return _without_offset(whole) if whole.offset else whole


def too_large(size: int) -> RecordTooLarge:
    """The error of a batch beyond int32 offsets."""
    what = f"a batch of {size:,} bytes does not fit into one binary array of 2 GiB"
    return RecordTooLarge(what, "Lower page_bytes, so that a batch holds less.")


def _without_offset(array: pa.BinaryArray) -> pa.BinaryArray:
    """The same values: offsets begin at the slice's first one, the data buffer is shared."""
    count = len(array)
    _, offsets, data = array.buffers()
    kept = np.frombuffer(offsets, np.int32)[array.offset : array.offset + count + 1]
    valid = None
    if array.null_count:
        valid = pa.py_buffer(np.packbits(np.asarray(array.is_valid()), bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [valid, pa.py_buffer(kept), data])


def largest_record(records: Records) -> tuple[int, int]:
    """Row and size (bytes of key and value) of the largest record; (0, 0) of none."""
    if not len(records):
        return 0, 0
    sizes = record_sizes(records)
    row = int(np.argmax(sizes))
    return row, int(sizes[row])


def record_sizes(records: Records) -> Int64Array:
    """Bytes of key and value of each record."""
    if not len(records):
        return np.zeros(0, np.int64)
    bounds = [np.frombuffer(array.buffers()[1], np.int32, len(array) + 1).astype(np.int64) for array in (records.keys, records.values)]
    total = bounds[0] + bounds[1]
    return total[1:] - total[:-1]
