"""The sender of a stream: batches → records → one transaction a slot, with the offsets of their units."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...common.arrays import Int64Array, Mask
from ...convert.to_kafka.key_types import remembered
from ...ignite.backlog_service import REMOVED
from ...ignite.cluster import Cluster
from ...ignite.types.model import Page
from ...kafka.clients import KafkaClients
from ...kafka.topics import Topics
from ...plan.slots import Owner, UnitOffset
from ...plan.source_plan import CachePlan, TransferPlan
from ...runtime.clients import producer_settings, transaction_limits
from ...runtime.counts import CacheCount
from ...state.sent_topics import check_units
from ...state.slot_writer import SlotClaim, SlotWriter
from ..entry_sender import EntrySender
from .backlog_reader import BacklogReader
from .batch import MOST_OF_UNIT, ChangeBatch, page_of_rows, page_of_states
from .dedup import change_hash, concat_settled, pack_settled, settled_rows
from .unit_table import UnitTable

_THREADS = 8
Counts = Mapping[int, Mapping[str, CacheCount]]


class SlotsSender:
    """The open slots of one task; after any error it is closed and never used again.

    :param counts: slot and cache to what was sent, added to as batches are committed.
    """

    def __init__(self, plan: TransferPlan, clients: KafkaClients, table: UnitTable, owner: Owner, cluster: Cluster, counts: Counts) -> None:
        self._plan, self._settings, self._table, self._counts = plan, plan.settings, table, counts
        self._entries = EntrySender(plan, cluster)
        self._batch: dict[int, dict[str, CacheCount]] = defaultdict(lambda: defaultdict(CacheCount))  # what is not committed yet
        self._records = np.zeros(len(table), np.int64)
        self._writers: dict[int, SlotWriter] = {}
        self._pool = ThreadPoolExecutor(_THREADS, "slot")
        try:
            self._open(clients, owner, counts)
        except BaseException:
            self.close()
            raise

    def _open(self, clients: KafkaClients, owner: Owner, slots: Iterable[int]) -> None:
        limits, topics = transaction_limits(self._settings), Topics(clients)

        def open_slot(slot: int) -> None:
            claim = SlotClaim.of(self._plan.connector, slot, owner, self._settings.internal_topic_prefix)
            self._writers[slot] = SlotWriter(clients, claim, limits, self._plan.max_batch_bytes, topics, producer_settings(self._plan))

        list(self._pool.map(open_slot, slots))

    def restore(self, reader: BacklogReader) -> None:
        """Tell the reader what the slots' offsets say.

        :raises TopicError: they count what is in another topic than the plan's.
        """
        for units in self._table.by_slot_and_cache(np.arange(len(self._table))):
            cache = self._table.cache_of(int(units[0]))
            offsets = self._writers[int(self._table.slot[units[0]])].state.by_cache.get(cache.name, {})
            # of a cache that was made again with more partitions, any unit may hold keys that were another's
            check_units(self._plan, cache, offsets)
            now = cache.incarnation, self._plan.snapshot_id
            sent_before = any((offset.incarnation, offset.snapshot_id) != now for offset in offsets.values())
            for unit in units.tolist():
                offset = offsets.get(self._table.partition(unit))
                reader.restore(unit, offset, sent_before)
                if offset is not None and offset.snapshot_id == self._plan.snapshot_id:
                    self._records[unit] = offset.records

    @property
    def in_doubt(self) -> bool:
        """Whether a commit was asked for and not answered."""
        return any(writer.commit_asked for writer in self._writers.values())

    def commit(self, batches: Sequence[ChangeBatch], reader: BacklogReader) -> None:
        """Send batches, commit them, and acknowledge what of them stands in the backlog."""
        for batch in batches:
            states: dict[int, list[tuple[bytes, bytes | None]]] = defaultdict(list)
            for (unit, key), value in batch.states.items():
                states[unit].append((key, value))
            for units in self._table.by_slot_and_cache(batch.active):
                self._send(batch, units, states, reader)
        list(self._pool.map(self._commit_slot, self._writers))
        now = time.monotonic()
        for batch in batches:
            reader.memory.remember(batch.classified, batch.done, batch.changes, now)
            reader.committed(batch)
            for (unit, key), value in batch.states.items():
                reader.memory.remember_state(unit, key, value, now)
            sent = batch.changes.acknowledgement(self._table.units[batch.units], batch.done, batch.stamps)
            if sent:
                reader.acknowledge(sent)

    def _commit_slot(self, slot: int) -> None:
        self._writers[slot].commit()
        for name, count in self._batch.pop(slot, {}).items():
            self._counts[slot][name].add(count)

    def _send(
        self, batch: ChangeBatch, units: Int64Array, states: Mapping[int, Sequence[tuple[bytes, bytes | None]]], reader: BacklogReader
    ) -> None:
        """Queue what a batch has of some units of one slot and one cache: entries, changes, looked-up states, offsets."""
        slot, cache = int(self._table.slot[units[0]]), self._table.cache_of(int(units[0]))
        writer, count = self._writers[slot], self._batch[slot][cache.name]
        scanned = [page for unit in units.tolist() for page in batch.scanned.get(unit, ()) if page.rows]
        span = batch.rows_of(int(units[0]), int(units[-1]))
        rows = np.flatnonzero(batch.classified.new[span]) + span.start
        kept = rows if self._settings.process_removals else rows[batch.changes.kind[rows] != REMOVED]
        looked_up = [
            (unit, state)
            for unit in units.tolist()
            for state in states.get(unit, ())
            if state[1] is not None or self._settings.process_removals
        ]
        if scanned:
            of_entries = np.repeat(units, [sum(page.rows for page in batch.scanned.get(unit, ())) for unit in units.tolist()])
            self._convert(cache, of_entries, scanned, None, reader)
            count.entries += sum(page.rows for page in scanned)
        count.units += sum(unit in batch.scanned for unit in units.tolist())
        if kept.size:
            gone = batch.changes.kind[kept] == REMOVED
            self._convert(cache, batch.classified.unit[kept], [page_of_rows(batch.changes, kept)], gone, reader)
        if looked_up:
            gone = np.array([value is None for _, (_, value) in looked_up])
            of_states = np.array([unit for unit, _ in looked_up])
            self._convert(cache, of_states, [page_of_states([state for _, state in looked_up])], gone, reader)
        for unit in units.tolist():
            self._offset(batch, unit, states.get(unit, ()), cache, writer, reader)

    def _convert(self, cache: CachePlan, units: Int64Array, pages: Sequence[Page], removed: Mask | None, reader: BacklogReader) -> None:
        """:param units: of each entry of the pages, all of one slot.
        :param removed: which entries are tombstones; None: none, and their order does not count.
        """
        slot = int(self._table.slot[units[0]])
        count, partitions = self._batch[slot][cache.name], self._table.units["partition"][units]
        self._entries.meet(cache.name, remembered(reader.key_kinds[cache.name]))
        records, bad = self._entries.send(self._writers[slot], slot, cache, reader.info(cache), pages, partitions, removed)
        reader.key_kinds[cache.name] |= records.key_kinds
        np.subtract.at(self._records, units[bad], 1)  # :meth:`_offset` adds all
        count.bad += bad.size
        count.records += len(records)
        count.bytes += records.nbytes
        count.started = count.started or time.time()
        count.ended = time.time()

    def _offset(
        self,
        batch: ChangeBatch,
        unit: int,
        states: Sequence[tuple[bytes, bytes | None]],
        cache: CachePlan,
        writer: SlotWriter,
        reader: BacklogReader,
    ) -> None:
        """Queue a unit's offsets, if there is news of it: numbers up to the highest, and what was settled in the last seconds."""
        span = batch.rows_of(unit, unit)
        sent = int(np.count_nonzero(batch.classified.new[span])) + len(states)
        if not sent and unit not in batch.scanned and unit not in batch.unloaded and unit not in batch.swept:
            return
        now = time.monotonic()
        rows = np.flatnonzero(batch.done[span] & (batch.changes.number[span] >= 0)) + span.start
        numbers = batch.changes.number[rows]
        before = reader.memory.recent(unit, now)
        if unit in batch.scanned:
            before = before.copy()
            before["sent"] = False  # any of its keys may be sent now as it was scanned
        looked_up = np.array([change_hash(key, value) for key, value in states], np.int64)
        changes = settled_rows(numbers, batch.changes.hash[rows], batch.classified.new[rows], now)
        if len(states) > MOST_OF_UNIT // 2:
            looked_up = looked_up[:0]  # no room for them: after a restart they may be sent again
        states_of = settled_rows(np.full(looked_up.size, -1), looked_up, np.ones(looked_up.size, bool), now)
        high = max(reader.memory.high(unit), int(numbers.max(initial=-1)))
        self._records[unit] += sent + sum(page.rows for page in batch.scanned.get(unit, ()))
        offset = UnitOffset(
            self._plan.generation,
            cache.incarnation,
            self._plan.snapshot_id,
            unit in batch.scanned or (reader.is_loaded(unit) and unit not in batch.unloaded),
            int(self._records[unit]),
            ((0, high),) if high >= 0 else (),
            pack_settled(concat_settled(before, changes, states_of)),
            batch.swept[unit] if unit in batch.swept else reader.owed(unit, unit in batch.scanned),
            tuple(sorted(reader.key_kinds[cache.name])),
            int(batch.topology[np.searchsorted(batch.units, unit)]),
            topic_id=cache.topic_id,
        )
        writer.unit_offset(cache.name, self._table.partition(unit), offset)

    def close(self) -> None:
        """Close every slot; what is open is aborted."""
        self._pool.shutdown()
        for writer in self._writers.values():
            writer.close()
