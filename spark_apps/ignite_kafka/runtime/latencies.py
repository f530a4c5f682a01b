"""Latencies of copied changes and records, as a histogram."""

from __future__ import annotations

import numpy as np

from ..common.arrays import Int64Array
from ..common.measurements import BOUNDS_S, LATENCY, observe_several
from ..state.status import now_ms

_BOUNDS_MS = (np.array(BOUNDS_S) * 1000).astype(np.int64)


def observe_latencies(begun_ms: Int64Array) -> None:
    """Observe how long changes or records took from their beginning until now, when they are committed.

    A negative latency, of clocks that differ, counts as 0.

    :param begun_ms: N times in milliseconds since 1970; those of 0 and below are unknown, and left out.
    """
    latencies = np.maximum(0, now_ms() - begun_ms[begun_ms > 0])
    if latencies.size:
        counts = np.bincount(np.searchsorted(_BOUNDS_MS, latencies))
        observe_several(LATENCY, counts.tolist(), int(latencies.sum()) / 1000)
