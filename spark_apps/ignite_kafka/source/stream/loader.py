"""Loading of cache partitions by scans; a key that changes meanwhile is sent as a change instead.

Of an active-active cache the keys that were removed are sent, too: another cluster may have older values of them.

Before a loaded unit is loaded again, its offset record is written as not loaded. Its mark and its backlog are cleared
next, and a task that died before the commit would else forget that the unit must be loaded.
"""

from __future__ import annotations

from ...common.arrays import Int64Array
from ...events import UNITS_SENT_AGAIN, emit
from .backlog_client import BacklogClient
from .batch import ChangeBatch
from .state_lookup import StateLookup
from .unit_marks import mark_reason
from .unit_reader import UnitReader
from .unit_scan import UnitScanner, add_removed, add_unchanged
from .unit_states import UnitStates


class Loader:
    """Reads cache partitions for the initial load, about ``batch_bytes`` at a time; not thread-safe."""

    def __init__(
        self,
        client: BacklogClient,
        scanner: UnitScanner,
        states: UnitStates,
        reader: UnitReader,
        lookup: StateLookup,
    ) -> None:
        self._table = states.table
        self._client = client
        self._scanner = scanner
        self._states = states
        self._reader = reader
        self._lookup = lookup

    def load(self) -> list[ChangeBatch]:
        """Scan the next cache partitions and read their changes meanwhile; no batch when all are loaded."""
        waiting = self._states.to_load
        if not waiting.size:
            return []
        units = self._scanner.next_units(waiting)
        if self._states.loaded[units].any():
            return [self._unload(units)]
        self._clear(units)
        cache = self._table.cache_of(int(units[0]))
        pages = self._scanner.pages(cache, units)
        self._client.check_same(cache)
        batch = self._lookup.settle_loaded(self._reader.read_after_barrier(units))
        if self._states.plan.cluster_id:
            add_removed(pages, self._scanner.removed(cache, units), cache.name)
        self._scanner.note_size(pages)
        add_unchanged(batch, pages, cache.name)
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
