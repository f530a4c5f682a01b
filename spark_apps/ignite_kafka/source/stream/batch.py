"""Batch of a stream: changes, looked-up values, loaded cache partitions, and the content of their offset records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from ...common.arrays import Int64Array, Mask, RowIndex
from ...ignite.backlog_changes import EXPIRED, Changes
from ...ignite.binary import raw_entries
from ...ignite.types import type_codes as codes
from ...ignite.types.model import Page
from .dedup import Classification

MOST_OF_UNIT = 50_000
"""Maximum changes of a unit in one batch.

The unit's offset record has some 11 bytes for each change, and brokers accept a megabyte.
"""

CHANGE_COLUMNS = ("number", "time_ms", "hash", "kind", "versions", "key_length", "value_length")
"""Columns of :class:`~ignite_kafka.ignite.backlog_changes.Changes` with an item for each change."""

LocatedKey = tuple[int, bytes]
"""A unit's position in the unit table, and a key in Ignite's binary form, not wrapped."""

ReconcilePosition = tuple[int, int]
"""Progress of reconciliation in a topic: a partition, and an offset in this partition; everything before is done."""

UnitSignal = tuple[str, int]
"""Last ad-hoc snapshot that has sent a unit: the signal's identity, and the number of its records of the unit."""


@dataclass(frozen=True)
class UnitProgress:
    """Content of a cache partition's offset record, written in the transaction of a batch.

    :param rows: entries, changes and looked-up states of the unit in the batch.
    :param loaded: whether all entries that the cache held of the unit are sent.
    :param high: the highest update number sent; -1: none.
    :param recent: numbers and hashes of the changes that were settled in the last seconds, as
        :func:`.dedup.pack_settled` gives them.
    :param reconcile: progress of reconciliation for the unit; None: no reconciliation is pending.
    :param topology: topology version at which everything that the backlog held of the unit is sent; -1: unknown.
    :param signal: last ad-hoc snapshot of the unit, this batch's included, with its entries; None: there was none.
    """

    rows: int
    loaded: bool
    high: int
    recent: str
    reconcile: ReconcilePosition | None
    topology: int
    signal: UnitSignal | None = None


@dataclass
class ChangeBatch:
    """N changes of U cache partitions, sent, committed and acknowledged together.

    :param units: U positions of the units that were read, ascending.
    :param classified: the classes of the changes.
    :param settled: N flags: the change is settled with this batch, whether it is sent or not.
    :param expired_settled: U flags: all expired keys of the unit are settled.
    :param sendable: U flags: changes of the unit may be sent; not those of units that are marked, gone, or sent again
        from the cache.
    :param topology: U topology versions at which everything the backlog held for the unit is sent once this batch
        commits; -1 if unknown.
    :param states: looked-up values, sent after the changes; None: the cache does not have the key.
    :param scanned: unit to its entries, sent before its changes.
    :param signal: identity of the signal whose ad-hoc snapshot has scanned the entries; empty: their units are loaded.
    :param left_out: unit to the number of its scanned entries without a record, as the sender found.
    :param moved: units left to another batch.
    :param unloaded: units that must be loaded again after this batch.
    :param reconciled: unit to the progress of its reconciliation with this batch; None: complete.
    :param progress: unit to the content of its offset record, for the units that have one in this batch.
    """

    changes: Changes
    units: Int64Array
    classified: Classification
    settled: Mask
    expired_settled: Mask
    sendable: Mask
    topology: Int64Array
    states: dict[LocatedKey, bytes | None] = field(default_factory=dict)
    scanned: Mapping[int, Sequence[Page]] = field(default_factory=dict)
    signal: str = ""
    left_out: dict[int, int] = field(default_factory=dict)
    moved: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    unloaded: frozenset[int] = frozenset()
    reconciled: Mapping[int, ReconcilePosition | None] = field(default_factory=dict)
    progress: Mapping[int, UnitProgress] = field(default_factory=dict)

    @cached_property
    def keys(self) -> pa.BinaryArray:
        """Keys of the N changes in Ignite's binary form, not wrapped."""
        return self.changes.keys()

    @property
    def active(self) -> Int64Array:
        """Positions of the units with something to send or record in the batch, ascending.

        Most units have no change in a poll.
        """
        is_active = self.changes.count > 0
        others = [*self.scanned, *self.unloaded, *self.reconciled, *(unit for unit, _ in self.states)]
        if others:
            is_active |= np.isin(self.units, others)
        return self.units[is_active]

    @property
    def states_by_unit(self) -> dict[int, list[tuple[bytes, bytes | None]]]:
        """Looked-up values by unit, as pairs of key and value."""
        states: dict[int, list[tuple[bytes, bytes | None]]] = {}
        for (unit, key), value in self.states.items():
            states.setdefault(unit, []).append((key, value))
        return states

    @property
    def units_settled(self) -> Mask:
        """U flags: this batch settles all that the backlog had of the unit."""
        unit_of = np.repeat(np.arange(self.units.size), self.changes.count)
        units_settled: Mask = ~self.changes.more & (np.bincount(unit_of[~self.settled], minlength=self.units.size) == 0)
        return units_settled

    def located_keys(self, rows: RowIndex) -> list[LocatedKey]:
        """Return the unit and key of each change at the given positions.

        :param rows: positions of changes.
        """
        return list(zip(self.classified.unit[rows].tolist(), self.keys.take(pa.array(rows)).to_pylist(), strict=True))

    def rows_of(self, first: int, last: int) -> slice:
        """Return the slice of the changes that belong to the units `first` to `last`."""
        start, end = np.searchsorted(self.classified.unit, [first, last + 1]).tolist()
        return slice(start, end)

    def move_out(self, units: Int64Array) -> None:
        """Leave units to a later batch: their changes are not sent with this one, and stay in the backlog."""
        self.moved = units
        self.classified = self.classified.only(~np.isin(self.classified.unit, units))
        self.settled = self.settled & ~np.isin(self.classified.unit, units)

    def has_open_changes(self, limits: Int64Array, gone: Mask) -> bool:
        """Return whether changes up to the update numbers `limits` are left after this batch, so that the run goes on.

        :param limits: the highest update number that counts, of every unit of the table.
        :param gone: a flag for every unit of the table: it does not count.
        """
        unit = self.classified.unit
        number = self.changes.number
        counts = ~gone
        counts[self.moved] = False
        # numbers rise within a unit, and none below the last was left out
        last = np.full(self.units.size, -1, np.int64)
        np.maximum.at(last, np.repeat(np.arange(self.units.size), self.changes.count), number)
        unread = self.changes.more & (last < limits[self.units]) & counts[self.units]
        return bool(unread.any() or (~self.settled & (number >= 0) & (number <= limits[unit]) & counts[unit]).any())


