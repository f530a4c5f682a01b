"""Counts of copied entries and records, summed over slots and tasks, by cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..common.measurements import Measurements
from ..errors import IgniteKafkaError
from ..state.status import CacheCount, CacheStatus, TaskProgress


@dataclass
class SlotResult:
    """What a Spark task returns for one slot: counts by cache, or the error that ended the slot.

    :param finished: false if the epoch ended before everything was done.
    :param loaded: false if the epoch ended before the initial data was sent.
    :param ahead_s: seconds by which the task is ahead of its rate limit.
    :param attempt: number of the task's attempt.
    :param measured: measurements of the task since its previous result.
    """

    slot: int
    caches: dict[str, CacheCount] = field(default_factory=dict)
    error: IgniteKafkaError | None = None
    finished: bool = True
    loaded: bool = True
    ahead_s: float = 0.0
    attempt: int = 0
    measured: Measurements = field(default_factory=Measurements)


Counts = Mapping[str, CacheCount]


def counts_of(progress: TaskProgress) -> Counts:
    """Return the counts by cache in a task's progress report."""
    return progress.caches


def add_counts(before: Mapping[str, CacheStatus], counts: Iterable[Counts]) -> dict[str, CacheStatus]:
    """Add counts of slots or tasks to the status of each cache."""
    total = sum_counts(counts)
    return {name: _added(status, total.get(name, CacheCount())) for name, status in before.items()}


def cap_units(caches: Mapping[str, CacheStatus]) -> dict[str, CacheStatus]:
    """Limit the number of done partitions to all partitions, because a stream may load a partition twice.

    A snapshot does not cap: its end reports an excess as a fault.
    """
    return {name: replace(cache, units_done=min(cache.units, cache.units_done)) for name, cache in caches.items()}


def _added(before: CacheStatus, count: CacheCount) -> CacheStatus:
    return replace(
        before,
        entries=before.entries + count.entries,
        records=before.records + count.records,
        bad=before.bad + count.bad,
        filtered=before.filtered + count.filtered,
        dead_letters=before.dead_letters + count.dead_letters,
        bytes=before.bytes + count.bytes,
        units_done=before.units_done + count.units,
        seconds=before.seconds + count.ended - count.started,
    )


def sum_counts(slots: Iterable[Counts]) -> dict[str, CacheCount]:
    """Sum the counts of several slots by cache."""
    total: dict[str, CacheCount] = {}
    for counts in slots:
        for name, count in counts.items():
            total.setdefault(name, CacheCount()).add(count)
    return total
