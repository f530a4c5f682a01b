"""Readers of Avro arrays and maps for all rows at once, without a Python object per item.

The first items of all rows are read, then the second items of the rows that have one, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrays import Int64Array, Mask, RowIndex
from ..connect.map_keys import unique_entries
from .cursor import Bodies, Cursor
from .decode_scalars import Reader

_MOST_EMPTY = 1_000
"""Maximum number of zero-byte items in a body: its size does not limit their count, and each takes memory."""


class _Blocks:
    """Reader of the blocks of Avro arrays or maps; it records to which array or map each item belongs.

    :param has_bytes: whether each item has at least one byte.
    """

    def __init__(self, path: str, has_bytes: bool) -> None:
        self._path = path
        self._has_bytes = has_bytes
        self._empty = np.zeros(0, np.int64)  # by row of the batch
        self._rows: list[RowIndex] = []
        self._owners: list[Int64Array] = []
        self._count = 0

    def read(self, cursor: Cursor, readers: Sequence[Reader]) -> None:
        first = self._count
        self._count += len(cursor)
        self._rows.append(cursor.rows)
        left = self._header(cursor)
        active = np.flatnonzero(left)
        while active.size:
            some = cursor.of(active)
            for reader in readers:
                reader.read(some)
            self._owners.append(first + active)
            left[active] -= 1
            ended = left[active] == 0
            if ended.any():
                done = some.of(ended)
                left[active[ended]] = self._header(done)
                some.put(ended, done)
            cursor.put(active, some)
            active = active[left[active] > 0]

    def _header(self, cursor: Cursor) -> Int64Array:
        """Read the item count of the next block of each row; 0 after the last block."""
        count = cursor.number(self._path)
        sized = count < 0
        if sized.any():
            some = cursor.of(sized)
            some.number(self._path)  # size of the block in bytes: needed only to skip the block
            cursor.put(sized, some)
            count = np.abs(count)
        most = np.maximum(cursor.ends - cursor.at, 0) if self._has_bytes else self._most_empty(cursor)
        wrong = (count < 0) | (count > most)
        if wrong.any():
            reason = (
                "more items than the bytes have room for"
                if self._has_bytes
                else f"more than {_MOST_EMPTY} items without bytes"
            )
            cursor.fail(wrong, f"{self._path}: {reason}")
            count[wrong] = 0
        if not self._has_bytes:
            self._empty[cursor.rows] += count
        return count

    def _most_empty(self, cursor: Cursor) -> Int64Array:
        if not self._empty.size:
            self._empty = np.zeros(len(cursor.bodies), np.int64)
        left: Int64Array = _MOST_EMPTY - self._empty[cursor.rows]
        return left

    def offsets_and_order(self, without: Mask | None = None) -> tuple[npt.NDArray[np.int32], Int64Array]:
        """Return the offset of each array's items, and the order that sorts the items read by array.

        :param without: mask of the items to leave out, in the order in which the items were read.
        """
        owners = self._joined_owners()
        if without is not None:
            owners = owners[~without]
            kept = np.flatnonzero(~without)
            offsets, order = self._layout(owners)
            return offsets, kept[order]
        return self._layout(owners)

    def fail(self, bodies: Bodies, wrong: Mask, reason: str) -> None:
        """Mark the rows that contain the given items as broken."""
        rows = np.concatenate(self._rows)
        for owner in self._joined_owners()[wrong].tolist():
            bodies.bad.setdefault(int(rows[owner]), f"{self._path}: {reason}")

    def _joined_owners(self) -> Int64Array:
        return np.concatenate(self._owners) if self._owners else np.zeros(0, np.int64)

    def _layout(self, owners: Int64Array) -> tuple[npt.NDArray[np.int32], Int64Array]:
        offsets = np.zeros(self._count + 1, np.int32)
        np.cumsum(np.bincount(owners, minlength=self._count), out=offsets[1:])
        return offsets, np.argsort(owners, kind="stable")


class ItemsReader:
    """Reader of Avro arrays.

    :param has_bytes: whether each item has at least one byte.
    """

    def __init__(self, item: Reader, path: str, *, has_bytes: bool) -> None:
        self._item = item
        self._blocks = _Blocks(path, has_bytes)

    def read(self, cursor: Cursor) -> None:
        """Read the next array of each row."""
        self._blocks.read(cursor, [self._item])

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return the arrays read so far as a column of lists."""
        offsets, order = self._blocks.offsets_and_order()
        items = self._item.finish(bodies).take(pa.array(order))
        return pa.ListArray.from_arrays(pa.array(offsets), items, pa.list_(pa.field("item", items.type)))


class EntriesReader:
    """Reader of Avro maps, and of arrays of entries with key and value.

    :param key: index of the key's reader in `readers`.
    :param has_bytes: whether each entry has at least one byte.
    """

    def __init__(self, readers: Sequence[Reader], path: str, key: int = 0, *, has_bytes: bool = True) -> None:
        self._readers = readers
        self._key = key
        self._blocks = _Blocks(path, has_bytes)

    def read(self, cursor: Cursor) -> None:
        """Read the next map of each row."""
        self._blocks.read(cursor, self._readers)

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return the maps read so far as a column of maps."""
        columns = [reader.finish(bodies) for reader in self._readers]
        nulls = np.asarray(columns[self._key].is_null()) if columns[self._key].null_count else None
        if nulls is not None:
            self._blocks.fail(bodies, nulls, "a key that is null")
        offsets, order = self._blocks.offsets_and_order(nulls)
        offsets, keys, values = unique_entries(
            offsets, *(columns[place].take(pa.array(order)) for place in (self._key, 1 - self._key))
        )
        kind = pa.map_(pa.field("key", keys.type, nullable=False), pa.field("value", values.type))
        return pa.MapArray.from_arrays(pa.array(offsets), keys, values, kind)
