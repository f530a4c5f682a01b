"""Reader of a signal's ad-hoc snapshot: entries of units that are streamed, in order with the changes of their keys.

One batch has about ``batch_bytes`` of entries. It scans units, passes a barrier, reads everything that the backlog has
of them, and leaves out the entries whose key has a change there (:func:`.unit_scan.add_unchanged`): the change follows
in the same batch. A unit's offset record names the signal, in the transaction of its entries, so that each unit is sent
once however often tasks or drivers die.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...common.arrays import Int64Array
from ...convert.filter import entry_filter_of
from ...convert.filter.entries import EntryFilter
from ...convert.filter.failed_rows import ROW_ERRORS
from ...errors import ConditionFailed, IgniteKafkaError, SettingsError
from ...ignite.binary import JoinedPages, kept_rows
from ...ignite.types.model import Page
from ...plan.source_plan import CachePlan
from ...state.signal_records import CacheSelection, Signal, SignalCount, SignalReport
from .backlog_client import BacklogClient
from .batch import MOST_OF_UNIT, ChangeBatch, page_of_states
from .cache_infos import CacheInfos
from .reconcile import Reconciler
from .state_lookup import StateLookup
from .unit_reader import WHOLE_BACKLOG, UnitReader
from .unit_scan import UnitScanner, add_unchanged
from .unit_states import UnitStates

_SIGNAL_ERRORS = (*ROW_ERRORS, ConditionFailed, SettingsError)
"""Errors that a signal may cause by its condition or its keys."""


class SignalReader:
    """Reads the entries that a signal selects from a task's units; not thread-safe.

    :param signal: the signal; None: there is none.
    :param reconciler: converts record keys back to Ignite keys.
    """

    def __init__(
        self,
        signal: Signal | None,
        client: BacklogClient,
        infos: CacheInfos,
        states: UnitStates,
        reader: UnitReader,
        lookup: StateLookup,
        scanner: UnitScanner,
        reconciler: Reconciler,
    ) -> None:
        self._signal = signal
        self._client = client
        self._infos = infos
        self._states = states
        self._table = states.table
        self._reader = reader
        self._lookup = lookup
        self._scanner = scanner
        self._reconciler = reconciler
        self._error: IgniteKafkaError | None = None
        self._selections: Mapping[str, CacheSelection] = {
            selection.cache: selection for selection in (signal.caches if signal else ())
        }
        self._filters: dict[str, EntryFilter | None] = {}
        self._keys: dict[str, dict[int, list[bytes]]] = {}  # of caches with keys: unit to its keys
        self._postponed: set[int] = set()  # units whose backlog was too large to be read at once
        self._units: Int64Array | None = None  # that the signal selects
        self._left: Int64Array | None = None  # of these, the units that are not sent

    @property
    def pending(self) -> Int64Array:
        """Units that the signal still has to send, ascending; empty after a failure.

        Units that are gone are not among them. Their snapshot is not complete, and the driver, which sees that their
        cache was destroyed, decides.
        """
        unsent = self._unsent
        return unsent[~self._states.gone[unsent]] if self._error is None else unsent[:0]

    @property
    def _unsent(self) -> Int64Array:
        if self._left is None:
            self._left = np.array([unit for unit in self._selected.tolist() if not self._is_sent(unit)], np.int64)
        return self._left

    @property
    def more(self) -> bool:
        """Whether another batch can be read at once."""
        pending = self.pending
        return bool((self._states.ready[pending] & ~np.isin(pending, list(self._postponed))).any())

    def report(self) -> SignalReport | None:
        """Return the progress of this task's units; None without a signal."""
        if self._signal is None:
            return None
        counts = {name: SignalCount() for name in self._selections}
        left = set(self._unsent.tolist())
        for unit in self._selected.tolist():
            count = counts[self._table.cache_of(unit).name]
            count.units += 1
            count.units_done += unit not in left
            id, records = self._states.signals.get(unit, ("", 0))
            count.records += records if id == self._signal.identity else 0
        return SignalReport(self._signal.id, counts, "" if self._error is None else str(self._error))

    def read(self) -> list[ChangeBatch]:
        """Read the next units that the signal selects, with their changes; no batch if none can be read now.

        An error that the signal causes, such as a condition that an entry does not suit, ends the signal and not the
        stream: :meth:`report` has it.

        :raises CacheDestroyed: the cache is no longer the captured one.
        """
        try:
            return self._read()
        except _SIGNAL_ERRORS as error:
            self._fail(error)
            return []

    def _read(self) -> list[ChangeBatch]:
        pending = self.pending
        waiting = pending[self._states.ready[pending]]
        fresh = waiting[~np.isin(waiting, list(self._postponed))]
        self._postponed.clear()
        if not waiting.size or self._signal is None:
            return []
        units = self._scanner.next_units(fresh if fresh.size else waiting)
        cache = self._table.cache_of(int(units[0]))
        pages = self._select(cache, self._pages(cache, units))
        self._client.check_same(cache)
        self._client.barrier()
        batch = self._reader.batch(units, self._reader.read(units, WHOLE_BACKLOG))
        unread = batch.changes.more | (batch.changes.count > MOST_OF_UNIT)
        if unread.any():  # an entry may be newer than a change that was not read
            self._postponed.update(units[unread].tolist())
            return []
        batch = self._lookup.settle_loaded(batch)
        add_unchanged(batch, pages, cache.name)
        batch.signal = self._signal.identity
        return [batch]

    def remember(self, batch: ChangeBatch) -> None:
        """Note a committed batch, whose scanned units are sent."""
        if batch.signal and self._left is not None:
            self._left = self._left[~np.isin(self._left, list(batch.scanned))]

    @property
    def _selected(self) -> Int64Array:
        """The task's units that the signal selects, ascending."""
        if self._units is None:
            self._units = self._select_units()
        return self._units

    def _select_units(self) -> Int64Array:
        units: list[int] = []
        for at, cache in enumerate(self._table.caches):
            selection = self._selections.get(cache.name)
            if selection is None:
                continue
            of_cache = np.flatnonzero(self._table.cache == at)
            if selection.partitions:
                of_cache = of_cache[np.isin(self._table.units["partition"][of_cache], selection.partitions)]
            if selection.keys:
                of_cache = of_cache[np.isin(of_cache, list(self._keys_of(cache, selection)))]
            units += of_cache.tolist()
        return np.array(sorted(units), np.int64)

    def _is_sent(self, unit: int) -> bool:
        return self._signal is not None and self._states.signals.get(unit, ("", 0))[0] == self._signal.identity

    def _fail(self, error: IgniteKafkaError) -> None:
        self._error = error

    def _keys_of(self, cache: CachePlan, selection: CacheSelection) -> dict[int, list[bytes]]:
        """Convert the selected keys to Ignite's form, and return those of the task's units, by unit.

        A key that cannot be converted is an error of the signal.
        """
        if cache.name not in self._keys:
            self._keys[cache.name] = {}
            try:
                self._keys[cache.name] = self._locate(cache, selection.keys)
            except _SIGNAL_ERRORS as error:
                self._fail(error)
        return self._keys[cache.name]

    def _locate(self, cache: CachePlan, texts: Sequence[str]) -> dict[int, list[bytes]]:
        topic_keys = self._reconciler.keys_of(cache)
        keys = topic_keys.read_back([text.encode() for text in texts])
        unread = [text for text, key in zip(texts, keys, strict=True) if key is None]
        if unread:
            raise SettingsError(
                f"{len(unread)} of {len(texts)} keys cannot be converted to keys of the cache",
                "Give keys as the topic's records have them; caches whose keys cannot be converted back take a "
                "condition instead (docs/signals.md).",
                cache=cache.name,
            )
        located = [key for key in dict.fromkeys(keys) if key is not None]
        unit_of = {
            self._table.partition(unit): unit
            for unit in np.flatnonzero(self._table.cache == self._table.caches.index(cache)).tolist()
        }
        by_unit: dict[int, list[bytes]] = {}
        for key, partition in zip(located, topic_keys.located(located)[0].tolist(), strict=True):
            if partition in unit_of:
                by_unit.setdefault(unit_of[partition], []).append(key)
        return by_unit

    def _pages(self, cache: CachePlan, units: Int64Array) -> Mapping[int, Sequence[Page]]:
        """Read the entries of units: those of the selected keys, or all."""
        if not self._selections[cache.name].keys:
            pages = self._scanner.pages(cache, units)
            self._scanner.note_size(pages)
            return pages
        keys = self._keys[cache.name]
        states = self._lookup.look_up([(unit, key) for unit in units.tolist() for key in keys[unit]])
        entries: dict[int, list[tuple[bytes, bytes | None]]] = {unit: [] for unit in units.tolist()}
        for (unit, key), value in states.items():
            if value is not None:
                entries[unit].append((key, value))
        return {unit: [page_of_states(present)] if present else [] for unit, present in entries.items()}

    def _select(self, cache: CachePlan, pages: Mapping[int, Sequence[Page]]) -> Mapping[int, Sequence[Page]]:
        """Keep the entries that meet the signal's condition.

        :raises UnsupportedType, ConditionFailed: the condition fails for an entry.
        """
        entry_filter = self._filter_of(cache)
        every = [page for unit_pages in pages.values() for page in unit_pages if page.rows]
        if entry_filter is None or not every:
            return pages
        info = self._infos.of(cache)
        joined = JoinedPages(every, info, self._client.cluster)
        kept, errors = entry_filter.of_pages(joined, info, self._client.cluster)
        if errors:
            raise errors[min(errors)]
        left = iter(kept_rows(joined, kept, info, self._client.cluster))
        return {unit: [next(left) for page in unit_pages if page.rows] for unit, unit_pages in pages.items()}

    def _filter_of(self, cache: CachePlan) -> EntryFilter | None:
        if cache.name not in self._filters:
            zone = self._states.plan.settings.of(cache.name).date_time_zone
            self._filters[cache.name] = entry_filter_of(self._selections[cache.name].where, zone=zone)
        return self._filters[cache.name]
