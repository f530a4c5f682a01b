"""Progress of a run: a bar for each cache on a terminal, otherwise log lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ..app import show_progress
from ..common.deadline import Clock
from ..state.status import CacheStatus, RunStatus
from .progress_bar import RateEstimate, draws_in_place, format_left, format_rate, live_bars

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_MOST_BARS = 10
"""Caches with a bar of their own; all others are in the first line only."""
_ALL = "all caches"


@contextmanager
def run_progress(
    *, ends: bool, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callable[[RunStatus], None]]:
    """Return the function that shows the progress of a run, until the end of the context.

    :param ends: whether the run ends by itself: without an end there is no time left.
    :param stream: None: stderr.
    """
    stream = stream or sys.stderr
    if not draws_in_place(stream, quiet=quiet):
        yield show_progress
        return
    with live_bars(stream) as bars:
        yield RunBars(bars, ends=ends).show


class RunBars:
    """Bars of a run: one for all caches, and one for each of the first caches that are not complete."""

    def __init__(self, bars: Progress, *, ends: bool, clock: Clock = time.monotonic) -> None:
        self._bars = bars
        self._ends = ends
        self._clock = clock
        self._tasks: dict[str, TaskID] = {}
        self._records: dict[str, RateEstimate] = {}
        self._units: dict[str, RateEstimate] = {}

    def show(self, status: RunStatus) -> None:
        """Show the counts of a run's caches."""
        caches = {f"{name} → {cache.topic}": cache for name, cache in status.caches.items()}
        if len(caches) > 1:
            self._show(_ALL, _sum(status))
        shown = [name for name, cache in caches.items() if not self._is_complete(cache)][:_MOST_BARS]
        for name in [name for name in self._tasks if name != _ALL and name not in shown]:
            self._bars.remove_task(self._tasks.pop(name))
        for name in shown:
            self._show(name, caches[name])
        self._bars.refresh()

    def _is_complete(self, cache: CacheStatus) -> bool:
        return self._ends and 0 < cache.units == cache.units_done

    def _show(self, name: str, cache: CacheStatus) -> None:
        records = self._records.setdefault(name, RateEstimate(self._clock))
        records.add(cache.records)
        units = self._units.setdefault(name, RateEstimate(self._clock))
        units.add(cache.units_done)
        left = units.seconds_left(cache.units - cache.units_done) if self._ends else None
        partitions = f"{cache.units_done:,}/{cache.units:,} partitions, " if self._ends else ""
        fields: dict[str, Any] = {
            "count": f"{partitions}{cache.records:,} records",
            "rate": format_rate(records.per_second, "records"),
            "left": format_left(left),
        }
        total = cache.units if self._ends and cache.units else None
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total, **fields)
        self._bars.update(self._tasks[name], completed=cache.units_done, total=total, **fields)


def _sum(status: RunStatus) -> CacheStatus:
    caches = status.caches.values()
    return CacheStatus(
        "",
        records=sum(cache.records for cache in caches),
        units=sum(cache.units for cache in caches),
        units_done=sum(cache.units_done for cache in caches),
    )
