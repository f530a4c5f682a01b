"""Read positions in N Avro bodies, moved one field at a time for all rows at once.

A row with broken bytes is noted with the reason.

Source: the binary encoding of the specification of Avro 1.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrays import Int64Array, Mask, RowIndex
from ...ignite.binary.byte_columns import data_of, offsets_of

_PADDING = 16
"""Zeros behind the last body, so that no read of a number ends outside the array."""
_MOST_SHIFT = 63


class Bodies:
    """Bytes of N Avro bodies, with the reasons why broken bodies cannot be read."""

    def __init__(self, data: pa.BinaryArray) -> None:
        letters = data_of(data)
        self.bytes = np.zeros(letters.size + _PADDING, np.uint8)
        self.bytes[: letters.size] = letters
        self.buffer = pa.py_buffer(self.bytes)
        self.bad: dict[int, str] = {}
        offsets = offsets_of(data).astype(np.int64)
        self._offsets = offsets - offsets[0]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def cursor(self, skip: int = 0) -> Cursor:
        """Return a cursor over all bodies, placed behind the first `skip` bytes of each."""
        return Cursor(self, np.arange(self._offsets.size - 1), self._offsets[:-1] + skip, self._offsets[1:])


class Cursor:
    """The current read position in the Avro bodies of some rows, in ascending order.

    A broken row moves to its end and reads the number 0 there, which ends each loop over its items.

    :param rows: rows of the batch. :param at: position of each row's next byte. :param ends: position behind its last.
    """

    def __init__(self, bodies: Bodies, rows: RowIndex, at: Int64Array, ends: Int64Array) -> None:
        self.bodies = bodies
        self.rows = rows
        self.at = at
        self.ends = ends

    def __len__(self) -> int:
        return self.rows.size

    def of(self, chosen: Mask | RowIndex) -> Cursor:
        """Return a cursor over some of the rows, to read a field that only they have; then call :meth:`put`."""
        return Cursor(self.bodies, self.rows[chosen], self.at[chosen], self.ends[chosen])

    def put(self, chosen: Mask | RowIndex, moved: Cursor) -> None:
        """Continue at the positions that a cursor of :meth:`of` has reached."""
        self.at[chosen] = moved.at

    def fail(self, wrong: Mask, reason: str) -> None:
        """Mark rows as broken and move them to their end; a row keeps its first reason."""
        for row in self.rows[wrong].tolist():
            self.bodies.bad.setdefault(row, reason)
        self.at = np.where(wrong, self.ends, self.at)

    def skip(self, sizes: Int64Array | int, path: str) -> None:
        """Move each row's position forward by a number of bytes, 0 or more."""
        self.at = self.at + sizes
        self._within(path)

    def byte(self, path: str) -> npt.NDArray[np.uint8]:
        """Read the next byte of each row."""
        octets = self.bodies.bytes[self.at]
        self.skip(1, path)
        return octets

    def number(self, path: str) -> Int64Array:
        """Read the next variable-length zig-zag number of each row."""
        letters = self.bodies.bytes
        octets = letters[self.at]
        zigzag = (octets & 0x7F).astype(np.uint64)
        self.at = self.at + 1
        longer = np.flatnonzero(octets > 0x7F)
        shift = 7
        while longer.size and shift <= _MOST_SHIFT:
            octets = letters[self.at[longer]]
            zigzag[longer] |= (octets & 0x7F).astype(np.uint64) << np.uint64(shift)
            self.at[longer] += 1
            longer = longer[octets > 0x7F]
            shift = shift + 7
        if longer.size:
            wrong = np.zeros(len(self), np.bool_)
            wrong[longer] = True
            self.fail(wrong, f"{path}: a number of more than ten bytes")
        over = self._within(path)
        values = (zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64)
        return values if over is None else np.where(over, 0, values)

    def fixed(self, kind: Any, path: str) -> npt.NDArray[Any]:
        """Read the next value of each row, of a numpy type with fixed width."""
        width = np.dtype(kind).itemsize
        at = self.at
        self.skip(width, path)
        windows = np.lib.stride_tricks.sliding_window_view(self.bodies.bytes, width)
        values: npt.NDArray[Any] = windows[np.minimum(at, len(windows) - 1)].view(kind).ravel()
        return values

    def lengths(self, path: str) -> Int64Array:
        """Read the next length prefix of each row; mark a row as broken if fewer bytes remain."""
        lengths = self.number(path)
        wrong = (lengths < 0) | (lengths > self.ends - self.at)
        if wrong.any():
            self.fail(wrong, f"{path}: a length that the bytes have no room for")
            lengths[wrong] = 0
        return lengths

    def _within(self, path: str) -> Mask | None:
        """Mark rows that were read beyond their end as broken; return their mask, or None without such rows."""
        over = self.at > self.ends
        if not over.any():
            return None
        self.fail(over, f"{path}: the bytes end within the value")
        return over
