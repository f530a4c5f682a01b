"""Measurements of a task: histograms of durations, and counts of repeated operations.

Code measures by :func:`observe` and :func:`count_retry`, wherever it is called from. A task that collects them reports
them to the driver; without a collector, nothing is kept. One measurement costs a microsecond, so batches, commits and
requests are measured, never single records.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

from .typed_json import Range

BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of a histogram's buckets in seconds, inclusive; a last bucket has what is above."""

BATCH = "batch"
COMMIT = "commit"
PUT = "put"
LATENCY = "latency"
HEARTBEAT = "heartbeat"
DURATIONS = (BATCH, COMMIT, PUT, LATENCY, HEARTBEAT)
"""Measured durations. docs/metrics.md says where each begins and ends."""

READ = "read"
ATTEMPT = "attempt"
OPERATIONS = (READ, PUT, COMMIT, ATTEMPT)
"""Operations whose repetitions are counted."""

_BUCKETS = len(BOUNDS_S) + 1
_Count = Annotated[int, Range(0, 1 << 53)]


@dataclass(frozen=True)
class Histogram:
    """Durations by buckets.

    :param counts: number of durations in each bucket of :data:`BOUNDS_S`, and above them.
    :param seconds: sum of the durations.
    """

    counts: tuple[_Count, ...] = (0,) * _BUCKETS
    seconds: Annotated[float, Range(0, 1e12)] = 0.0

    def __post_init__(self) -> None:
        """Check the number of buckets.

        :raises ValueError: another version has written the histogram, with other buckets.
        """
        if len(self.counts) != _BUCKETS:
            raise ValueError(f"a histogram has {len(self.counts)} buckets, not {_BUCKETS}")

    def __add__(self, other: Histogram) -> Histogram:
        counts = tuple(own + more for own, more in zip(self.counts, other.counts, strict=True))
        return Histogram(counts, self.seconds + other.seconds)

    @property
    def count(self) -> int:
        """Number of durations."""
        return sum(self.counts)


@dataclass(frozen=True)
class Measurements:
    """Measurements of a task so far.

    :param durations: by name, see :data:`DURATIONS`; without names of which there is none.
    :param retries: number of repeated operations, likewise, see :data:`OPERATIONS`.
    """

    durations: Mapping[str, Histogram] = field(default_factory=dict)
    retries: Mapping[str, _Count] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of measurements; of two states of one task, the later has more."""
        return sum(histogram.count for histogram in self.durations.values()) + sum(self.retries.values())


def add_measurements(several: Iterable[Measurements]) -> Measurements:
    """Add up the measurements of several tasks."""
    durations: dict[str, Histogram] = {}
    retries: dict[str, int] = {}
    for measured in several:
        for name, histogram in measured.durations.items():
            durations[name] = durations[name] + histogram if name in durations else histogram
        for name, count in measured.retries.items():
            retries[name] = retries.get(name, 0) + count
    return Measurements(durations, retries)


class Collector:
    """Measurements that threads of this process add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._retries: dict[str, int] = {}

    def observe(self, name: str, seconds: float) -> None:
        """Add a duration; a negative one counts as 0."""
        seconds = max(0.0, seconds)
        with self._lock:
            self._counts.setdefault(name, [0] * _BUCKETS)[bisect_left(BOUNDS_S, seconds)] += 1
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def observe_several(self, name: str, counts: Sequence[int], seconds: float) -> None:
        """Add durations.

        :param counts: their number in each bucket, without the last buckets if these have none.
        :param seconds: their sum.
        """
        with self._lock:
            total = self._counts.setdefault(name, [0] * _BUCKETS)
            for bucket, count in enumerate(counts):
                total[bucket] += count
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def count_retry(self, operation: str) -> None:
        """Count a repeated operation."""
        with self._lock:
            self._retries[operation] = self._retries.get(operation, 0) + 1

    def measured(self) -> Measurements:
        """Return the measurements so far."""
        with self._lock:
            durations = {name: Histogram(tuple(counts), self._seconds[name]) for name, counts in self._counts.items()}
            return Measurements(durations, dict(self._retries))


_collectors: tuple[Collector, ...] = ()
_opening = threading.Lock()


@contextmanager
def collect() -> Iterator[Collector]:
    """Return a context with a collector of what this process measures meanwhile."""
    global _collectors
    collector = Collector()
    with _opening:
        _collectors = (*_collectors, collector)
    try:
        yield collector
    finally:
        with _opening:
            _collectors = tuple(other for other in _collectors if other is not collector)


def observe(name: str, seconds: float) -> None:
    """Add a duration to all open collectors.

    :param name: one of :data:`DURATIONS`.
    """
    for collector in _collectors:
        collector.observe(name, seconds)


def observe_several(name: str, counts: Sequence[int], seconds: float) -> None:
    """Add durations to all open collectors; see :meth:`Collector.observe_several`."""
    for collector in _collectors:
        collector.observe_several(name, counts, seconds)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Return a context whose duration is observed, unless it ends with an error."""
    began_at = time.monotonic()
    yield
    observe(name, time.monotonic() - began_at)


def count_retry(operation: str) -> None:
    """Count an operation that is repeated after a failure, in all open collectors.

    :param operation: one of :data:`OPERATIONS`.
    """
    for collector in _collectors:
        collector.count_retry(operation)
