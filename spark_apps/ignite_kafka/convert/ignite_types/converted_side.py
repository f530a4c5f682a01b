"""One side, keys or values, of converted records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex


@dataclass(frozen=True)
class ConvertedSide:
    """Converted texts: `data[i]` (binary, null for a JSON null) belongs to row `rows[i]`, rising.

    `bad` has the other rows and reasons.
    """

    rows: RowIndex
    data: pa.BinaryArray
    bad: tuple[tuple[int, str], ...]


class Reader(Protocol):
    """Reads the bytes of one side of records, none null."""

    def read(self, texts: pa.BinaryArray) -> ConvertedSide:
        """Read texts, one per record; `texts` has no nulls."""


def read_rows(reader: Reader, data: pa.BinaryArray, selected: Mask) -> ConvertedSide:
    """Read the rows of a binary array for which `selected` is True."""
    if selected.all():
        return reader.read(data)
    rows = np.flatnonzero(selected)
    return concat_sides([reader.read(data.take(pa.array(rows)))], [rows])


def concat_sides(sides: Sequence[ConvertedSide], places: Sequence[RowIndex]) -> ConvertedSide:
    """Concatenate sides of several sets of rows, by rising row."""
    rows = np.concatenate([place[side.rows] for side, place in zip(sides, places, strict=True)])
    order = np.argsort(rows)
    bad = [(int(place[row]), why) for side, place in zip(sides, places, strict=True) for row, why in side.bad]
    data = sides[0].data if len(sides) == 1 else pa.concat_arrays([side.data for side in sides]).take(pa.array(order))
    return ConvertedSide(rows[order], data, tuple(sorted(bad)))
