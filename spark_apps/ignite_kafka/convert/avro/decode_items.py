"""Columns of Avro's arrays and maps: the first item of all rows is read, then the second of those that have one, and so on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrays import Int64Array, Mask, RowIndex
from ..connect.map_keys import unique_entries
from .cursor import Bodies, Cursor
from .decode_scalars import Reader


class _Blocks:
    """The items of each value, in the order in which they were read, and the value that each belongs to."""

    def __init__(self, path: str) -> None:
        self._path = path
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
        """Items of the next block of each row; 0 at the end."""
        count = cursor.number(self._path)
        sized = count < 0
        if sized.any():
            some = cursor.of(sized)
            some.number(self._path)  # bytes of the block: only who skips it needs them
            cursor.put(sized, some)
            count = np.abs(count)
        wrong = (count < 0) | (count > np.maximum(cursor.ends - cursor.at, 0))
        if wrong.any():
            cursor.fail(wrong, f"{self._path}: more items than the bytes have room for")
            count[wrong] = 0
        return count

    def offsets_and_order(self, without: Mask | None = None) -> tuple[npt.NDArray[np.int32], Int64Array]:
        """Where the items of each value are once they are taken in this order.

        :param without: items, in the order in which they were read, that are left out.
        """
        owners = self._joined_owners()
        if without is not None:
            owners, kept = owners[~without], np.flatnonzero(~without)
            offsets, order = self._layout(owners)
            return offsets, kept[order]
        return self._layout(owners)

    def fail(self, bodies: Bodies, wrong: Mask, reason: str) -> None:
        """Note the rows of items as broken."""
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
    """Arrays."""

    def __init__(self, item: Reader, path: str) -> None:
        self._item, self._blocks = item, _Blocks(path)

    def read(self, cursor: Cursor) -> None:
        """Read a value of each row."""
        self._blocks.read(cursor, [self._item])

    def finish(self, bodies: Bodies) -> pa.Array:
        """The column of the values."""
        offsets, order = self._blocks.offsets_and_order()
        items = self._item.finish(bodies).take(pa.array(order))
        return pa.ListArray.from_arrays(pa.array(offsets), items, pa.list_(pa.field("item", items.type)))


class EntriesReader:
    """Maps, whose entries are a key and a value each. :param key: place of the key among the two readers."""

    def __init__(self, readers: Sequence[Reader], path: str, key: int = 0) -> None:
        self._readers, self._key, self._blocks = readers, key, _Blocks(path)

    def read(self, cursor: Cursor) -> None:
        """Read a value of each row."""
        self._blocks.read(cursor, self._readers)

    def finish(self, bodies: Bodies) -> pa.Array:
        """The column of the values."""
        columns = [reader.finish(bodies) for reader in self._readers]
        nulls = np.asarray(columns[self._key].is_null()) if columns[self._key].null_count else None
        if nulls is not None:
            self._blocks.fail(bodies, nulls, "a key that is null")
        offsets, order = self._blocks.offsets_and_order(nulls)
        offsets, keys, values = unique_entries(offsets, *(columns[place].take(pa.array(order)) for place in (self._key, 1 - self._key)))
        kind = pa.map_(pa.field("key", keys.type, nullable=False), pa.field("value", values.type))
        return pa.MapArray.from_arrays(pa.array(offsets), keys, values, kind)
