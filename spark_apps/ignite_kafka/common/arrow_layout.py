"""Layout of Arrow arrays that pyarrow's own functions do not give, or not for slices and nulls."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .arrays import Int64Array


def list_sizes(lists: pa.ListArray) -> Int64Array:
    """Return how many elements each of N lists has in ``lists.flatten()``; a null list has none."""
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)


def list_starts(lists: pa.ListArray) -> pa.Array:
    """Return the N + 1 offsets (int32) of N lists in ``lists.flatten()``; a null list is empty."""
    return pa.array(np.concatenate(([0], np.cumsum(list_sizes(lists)))), pa.int32())


def null_mask(array: pa.Array) -> pa.Array | None:
    """Return the argument `mask` of ``from_arrays`` for the nulls of an array; None without nulls."""
    return array.is_null() if array.null_count else None


def union_layout(array: pa.UnionArray) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32]]:
    """Return the type code of each row of a dense union, and its place in that child.

    Pyarrow's own properties do not heed a slice.
    """
    span = slice(array.offset, array.offset + len(array))
    _, kinds, offsets = array.buffers()[:3]
    return np.frombuffer(kinds, np.int8)[span], np.frombuffer(offsets, np.int32)[span]
