"""Keys or values of a batch of records, converted to Ignite's binary format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex


@dataclass(frozen=True)
class ConvertedSide:
    """Converted keys (or values) of a batch, and the records whose key (or value) cannot be converted.

    `data` is binary, with null for a JSON null. `bad` has the other rows, with reasons.
    """

    rows: RowIndex
    data: pa.BinaryArray
    bad: tuple[tuple[int, str], ...]


class Reader(Protocol):
    """Interface of a reader, which converts record keys or values to Ignite's binary format."""

    def read(self, texts: pa.BinaryArray) -> ConvertedSide:
        """Convert the bytes of N keys or N values, none null."""


def read_rows(reader: Reader, data: pa.BinaryArray, selected: Mask) -> ConvertedSide:
    """Convert only the selected rows of a binary array, and return them under their rows in the whole array."""
    if selected.all():
        return reader.read(data)
    rows = np.flatnonzero(selected)
    return concat_sides([reader.read(data.take(pa.array(rows)))], [rows])


def concat_sides(sides: Sequence[ConvertedSide], places: Sequence[RowIndex]) -> ConvertedSide:
    """Join the results of converting separate sets of rows, in the order of the whole batch's rows."""
    rows = np.concatenate([place[side.rows] for side, place in zip(sides, places, strict=True)])
    order = np.argsort(rows)
    bad = [(int(place[row]), why) for side, place in zip(sides, places, strict=True) for row, why in side.bad]
    data = sides[0].data if len(sides) == 1 else pa.concat_arrays([side.data for side in sides]).take(pa.array(order))
    return ConvertedSide(rows[order], data, tuple(sorted(bad)))
