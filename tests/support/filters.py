"""Functions of setting filter."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ignite_kafka import filter_function


@filter_function
def every_tenth(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Keep the entries whose field ``id`` is a multiple of ten."""
    return np.asarray(batch["id"]) % 10 == 0


@filter_function
def slowly(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Keep all entries, and take so long that a stream is behind."""
    time.sleep(0.15)
    return np.ones(len(batch), bool)
