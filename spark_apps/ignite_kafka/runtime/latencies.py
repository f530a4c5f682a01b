"""Latencies of copied changes and records, as a histogram."""

from __future__ import annotations

import time

import numpy as np

from ..common.arrays import Int64Array
from ..common.measurements import BOUNDS_S, LATENCY, observe

_BOUNDS_MS = np.array(BOUNDS_S) * 1000


def observe_latencies(begun_ms: Int64Array) -> None:
    """Observe how long changes or records took from their beginning until now, when they are committed.

    A negative latency, of clocks that differ, counts as 0.

    :param begun_ms: N times in milliseconds since 1970; those of 0 and below are unknown, and left out.
    """
    latencies = np.maximum(0, time.time() * 1000 - begun_ms[begun_ms > 0])
    buckets = np.searchsorted(_BOUNDS_MS, latencies)
    counts = np.bincount(buckets)
    sums = np.bincount(buckets, latencies)
    for bucket in np.flatnonzero(counts).tolist():
        # the mean of a bucket's latencies falls into the bucket, and keeps their sum
        observe(LATENCY, float(sums[bucket]) / counts[bucket] / 1000, int(counts[bucket]))
