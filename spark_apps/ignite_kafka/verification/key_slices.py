"""Slices of a cache's keys: equal parts by the keys' hashes, so that topic and cache have the same keys in a slice.

A comparison of a sample reads some slices; the next one continues with others (:mod:`.coverage`).
"""

from __future__ import annotations

import numpy as np

from ..common.arrays import Int64Array, Mask
from .fingerprints import Rows

SLICES = 10_000
"""Number of slices of each cache; one holds 0.01 % of the keys."""
SliceRange = tuple[int, int]
"""First slice and end of adjacent slices."""
ALL: tuple[SliceRange, ...] = ((0, SLICES),)
_SHIFT = np.uint64(32)


def slices_of(percent: float) -> int:
    """Return the number of slices in a share of the keys, at least one."""
    return max(1, min(SLICES, round(percent / 100 * SLICES)))


def count_slices(ranges: tuple[SliceRange, ...]) -> int:
    """Return the number of slices in ranges."""
    return sum(end - first for first, end in ranges)


def select_slices(rows: Rows, ranges: tuple[SliceRange, ...]) -> Mask:
    """Flag the rows of dtype ROW whose key is in one of the slices."""
    if ranges == ALL:
        return np.full(len(rows), True)
    numbers = slice_numbers(rows)
    selected = np.full(len(rows), False)
    for first, end in ranges:
        selected |= (numbers >= first) & (numbers < end)
    return selected


def slice_numbers(rows: Rows) -> Int64Array:
    """Return the slice of the key of each of N rows of dtype ROW, as N numbers from 0."""
    return (((rows["high"] >> _SHIFT) * np.uint64(SLICES)) >> _SHIFT).astype(np.int64)
