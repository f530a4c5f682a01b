"""Buffers of Arrow arrays, where pyarrow's own functions are missing or ignore slices and nulls."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .arrays import Int64Array


def list_sizes(lists: pa.ListArray) -> Int64Array:
    """Return the length of each list; 0 for a null list."""
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)


def list_starts(lists: pa.ListArray) -> pa.Array:
    """Return the N + 1 offsets (int32) of N lists in ``lists.flatten()``, where a null list is empty."""
    return pa.array(np.concatenate(([0], np.cumsum(list_sizes(lists)))), pa.int32())


def null_mask(array: pa.Array) -> pa.Array | None:
    """Return an array's nulls as the argument `mask` of pyarrow's ``from_arrays``; None without nulls."""
    return array.is_null() if array.null_count else None


def union_layout(array: pa.UnionArray) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32]]:
    """Return the type code of each value in a dense union, and its position in the child array of that type.

    Pyarrow's own properties ignore that an array is a slice.
    """
    span = slice(array.offset, array.offset + len(array))
    _, kinds, offsets = array.buffers()[:3]
    return np.frombuffer(kinds, np.int8)[span], np.frombuffer(offsets, np.int32)[span]
