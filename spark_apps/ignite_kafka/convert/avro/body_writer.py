"""Writer of Avro bodies for all rows at once, one field after the other.

Small pieces (branches, numbers, lengths) become cells of a matrix with N rows; one selection joins the cells of each
row. Long pieces (texts, bytes, arrays) are columns of bytes. Arrow joins the cells and the columns. Source: the binary
encoding of the specification of Avro 1.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...ignite.binary.byte_columns import NOTHING, data_of, offsets_of, sliced

Cells = npt.NDArray[np.uint8]


class BodyWriter:
    """Avro bodies of N rows; each method appends bytes to all rows, or to the rows of a mask."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._cells: list[tuple[Cells | int, Mask | None]] = []
        self._pieces: list[pa.BinaryArray] = []

    def cell(self, value: Cells | int, mask: Mask | None = None) -> None:
        """Append one byte to each row: the row's own byte from an array, or the same byte to all rows."""
        self._cells.append((value, mask))

    def constant(self, data: bytes, mask: Mask | None = None) -> None:
        """Append the same bytes to each row."""
        for byte in data:
            self.cell(byte, mask)

    def fixed(self, values: npt.NDArray[Any], mask: Mask | None = None) -> None:
        """Append to each row its item of a numpy array, as the item's bytes in memory."""
        for column in np.ascontiguousarray(values).view(np.uint8).reshape(self._count, values.itemsize).T:
            self.cell(column, mask)

    def varint(self, values: npt.NDArray[Any], mask: Mask | None = None) -> None:
        """Append to each row its signed integer as Avro's variable-length zig-zag number.

        Values outside the mask should be zero: the largest value decides how many bytes are tried.
        """
        if not self._count:
            return
        bits = values.itemsize * 8
        rest: Any = ((values << 1) ^ (values >> (bits - 1))).view(np.uint32 if bits == 32 else np.uint64)
        most = int(rest.max())
        while True:
            if most < 0x80:
                self.cell(rest.astype(np.uint8), mask)
                return
            more = rest > 0x7F
            self.cell((rest & 0x7F).astype(np.uint8) | (more.view(np.uint8) << 7), mask)
            mask = more if mask is None else more & mask
            rest = rest >> 7
            most = most >> 7

    def column(self, data: pa.BinaryArray) -> None:
        """Append to each row its byte string from a column; a null appends nothing."""
        self._pack()
        self._pieces.append(data)

    def rows(self) -> pa.BinaryArray:
        """Return the finished bytes of each row."""
        self._pack()
        if not self._pieces:
            return sliced(np.zeros(self._count + 1, np.int64), b"")
        if len(self._pieces) == 1 and not self._pieces[0].null_count:
            return self._pieces[0]
        return pc.binary_join_element_wise(*self._pieces, NOTHING, null_handling="replace", null_replacement=b"")

    def _pack(self) -> None:
        if not self._cells:
            return
        width = len(self._cells)
        cells = np.empty((self._count, width), np.uint8)
        kept = np.ones((self._count, width), np.bool_)
        lengths = np.full(self._count, sum(mask is None for _, mask in self._cells), np.int64)
        for place, (value, mask) in enumerate(self._cells):
            cells[:, place] = value
            if mask is not None:
                kept[:, place] = mask
                lengths += mask
        self._cells.clear()
        offsets = np.zeros(self._count + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        self._pieces.append(sliced(offsets, cells[kept] if offsets[-1] < cells.size else cells))


def grouped(items: pa.BinaryArray, counts: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Join consecutive items into one value per row: row i gets the next ``counts[i]`` items."""
    ends = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    offsets = offsets_of(items)
    return sliced((offsets - offsets[0])[ends], data_of(items))
