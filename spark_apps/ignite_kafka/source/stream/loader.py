"""Loading of cache partitions by scans; a key that changes meanwhile is sent as a change instead.

Before a loaded unit is loaded again, its offset record is written as not loaded. Its mark and its backlog are cleared
next, and a task that died before the commit would else forget that the unit must be loaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import closing

import numpy as np

from ...common.arrays import Int64Array
from ...events import UNITS_SENT_AGAIN, emit
from ...ignite.scan import scan_partitions
from ...ignite.types.model import Page
from ...plan.source_plan import CachePlan
from .backlog_client import BacklogClient
from .batch import ChangeBatch, without_keys
from .cache_infos import CacheInfos
from .load_size import LoadSize
from .state_lookup import StateLookup
from .unit_marks import mark_reason
from .unit_reader import UnitReader
from .unit_states import UnitStates

_FIRST_LOAD = 4  # units loaded at once before their size is known

Scan = Callable[..., Generator[Page, None, None]]


class Loader:
    """Reads cache partitions for the initial load, about ``batch_bytes`` at a time; not thread-safe.

    :param most_records: target records of one batch, which has at least one unit; None: no limit.
    :param scan: reads the entries of partitions.
    """

    def __init__(
        self,
        client: BacklogClient,
        infos: CacheInfos,
        states: UnitStates,
        reader: UnitReader,
        lookup: StateLookup,
        most_records: int | None,
        scan: Scan = scan_partitions,
    ) -> None:
        self._settings = states.plan.settings
        self._table = states.table
        self._client = client
        self._infos = infos
        self._states = states
        self._reader = reader
        self._lookup = lookup
        self._scan = scan
        self._size = LoadSize(self._settings.batch_bytes, most_records, _FIRST_LOAD)

    def load(self) -> list[ChangeBatch]:
        """Scan the next cache partitions and read their changes meanwhile; no batch when all are loaded."""
        units = self._next_units()
        if not units.size:
            return []
        if self._states.loaded[units].any():
            return [self._unload(units)]
        self._clear(units)
        cache = self._table.cache_of(int(units[0]))
        pages = self._pages(cache, units)
        self._client.check_same(cache)
        batch = self._lookup.settle_loaded(self._reader.read_after_barrier(units))
        changed: dict[int, set[bytes]] = defaultdict(set)
        for unit, key in batch.located_keys(np.flatnonzero(batch.classified.new)):
            changed[unit].add(key)
        batch.scanned = {
            unit: [without_keys(page, changed[unit], cache.name) if changed[unit] else page for page in pages[unit]]
            for unit in units[batch.sendable].tolist()
        }
        return [batch]

    def _unload(self, units: Int64Array) -> ChangeBatch:
        """Build a batch that only records units as not loaded: if this task dies, the next task loads them."""
        batch = self._reader.batch(units, self._reader.read(units, 1))
        batch.move_out(units)
        batch.unloaded = frozenset(units.tolist())
        self._report_marks(units)
        return batch

    def _report_marks(self, units: Int64Array) -> None:
        marks = {unit: self._states.marked[unit].bits for unit in units.tolist() if unit in self._states.marked}
        if marks:
            emit(
                UNITS_SENT_AGAIN,
                count=len(marks),
                cache=self._table.cache_of(min(marks)).name,
                partition=self._table.partition(min(marks)),
                reason=mark_reason(marks.values()),
            )

    def _clear(self, units: Int64Array) -> None:
        marked, numbers = self._states.unmark(units.tolist())
        if marked.size:
            self._client.clear(self._table.units[marked], numbers)

    def _next_units(self) -> Int64Array:
        """Choose the next units to load, all of one cache; units marked for another load come first."""
        waiting = self._states.to_load
        if not waiting.size:
            return waiting
        of_cache: Int64Array = waiting[self._table.cache[waiting] == self._table.cache[waiting[0]]]
        return of_cache[: self._size.partitions]

    def _pages(self, cache: CachePlan, units: Int64Array) -> dict[int, list[Page]]:
        """Scan the partitions of units, and return the pages by unit."""
        unit_of = {self._table.partition(unit): unit for unit in units.tolist()}
        pages: dict[int, list[Page]] = {unit: [] for unit in unit_of.values()}
        info = self._infos.of(cache)
        with closing(
            self._scan(self._client.cluster, info, list(unit_of), page_bytes=self._settings.page_bytes)
        ) as scan:
            for page in scan:
                pages[unit_of[page.partition]].append(page)
        every = [page for each in pages.values() for page in each]
        self._size.loaded(units.size, sum(len(page.data) for page in every), sum(page.rows for page in every))
        return pages
