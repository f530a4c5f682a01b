"""Types of the one-dimensional numpy arrays that the library passes around."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
"""Numbers, such as update counters, hashes, or offsets."""

RowIndex = npt.NDArray[np.int64]
"""Positions of rows in a table or a batch of columns."""

Mask = npt.NDArray[np.bool_]
"""A flag for each row."""

Int32Array = npt.NDArray[np.int32]
"""Counts, lengths, or partitions in a node's byte layout."""
