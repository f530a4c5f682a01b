"""Types of one-dimensional numpy arrays used throughout the library."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
"""Whole numbers, such as update counters, hashes or offsets."""

RowIndex = npt.NDArray[np.int64]
"""Positions of rows in a table or a batch of columns."""

Mask = npt.NDArray[np.bool_]
"""A flag for each row."""

Int32Array = npt.NDArray[np.int32]
"""Counts, lengths, or partitions in a node's byte layout."""
