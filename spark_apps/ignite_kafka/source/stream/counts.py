"""What a run of a stream has sent: in the epochs that ended, and so far in the one that runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...state.status import CacheStatus, TaskProgress
from ..snapshot.task import CacheCount

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
