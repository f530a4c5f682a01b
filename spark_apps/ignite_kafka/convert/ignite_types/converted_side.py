"""Converted keys or converted values of a batch of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex


@dataclass(frozen=True)
class ConvertedSide:
    """Converted keys or values: `data[i]` belongs to row `rows[i]`; the rows are ascending.

    `data` is binary, with null for a JSON null. `bad` has the other rows, with reasons.
    """

    rows: RowIndex
    data: pa.BinaryArray
    bad: tuple[tuple[int, str], ...]


class Reader(Protocol):
    """Reader of one side of records, keys or values."""

    def read(self, texts: pa.BinaryArray) -> ConvertedSide:
        """Read the bytes of N keys or values, none null."""


def read_rows(reader: Reader, data: pa.BinaryArray, selected: Mask) -> ConvertedSide:
    """Read the rows of a binary array with a true flag in `selected`."""
    if selected.all():
        return reader.read(data)
    rows = np.flatnonzero(selected)
    return concat_sides([reader.read(data.take(pa.array(rows)))], [rows])


def concat_sides(sides: Sequence[ConvertedSide], places: Sequence[RowIndex]) -> ConvertedSide:
    """Join sides read from separate sets of rows; the rows of the result are ascending."""
    rows = np.concatenate([place[side.rows] for side, place in zip(sides, places, strict=True)])
    order = np.argsort(rows)
    bad = [(int(place[row]), why) for side, place in zip(sides, places, strict=True) for row, why in side.bad]
    data = sides[0].data if len(sides) == 1 else pa.concat_arrays([side.data for side in sides]).take(pa.array(order))
    return ConvertedSide(rows[order], data, tuple(sorted(bad)))
