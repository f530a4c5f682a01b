"""Functions of setting filter."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ignite_kafka import filter_function
from ignite_kafka.kafka import bounded_calls


@filter_function
def every_tenth(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Keep the entries whose field ``id`` is a multiple of ten."""
    return np.asarray(batch["id"]) % 10 == 0


@filter_function
def slowly(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Keep all entries, and take so long that a stream is behind."""
    time.sleep(0.15)
    return np.ones(len(batch), bool)


@filter_function
def leaves_stuck_calls(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Keep all entries. The first process that filters has as many calls of librdkafka that do not return as a process may have.

    Processes are listed in the file that the field ``symbol`` of the first entry names.
    """
    used = Path(batch["symbol"][0].as_py())
    if not used.exists():
        stuck = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(bounded_calls.MOST_STUCK)]
        for thread in stuck:
            thread.start()
        bounded_calls._left_behind += stuck
    with used.open("a") as file:
        print(os.getpid(), file=file)
    return np.ones(len(batch), bool)
