"""Counts of what the slots of a run have moved, by cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..errors import IgniteKafkaError
from ..state.status import CacheStatus, TaskProgress


@dataclass
class CacheCount:
    """What one slot did for one cache: ``entries`` read, ``records`` sent; of a sink ``records`` read, ``entries`` stored or removed;
    ``bad`` ones were passed over, or are dead letters. ``entries``, ``units`` and ``bad`` of a snapshot include what an earlier
    attempt committed; of a stream, all counts are those of one epoch.

    ``started`` and ``ended`` are seconds since 1970: the first read and the slot's last commit; 0.0 where nothing was left to do.
    """

    entries: int = 0
    records: int = 0
    bytes: int = 0
    units: int = 0
    started: float = 0.0
    ended: float = 0.0
    bad: int = 0

    def add(self, more: CacheCount) -> None:
        """Count what was done beside this."""
        self.entries += more.entries
        self.records += more.records
        self.bytes += more.bytes
        self.units += more.units
        self.bad += more.bad
        self.started = min(self.started, more.started) if self.started and more.started else self.started or more.started
        self.ended = max(self.ended, more.ended)


@dataclass
class SlotResult:
    """Counts by cache, or the error that ended the slot; ``finished`` and ``loaded`` are false where an epoch of a stream ended
    before there was nothing more to do, and before all was sent that was there before; ``ahead_s``: how far its task is ahead of its pace.
    """

    slot: int
    caches: dict[str, CacheCount] = field(default_factory=dict)
    error: IgniteKafkaError | None = None
    finished: bool = True
    loaded: bool = True
    ahead_s: float = 0.0


Counts = Mapping[str, CacheCount]


def counts_of(told: TaskProgress) -> Counts:
    """What a task has told of itself."""
    return {name: CacheCount(**count) for name, count in told.caches.items()}


def added(before: Mapping[str, CacheStatus], counts: Iterable[Counts]) -> dict[str, CacheStatus]:
    """Status of caches with the counts of slots or tasks added."""
    total = summed(counts)
    return {name: _added(status, total.get(name, CacheCount())) for name, status in before.items()}


def _added(before: CacheStatus, count: CacheCount) -> CacheStatus:
    return replace(
        before,
        entries=before.entries + count.entries,
        records=before.records + count.records,
        bad=before.bad + count.bad,
        bytes=before.bytes + count.bytes,
        units_done=min(before.units, before.units_done + count.units),
        seconds=before.seconds + count.ended - count.started,
    )


def summed(slots: Iterable[Counts]) -> dict[str, CacheCount]:
    """Counts of slots as those of their task."""
    total: dict[str, CacheCount] = {}
    for counts in slots:
        for name, count in counts.items():
            total.setdefault(name, CacheCount()).add(count)
    return total
