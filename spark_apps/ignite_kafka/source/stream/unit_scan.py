"""Scans of cache partitions beside captured changes: entries whose key has an unsent change are left to the change.

Both the initial load and ad-hoc snapshots send what they scan in this way (docs/decisions/0054-signals.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing

import numpy as np

from ...common.arrays import Int64Array
from ...errors import CacheNotFound
from ...ignite.active_active import REMOVED_KEYS
from ...ignite.binary import raw_entries
from ...ignite.cluster import Cluster
from ...ignite.scan import scan_partitions
from ...ignite.types.model import CacheInfo, Page
from ...plan.source_plan import CachePlan
from .batch import ChangeBatch, without_keys
from .cache_infos import CacheInfos
from .load_size import LoadSize
from .unit_states import UnitStates

_FIRST_SCAN = 4  # units scanned at once before their size is known

Scan = Callable[..., Generator[Page, None, None]]


class UnitScanner:
    """Scanner of cache partitions, about ``batch_bytes`` at a time; not thread-safe.

    :param most_records: target records of one scan, which has at least one unit; None: no limit.
    :param scan: reads the entries of partitions.
    """

    def __init__(
        self,
        cluster: Cluster,
        infos: CacheInfos,
        states: UnitStates,
        most_records: int | None,
        scan: Scan = scan_partitions,
    ) -> None:
        self._cluster = cluster
        self._infos = infos
        self._table = states.table
        self._page_bytes = states.plan.settings.page_bytes
        self._scan = scan
        first = 1 if states.plan.cluster_id else _FIRST_SCAN  # removed keys may be many more than entries
        self._size = LoadSize(states.plan.settings.batch_bytes, most_records, first)

    def next_units(self, waiting: Int64Array) -> Int64Array:
        """Choose the next of some units to scan: as many of one cache as fit a batch.

        :param waiting: positions of units, ascending; at least one.
        """
        of_cache: Int64Array = waiting[self._table.cache[waiting] == self._table.cache[waiting[0]]]
        return of_cache[: self._size.partitions]

    def pages(self, cache: CachePlan, units: Int64Array) -> dict[int, list[Page]]:
        """Scan the partitions of units, all of one cache, and return the pages by unit."""
        return self._read(self._infos.of(cache), units)

    def note_size(self, pages: Mapping[int, Sequence[Page]]) -> None:
        """Note the size of all that was scanned of some units: the number of the next ones follows from it."""
        every = [page for each in pages.values() for page in each]
        self._size.loaded(len(pages), sum(len(page.data) for page in every), sum(page.rows for page in every))

    def removed(self, cache: CachePlan, units: Int64Array) -> dict[int, list[Page]]:
        """Scan the keys that were removed from the partitions of units, all of one active-active cache.

        A page has keys with bytes that are no values. Behind a barrier, no key that was removed before it is missing; a
        key may have been put again.
        """
        try:
            info = self._cluster.cache(REMOVED_KEYS + cache.name)
        except CacheNotFound:  # the nodes create it with the first removal
            return {}
        return self._read(info, units)

    def _read(self, info: CacheInfo, units: Int64Array) -> dict[int, list[Page]]:
        unit_of = {self._table.partition(unit): unit for unit in units.tolist()}
        pages: dict[int, list[Page]] = {unit: [] for unit in unit_of.values()}
        with closing(self._scan(self._cluster, info, list(unit_of), page_bytes=self._page_bytes)) as scan:
            for page in scan:
                pages[unit_of[page.partition]].append(page)
        return pages


def add_removed(pages: dict[int, list[Page]], removed: Mapping[int, Sequence[Page]], cache: str) -> None:
    """Add removed keys to scanned entries, except those put again.

    :param pages: scanned entries by unit. :param removed: pages of :meth:`UnitScanner.removed` by unit.
    """
    for unit, unit_pages in removed.items():
        if any(page.rows for page in unit_pages):
            present = {key for page in pages[unit] for key, _ in raw_entries(page, cache)}
            pages[unit] += [without_keys(page, present, cache) for page in unit_pages]


def add_unchanged(batch: ChangeBatch, pages: Mapping[int, Sequence[Page]], cache: str) -> None:
    """Add scanned entries to the batch of their units' changes; an entry whose key has a newer state is left out.

    Newer are an unsent change, and a looked-up state that the batch sends.

    The batch must hold every unsent change of its units that was made before or during the scan. The order of an entry
    and the changes of its key is unknown: the entry may have any of their states.

    :param batch: its changes were read behind a barrier that followed the scan.
    :param pages: scanned entries by unit.
    """
    changed: dict[int, set[bytes]] = defaultdict(set)
    for unit, key in batch.located_keys(np.flatnonzero(batch.classified.new)):
        changed[unit].add(key)
    for unit, key in batch.states:
        changed[unit].add(key)
    batch.scanned = {
        unit: [without_keys(page, changed[unit], cache) if changed[unit] else page for page in pages[unit]]
        for unit in batch.units[batch.sendable].tolist()
    }
