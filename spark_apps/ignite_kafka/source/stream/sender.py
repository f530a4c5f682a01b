"""Sender of a stream: sends the records of batches and the units' offset records in one transaction per slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ...common.arrays import Int64Array, Mask
from ...ignite.backlog_changes import EXPIRED, REMOVED
from ...ignite.binary import raw_entries
from ...ignite.cluster import Cluster
from ...ignite.entry_versions import EntryVersions
from ...ignite.types.model import Page
from ...plan.slots import UnitOffset, kinds_of_keys
from ...plan.source_plan import CachePlan, TransferPlan
from ...settings.converters import IGNITE_BINARY
from ...state.sent_topics import check_units
from ...state.slot_writer import SlotWriter
from ..counted_slots import CountedSlots, Counts
from ..entry_sender import EntryBatch
from ..expiring_entries import note_expired_entry
from .backlog_client import BacklogClient
from .batch import ChangeBatch, page_of_rows, page_of_states
from .cache_infos import CacheInfos
from .unit_table import UnitTable
from .versioned_entries import VersionedEntries

State = tuple[bytes, bytes | None]


class SlotsSender(CountedSlots):
    """Queues batches of changes and loaded entries in the open slots of one task.

    :param infos: descriptions of the caches.
    """

    def __init__(
        self,
        plan: TransferPlan,
        table: UnitTable,
        cluster: Cluster,
        infos: CacheInfos,
        counts: Counts,
        open_slot: Callable[[int], SlotWriter],
    ) -> None:
        super().__init__(plan, cluster, counts, open_slot, counts)
        self._settings = plan.settings
        self._table = table
        self._infos = infos
        self._versioned: VersionedEntries | None = None
        if plan.cluster_id:
            client = BacklogClient(cluster, plan.connector)
            foreign = plan.settings.forward_foreign_changes
            self._versioned = VersionedEntries(client, plan.cluster_id, foreign=foreign)
        self._records = np.zeros(len(table), np.int64)

    def offsets(self) -> Iterator[tuple[int, UnitOffset | None, bool]]:
        """Yield the stored offset record of each unit of the slots, to restore progress before anything is sent.

        :returns: unit, its record, and whether the topic may hold keys of the unit that are older than this capture.
        :raises TopicError: the offset records belong to another topic than the plan's.
        """
        for units in self._table.by_slot_and_cache(np.arange(len(self._table))):
            cache = self._table.cache_of(int(units[0]))
            offsets = self._writers[int(self._table.slot[units[0]])].state.by_cache.get(cache.name, {})
            # after a cache was created again with more partitions, any unit may hold keys that were in another unit
            check_units(self._plan, cache, offsets)
            now = cache.incarnation, self._plan.snapshot_id
            sent_before = any((offset.incarnation, offset.snapshot_id) != now for offset in offsets.values())
            has_kinds = self._settings.of(cache.name).key_converter != IGNITE_BINARY
            for unit in units.tolist():
                offset = offsets.get(self._table.partition(unit))
                if offset is not None and has_kinds:
                    self._key_kinds[cache.name] |= kinds_of_keys([offset])
                if offset is not None and offset.snapshot_id == self._plan.snapshot_id:
                    self._records[unit] = offset.records
                yield unit, offset, sent_before

    def send(self, batches: Iterable[ChangeBatch]) -> None:
        """Convert and queue batches, each with the offset records of its units."""
        for batch in batches:
            states = batch.states_by_unit
            for units in self._table.by_slot_and_cache(batch.active):
                self._send(batch, units, states)

    def _send(self, batch: ChangeBatch, units: Int64Array, states: Mapping[int, Sequence[State]]) -> None:
        """Queue what a batch has for one cache and slot: entries, changes, looked-up values and offset records."""
        cache = self._table.cache_of(int(units[0]))
        self._send_entries(batch, units, cache)
        self._send_changes(batch, units, cache)
        self._send_states(units, states, cache)
        for unit in units.tolist():
            if unit in batch.progress:
                self._send_offset(batch, unit, cache)

    def _send_entries(self, batch: ChangeBatch, units: Int64Array, cache: CachePlan) -> None:
        count = self._batch[int(self._table.slot[units[0]])][cache.name]
        pages = {unit: [page for page in batch.scanned.get(unit, ()) if page.rows] for unit in units.tolist()}
        rows = [sum(page.rows for page in unit_pages) for unit_pages in pages.values()]
        if any(rows):
            scanned = [page for unit_pages in pages.values() for page in unit_pages]
            before = self._records[units]
            unit_of = np.repeat(units, rows)
            if self._versioned is not None:
                keys = [key for page in scanned for key, _ in raw_entries(page, cache.name)]
                filtered = self._send_present(self._versioned, cache, unit_of, keys)
            else:
                filtered = self._convert(cache, unit_of, scanned)
            count.entries -= filtered
            batch.left_out.update(zip(units.tolist(), (before - self._records[units]).tolist(), strict=True))
        count.entries += sum(rows)
        if not batch.signal:
            count.units += sum(unit in batch.scanned for unit in units.tolist())

    def _send_changes(self, batch: ChangeBatch, units: Int64Array, cache: CachePlan) -> None:
        span = batch.rows_of(int(units[0]), int(units[-1]))
        if (batch.changes.kind[span] == EXPIRED).any():
            note_expired_entry(self._settings, cache.name)
        rows = np.flatnonzero(batch.classified.new[span]) + span.start
        kept = rows if self._settings.process_removals else rows[batch.changes.kind[rows] != REMOVED]
        versions = None
        if self._versioned is not None:
            sent, versions = self._versioned.choose(batch.changes.versions[kept], batch.changes.kind[kept] == REMOVED)
            left_out = batch.classified.unit[np.delete(kept, sent)]
            np.subtract.at(self._records, left_out, 1)  # :meth:`_send_offset` adds all
            kept = kept[sent]
        if kept.size:
            removed = batch.changes.kind[kept] == REMOVED
            origin = batch.changes.number[kept], batch.changes.time_ms[kept]
            units = batch.classified.unit[kept]
            self._convert(cache, units, [page_of_rows(batch.changes, kept)], removed, origin, versions)

    def _send_states(self, units: Int64Array, states: Mapping[int, Sequence[State]], cache: CachePlan) -> None:
        if self._versioned is not None:
            unit_keys = [(unit, key) for unit in units.tolist() for key, _ in states.get(unit, ())]
            if unit_keys:
                unit_of = np.array([unit for unit, _ in unit_keys])
                self._send_present(self._versioned, cache, unit_of, [key for _, key in unit_keys])
            return
        tombstones = self._settings.process_removals
        kept = [
            (unit, state)
            for unit in units.tolist()
            for state in states.get(unit, ())
            if state[1] is not None or tombstones
        ]
        if kept:
            removed = np.array([value is None for _, (_, value) in kept])
            self._convert(
                cache, np.array([unit for unit, _ in kept]), [page_of_states([state for _, state in kept])], removed
            )

    def _send_present(
        self, versioned: VersionedEntries, cache: CachePlan, units: Int64Array, keys: Sequence[bytes]
    ) -> int:
        """Queue what the cache has of N keys now, removals included, with versions; return how many are left out.

        :param units: N units, all of one slot.
        """
        present = versioned.read(cache, keys)
        np.subtract.at(self._records, np.delete(units, present.rows), 1)  # :meth:`_send_offset` adds all
        if present.rows.size:
            of_rows = units[present.rows]
            self._convert(cache, of_rows, [present.page], present.removed, versions=present.versions)
        return len(keys) - present.rows.size

    def _convert(
        self,
        cache: CachePlan,
        units: Int64Array,
        pages: Sequence[Page],
        removed: Mask | None = None,
        changes: tuple[Int64Array, Int64Array] | None = None,
        versions: EntryVersions | None = None,
    ) -> int:
        """Convert and queue the N entries of pages; return how many the filter left out.

        :param units: N units, all of one slot.
        :param pages, removed, changes, versions: as in :class:`.entry_sender.EntryBatch`.
        """
        slot = int(self._table.slot[units[0]])
        partitions = self._table.units["partition"][units]
        sent = self._queue(
            slot, cache, self._infos.of(cache), EntryBatch(pages, partitions, removed, changes, versions)
        )
        for rows in (sent.bad, sent.filtered, sent.dropped):
            np.subtract.at(self._records, units[rows], 1)  # :meth:`_send_offset` adds all
        return int(sent.filtered.size)

    def _send_offset(self, batch: ChangeBatch, unit: int, cache: CachePlan) -> None:
        progress = batch.progress[unit]
        self._records[unit] += progress.rows
        signal = progress.signal
        if signal is not None and batch.signal and unit in batch.scanned:
            signal = signal[0], signal[1] - batch.left_out.get(unit, 0)
        offset = UnitOffset(
            self._plan.generation,
            cache.incarnation,
            self._plan.snapshot_id,
            progress.loaded,
            int(self._records[unit]),
            progress.high,
            progress.recent,
            progress.reconcile,
            tuple(sorted(self._key_kinds[cache.name])),
            progress.topology,
            topic_id=cache.topic_id,
            signal=signal,
        )
        self._writers[int(self._table.slot[unit])].unit_offset(cache.name, self._table.partition(unit), offset)
