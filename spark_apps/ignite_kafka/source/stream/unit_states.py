"""Progress of a task's cache partitions: loaded, to be loaded again, reconciled, or gone.

Also the content of the units' next offset records.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...common.arrays import Int64Array, Mask
from ...common.deadline import Clock
from ...plan.slots import UnitOffset
from ...plan.source_plan import TransferPlan
from .batch import MOST_OF_UNIT, ChangeBatch, ReconcilePosition, UnitProgress, UnitSignal
from .dedup import ChangeDeduplicator, change_hash, concat_settled, pack_settled, settled_rows
from .unit_table import UnitTable

BEGINNING: ReconcilePosition = (0, 0)

_MOST_STATES = MOST_OF_UNIT // 2  # looked-up states of a unit that its offset record has room for


@dataclass(frozen=True)
class UnitMark:
    """Mark on a unit: the reason why its entries must be loaded again.

    :param number: number of the mark that was read; clearing it leaves later marks.
    :param bits: marks of the backlog service and of the reader.
    """

    number: int
    bits: int


class UnitStates:
    """Progress of U cache partitions, by position in the task's unit table; not thread-safe.

    They are restored from offset records, and changed only by committed batches and by marks.

    :ivar deduplicator: the changes that were sent.
    :ivar loaded: U flags: all entries that the cache held of the unit are committed.
    :ivar gone: U flags: the unit is no longer captured.
    :ivar topology: U topology versions at which everything that the backlog held is sent; -1: unknown.
    :ivar marked: units that must be loaded again.
    :ivar pending_reconcile: unit to the progress of its reconciliation.
    :ivar signals: unit to its last ad-hoc snapshot.
    """

    def __init__(self, plan: TransferPlan, table: UnitTable, clock: Clock = time.monotonic) -> None:
        size = len(table)
        self.plan = plan
        self.table = table
        self.clock = clock
        self.deduplicator = ChangeDeduplicator(size, versioned=bool(plan.cluster_id))
        self.loaded = np.zeros(size, bool)
        self.gone = np.zeros(size, bool)
        self.topology = np.full(size, -1, np.int64)
        self.marked: dict[int, UnitMark] = {}
        self.pending_reconcile: dict[int, ReconcilePosition] = {}
        self.signals: dict[int, UnitSignal] = {}
        self._sent_before = np.zeros(size, bool)

    def restore(self, unit: int, offset: UnitOffset | None, sent_before: bool) -> None:
        """Restore a unit's progress from its offset record, at the start of a task.

        :param sent_before: whether the topic may hold keys of the unit that are older than this capture.
        """
        cache = self.table.cache_of(unit)
        self._sent_before[unit] = sent_before or offset is not None or not cache.load
        if offset is not None and (offset.incarnation, offset.snapshot_id) == (
            cache.incarnation,
            self.plan.snapshot_id,
        ):
            self.deduplicator.restore(unit, offset, self.clock())
            self.topology[unit] = offset.topology
            self.loaded[unit] = offset.done
            if offset.signal is not None:
                self.signals[unit] = offset.signal
            if offset.reconcile is not None and self.plan.settings.process_removals:
                self.pending_reconcile[unit] = offset.reconcile
        else:
            self.loaded[unit] = not cache.load

    @property
    def ready(self) -> Mask:
        """U flags: the unit is loaded and captured, so its changes are sent as they come."""
        ready = self.loaded & ~self.gone
        ready[list(self.marked)] = False
        return ready

    @property
    def to_load(self) -> Int64Array:
        """Units to load from the cache, ascending; while some units are marked, only these."""
        if self.marked:
            return np.array(sorted(self.marked), np.int64)
        return np.flatnonzero(~self.loaded & ~self.gone)

    @property
    def all_loaded(self) -> bool:
        """Whether all units are loaded and reconciled."""
        return not self.to_load.size and all(self.gone[unit] for unit in self.pending_reconcile)

    def mark(self, units: Int64Array, numbers: Int64Array, bits: Int64Array) -> None:
        """Mark units to be loaded from the cache again; each of the three arrays has a row for each unit."""
        for unit, number, bit in zip(units.tolist(), numbers.tolist(), bits.tolist(), strict=True):
            self.marked[unit] = UnitMark(number, bit)

    def unmark(self, units: Iterable[int]) -> tuple[Int64Array, Int64Array]:
        """Remove the marks of units that are loaded now, and return the marks' numbers.

        :returns: the marked units, and the numbers of their marks.
        """
        unmarked = [(unit, self.marked.pop(unit).number) for unit in units if unit in self.marked]
        return np.array([unit for unit, _ in unmarked], np.int64), np.array(
            [number for _, number in unmarked], np.int64
        )

    # offset records

    def progress(self, batch: ChangeBatch) -> dict[int, UnitProgress]:
        """Compute the offset records to commit with a batch, by unit."""
        states = batch.states_by_unit
        now = self.clock()
        progress = {}
        for unit in batch.active.tolist():
            rows = int(np.count_nonzero(batch.classified.new[batch.rows_of(unit, unit)])) + len(states.get(unit, ()))
            if rows or unit in batch.scanned or unit in batch.unloaded or unit in batch.reconciled:
                progress[unit] = self._progress(batch, unit, rows, states.get(unit, ()), now)
        return progress

    def _progress(
        self, batch: ChangeBatch, unit: int, rows: int, states: Sequence[tuple[bytes, bytes | None]], now_s: float
    ) -> UnitProgress:
        span = batch.rows_of(unit, unit)
        settled = np.flatnonzero(batch.settled[span] & (batch.changes.number[span] >= 0)) + span.start
        numbers = batch.changes.number[settled]
        scanned = unit in batch.scanned
        loading = scanned and not batch.signal
        entries = sum(page.rows for page in batch.scanned.get(unit, ()))
        before = self.deduplicator.recent(unit, now_s)
        if scanned:
            before = before.copy()
            before["sent"] = False  # any of its keys may be sent now as it was scanned
        changes = settled_rows(numbers, batch.changes.hash[settled], batch.classified.new[settled], now_s)
        # else a restart sends them again
        hashes = [] if len(states) > _MOST_STATES else [change_hash(key, value) for key, value in states]
        looked_up = settled_rows(
            np.full(len(hashes), -1), np.array(hashes, np.int64), np.ones(len(hashes), bool), now_s
        )
        return UnitProgress(
            rows + entries,
            loading or (bool(self.loaded[unit]) and unit not in batch.unloaded),
            max(self.deduplicator.high(unit), int(numbers.max(initial=-1))),
            pack_settled(concat_settled(before, changes, looked_up)),
            batch.reconciled[unit] if unit in batch.reconciled else self._reconcile_position(unit, loading),
            int(batch.topology[np.searchsorted(batch.units, unit)]),
            (batch.signal, entries) if scanned and batch.signal else self.signals.get(unit),
        )

    def _reconcile_position(self, unit: int, loading: bool) -> ReconcilePosition | None:
        """Return the topic position to store for a unit's reconciliation; None if no reconciliation is pending.

        :param loading: whether the batch loads the unit.
        """
        if loading:
            return BEGINNING if self.plan.settings.process_removals and self._sent_before[unit] else None
        return self.pending_reconcile.get(unit)

    # batches that are committed

    def remember(self, batch: ChangeBatch) -> None:
        """Update the progress of the units after a batch was committed."""
        now = self.clock()
        self.deduplicator.remember(batch.classified, batch.settled, batch.changes, now)
        self.topology[batch.units] = batch.topology
        for unit in batch.unloaded:
            self.loaded[unit] = False
        for unit in batch.scanned:
            self._remember_scanned(batch, unit)
            self.deduplicator.loaded(unit, now)
        for unit, position in batch.reconciled.items():
            self._set_reconcile(unit, position)
        for (unit, key), value in batch.states.items():
            self.deduplicator.remember_state(unit, key, value, now)

    def _remember_scanned(self, batch: ChangeBatch, unit: int) -> None:
        if batch.signal:
            progress = batch.progress[unit].signal
            assert progress is not None
            self.signals[unit] = progress[0], progress[1] - batch.left_out.get(unit, 0)
            return
        self._set_reconcile(unit, self._reconcile_position(unit, loading=True))
        self.loaded[unit] = self._sent_before[unit] = True

    def _set_reconcile(self, unit: int, position: ReconcilePosition | None) -> None:
        if position is None:
            self.pending_reconcile.pop(unit, None)
        else:
            self.pending_reconcile[unit] = position

    def forget(self) -> None:
        """Drop old changes from the deduplicator's memory."""
        self.deduplicator.forget(self.clock())