def first_of_each(changes: Changes, most: int | None, most_of_unit: int = MOST_OF_UNIT) -> Changes:
    """Cut a reply to the first changes of each unit, to bound the batch; every unit keeps at least one change.

    All units have the same limit. Expired keys of a unit stay together: they are acknowledged by one stamp.

    :param most: maximum changes in all; None: any number.
    :param most_of_unit: maximum changes of one unit.
    """
    before = changes.count
    rank = np.arange(changes.number.size) - np.repeat(np.cumsum(before) - before, before)
    limit = (
        most_of_unit
        if most is None or rank.size <= most
        else min(most_of_unit, max(1, int(np.partition(rank, most)[most])))
    )
    kept = rank < limit
    if kept.all():
        return changes
    unit = np.repeat(np.arange(before.size), before)
    expired = changes.kind == EXPIRED
    kept |= expired & np.isin(unit, unit[kept & expired])
    rows = np.flatnonzero(kept)
    count = np.bincount(unit[rows], minlength=before.size).astype(np.int32)
    cut = count < before
    columns = {name: getattr(changes, name)[rows] for name in CHANGE_COLUMNS}
    stamps = np.where(cut, 0, changes.expired_stamp)
    entries = page_of_rows(changes, rows).data
    return replace(changes, count=count, more=changes.more | cut, expired_stamp=stamps, entries=entries, **columns)


def page_of_rows(changes: Changes, rows: RowIndex) -> Page:
    """Build a page with the entries of some changes, so that they convert like scanned entries.

    :param rows: positions of the changes, ascending.
    """
    offsets = changes.entry_offsets()
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    firsts = rows[np.concatenate(([0], cuts))]
    lasts = rows[np.append(cuts, rows.size) - 1]
    parts = [
        changes.entries[offsets[first] : offsets[last + 1]]
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
    ]
    return Page(-1, rows.size, parts[0] if len(parts) == 1 else memoryview(b"".join(parts)), True)


def page_of_states(states: Sequence[tuple[bytes, bytes | None]]) -> Page:
    """Build a page from looked-up keys and values, not wrapped; a value of None becomes Ignite's null."""
    data = b"".join(_entry(key) + (bytes([codes.NULL]) if value is None else _entry(value)) for key, value in states)
    return Page(-1, len(states), memoryview(data), True)


def _entry(value: bytes) -> bytes:
    if value[0] != codes.OBJECT:
        return value
    return bytes([codes.WRAPPED]) + len(value).to_bytes(4, "little") + value + bytes(4)


def without_keys(page: Page, keys: set[bytes], cache: str) -> Page:
    """Return a copy of a page without the entries of the keys `keys`.

    :param keys: in Ignite's binary form, not wrapped.
    """
    kept = [(key, value) for key, value in raw_entries(page, cache) if key not in keys]
    return Page(page.partition, len(kept), page_of_states(kept).data, page.last)
