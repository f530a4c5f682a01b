"""What a run of a stream has sent: in the epochs that ended, and so far in the one that runs."""

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
    """Counts of caches, and what slots or tasks have done since."""
    every = list(counts)
    return {name: _added(count, [one[name] for one in every if name in one]) for name, count in before.items()}


def _added(before: CacheStatus, mine: list[CacheCount]) -> CacheStatus:
    return replace(
        before,
        entries=before.entries + sum(count.entries for count in mine),
        records=before.records + sum(count.records for count in mine),
        bad=before.bad + sum(count.bad for count in mine),
        bytes=before.bytes + sum(count.bytes for count in mine),
        units_done=min(before.units, before.units_done + sum(count.units for count in mine)),
        seconds=before.seconds
        + max((count.ended for count in mine), default=0.0)
        - min((count.started for count in mine if count.started), default=0.0),
    )


def summed(slots: Iterable[Counts]) -> dict[str, CacheCount]:
    """Counts of slots as those of their task."""
    total: dict[str, CacheCount] = {}
    for counts in slots:
        for name, count in counts.items():
            total.setdefault(name, CacheCount()).add(count)
    return total
