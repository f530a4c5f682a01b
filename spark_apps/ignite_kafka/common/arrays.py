"""Types of one-dimensional numpy arrays used throughout the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Int64Array = npt.NDArray[np.int64]
"""Integers, such as update counters, hashes or offsets."""

RowIndex = npt.NDArray[np.int64]
"""Row numbers in a table or a batch of columns."""

Mask = npt.NDArray[np.bool_]
"""A boolean for each row, such as whether it is selected."""

Int32Array = npt.NDArray[np.int32]
"""32-bit integers: counts, lengths, or partitions as a node writes them."""

_NAMES = {
    **{name: name for sign in ("", "u") for name in (f"{sign}int{bits}" for bits in (8, 16, 32, 64))},
    "bool": "bool",
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
}
"""numpy's type names, by Arrow's."""


def numpy_type(kind: pa.DataType) -> np.dtype[Any]:
    """Return the numpy type of a numeric or Boolean Arrow type, without pandas.

    ``to_pandas_dtype`` needs pandas before pyarrow 20.

    :raises KeyError: the type is neither.
    """
    return np.dtype(_NAMES[str(kind)])
