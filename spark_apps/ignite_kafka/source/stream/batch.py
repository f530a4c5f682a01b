"""What one batch of a stream batches from backlog and cache: changes that are judged, states that were looked up, units that are loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from ...common.arrays import Int64Array, Mask
from ...ignite.backlog_service import EXPIRED, Changes
from ...ignite.binary import raw_entries
from ...ignite.types import type_codes as codes
from ...ignite.types.model import Page
from .dedup import Classification

MOST_OF_UNIT = 50_000
"""Changes of a unit in one batch: its offset record, which tells them all, has some 11 bytes of each, and brokers batch a megabyte."""

LocatedKey = tuple[int, bytes]
"""A unit's position in the table, and a key in Ignite's binary form, not wrapped."""

ReconcilePosition = tuple[int, int]
"""How far a topic is reconciled: its partitions below the first number, and that one below the second, an offset."""


@dataclass(frozen=True)
class UnitProgress:
    """What the offset record of a unit says once a batch is committed.

    :param rows: entries, changes and looked-up states that the batch has of the unit.
    :param loaded: whether all that the cache held of the unit before is sent.
    :param high: the highest update number that is sent; -1: none.
    :param recent: numbers and hashes of what was settled in the last seconds, as :func:`.dedup.pack_settled` gives them.
    :param reconcile: how far the topic is reconciled for the unit; None: it need not be.
    :param topology: topology version at which everything that the backlog held of the unit is sent; -1: unknown.
    """

    rows: int
    loaded: bool
    high: int
    recent: str
    reconcile: ReconcilePosition | None
    topology: int


@dataclass
class ChangeBatch:
    """Settled together: sent, committed, acknowledged.

    :param units: that were asked for, ascending.
    :param done: rows of `changes` that are settled with it, whether they are sent or not.
    :param expired_done: of each unit: whether all its expired keys are settled.
    :param states: looked up in the cache, to be sent after the changes; None: the key is not there.
    :param moved: units that another batch settles.
    :param sound: of each unit: whether its changes may be sent; not those of units that are marked, gone, or to be sent again.
    :param topology: of each unit: topology version at which everything the backlog held for the unit is sent once this batch commits; -1 if
        unknown.
    :param scanned: unit to its entries; it is loaded with this batch. Its changes follow.
    :param unloaded: units that are to be loaded again after this batch.
    :param reconciled: unit to how far the topic is reconciled for it with this batch; None: wholly.
    :param progress: unit to what its offset record is to say, of the units of which there is news.
    """

    changes: Changes
    units: Int64Array
    classified: Classification
    done: Mask
    expired_done: Mask
    sound: Mask
    topology: Int64Array
    states: dict[LocatedKey, bytes | None] = field(default_factory=dict)
    scanned: Mapping[int, Sequence[Page]] = field(default_factory=dict)
    moved: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    unloaded: frozenset[int] = frozenset()
    reconciled: Mapping[int, ReconcilePosition | None] = field(default_factory=dict)
    progress: Mapping[int, UnitProgress] = field(default_factory=dict)

    @cached_property
    def keys(self) -> pa.BinaryArray:
        """Key of each change, not wrapped."""
        return self.changes.keys()

    @property
    def active(self) -> Int64Array:
        """The units that the batch has anything of, ascending: of most units a poll finds nothing."""
        found = self.changes.count > 0
        others = [*self.scanned, *self.unloaded, *self.reconciled, *(unit for unit, _ in self.states)]
        if others:
            found |= np.isin(self.units, others)
        return self.units[found]

    @property
    def states_by_unit(self) -> dict[int, list[tuple[bytes, bytes | None]]]:
        """Unit to its looked-up states: key and value."""
        found: dict[int, list[tuple[bytes, bytes | None]]] = {}
        for (unit, key), value in self.states.items():
            found.setdefault(unit, []).append((key, value))
        return found

    @property
    def settled(self) -> Mask:
        """Of each unit: whether the backlog had no more of it than is settled with this batch."""
        unit_of = np.repeat(np.arange(self.units.size), self.changes.count)
        settled: Mask = ~self.changes.more & (np.bincount(unit_of[~self.done], minlength=self.units.size) == 0)
        return settled

    def located_keys(self, rows: Int64Array) -> list[LocatedKey]:
        """Unit and key of some rows."""
        return list(zip(self.classified.unit[rows].tolist(), self.keys.take(pa.array(rows)).to_pylist(), strict=True))

    def rows_of(self, first: int, last: int) -> slice:
        """The rows of the units from `first` to `last`."""
        start, end = np.searchsorted(self.classified.unit, [first, last + 1]).tolist()
        return slice(start, end)

    def move_out(self, units: Int64Array) -> None:
        """Settle nothing of these units: another batch does."""
        self.moved = units
        self.classified = self.classified.only(~np.isin(self.classified.unit, units))
        self.done = self.done & ~np.isin(self.classified.unit, units)

    def has_open_changes(self, limits: Int64Array, gone: Mask) -> bool:
        """Whether the backlog still has a change after this batch that is to be sent.

        :param limits: of every unit of the table: the highest number that counts.
        :param gone: units of the table that do not count.
        """
        unit, number = self.classified.unit, self.changes.number
        counts = ~gone
        counts[self.moved] = False
        last = np.full(self.units.size, -1, np.int64)  # numbers rise within a unit, and none below the last was left out
        np.maximum.at(last, np.repeat(np.arange(self.units.size), self.changes.count), number)
        unread = self.changes.more & (last < limits[self.units]) & counts[self.units]
        return bool(unread.any() or (~self.done & (number >= 0) & (number <= limits[unit]) & counts[unit]).any())


def first_of_each(changes: Changes, most: int | None) -> Changes:
    """The first changes of each unit: as many of each as `most` in all allow, but at least one, and no more than its offset record has room
    for. Expired keys of a unit stay together: they are acknowledged by one stamp.

    :param most: None: any number in all.
    """
    before = changes.count
    rank = np.arange(changes.number.size) - np.repeat(np.cumsum(before) - before, before)
    limit = MOST_OF_UNIT if most is None or rank.size <= most else min(MOST_OF_UNIT, max(1, int(np.partition(rank, most)[most])))
    kept = rank < limit
    if kept.all():
        return changes
    unit, expired = np.repeat(np.arange(before.size), before), changes.kind == EXPIRED
    kept |= expired & np.isin(unit, unit[kept & expired])
    rows = np.flatnonzero(kept)
    count = np.bincount(unit[rows], minlength=before.size).astype(np.int32)
    cut = count < before
    columns = {name: getattr(changes, name)[rows] for name in ("number", "time_ms", "hash", "kind", "key_length", "value_length")}
    stamps = np.where(cut, 0, changes.expired_stamp)
    entries = page_of_rows(changes, rows).data
    return replace(changes, count=count, more=changes.more | cut, expired_stamp=stamps, entries=entries, **columns)


def page_of_rows(changes: Changes, rows: Int64Array) -> Page:
    """Some changes, rising, as a page of entries."""
    offsets = changes.entry_offsets()
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    firsts, lasts = rows[np.concatenate(([0], cuts))], rows[np.append(cuts, rows.size) - 1]
    parts = [changes.entries[offsets[first] : offsets[last + 1]] for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    return Page(-1, rows.size, parts[0] if len(parts) == 1 else memoryview(b"".join(parts)), True)


def page_of_states(states: Sequence[tuple[bytes, bytes | None]]) -> Page:
    """Keys and values, not wrapped, as a page of entries."""
    data = b"".join(_entry(key) + (bytes([codes.NULL]) if value is None else _entry(value)) for key, value in states)
    return Page(-1, len(states), memoryview(data), True)


def _entry(value: bytes) -> bytes:
    if value[0] != codes.OBJECT:
        return value
    return bytes([codes.WRAPPED]) + len(value).to_bytes(4, "little") + value + bytes(4)


def without_keys(page: Page, keys: set[bytes], cache: str) -> Page:
    """The entries of a page whose keys are none of these."""
    kept = [(key, value) for key, value in raw_entries(page, cache) if key not in keys]
    return Page(page.partition, len(kept), page_of_states(kept).data, page.last)
