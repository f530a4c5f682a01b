"""Reading of one cache's captured changes in batches, for data source `ignite-backlog`.

The reader remembers a batch before the batch is acknowledged.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..common.arrays import Int64Array, RowIndex
from ..common.deadline import Clock
from ..errors import CacheDestroyed
from ..ignite.backlog_changes import EXPIRED, Changes
from ..plan.slots import UnitOffset
from ..plan.source_plan import TransferPlan
from ..source.stream.backlog_client import BacklogClient
from ..source.stream.batch import CHANGE_COLUMNS, ChangeBatch
from ..source.stream.dedup import Classification
from ..source.stream.node_watch import NodeWatch
from ..source.stream.state_lookup import StateLookup
from ..source.stream.unit_reader import UnitReader
from ..source.stream.unit_states import UnitStates
from ..source.stream.unit_table import UnitTable
from .backlog_offset import Offset

_WHOLE_UNIT = 1 << 30  # size limit of a read of one unit, in bytes: practically all


class PartitionReader:
    """Reads and deduplicates the captured changes of one cache; not thread-safe.

    A unit's position is the partition's number, because the table has one cache.

    :ivar open: flag for each partition: whether its changes are still read.
    """

    def __init__(
        self, plan: TransferPlan, table: UnitTable, client: BacklogClient, clock: Clock = time.monotonic
    ) -> None:
        self._table = table
        self._client = client
        self._most_bytes = plan.settings.batch_bytes
        self._states = UnitStates(plan, table, clock)
        self._states.loaded[:] = True
        nodes = NodeWatch(client, self._states)
        self._reader = UnitReader(client, self._states, nodes, self._on_read)
        self._lookup = StateLookup(client, self._states, self._reader, nodes)
        self.open = np.ones(len(table), bool)
        self._until: Int64Array | None = None
        self._delivered: dict[
            int, int
        ] = {}  # digest of each partition's changes in the last batch, until these changes are read

    def begin(self, offset: Offset, until: Int64Array | None) -> None:
        """Continue reading after the micro-batch that ends at `offset`.

        :param until: highest update counter to read of each partition; None: no end.
        """
        self._until = until
        self._states.topology = offset.units["topology"].copy()
        for unit in np.flatnonzero(offset.units["high"] >= 0).tolist():
            high = int(offset.units["high"][unit])
            self._states.deduplicator.restore(unit, UnitOffset(0, "", high=high), self._states.clock())
        touched = np.flatnonzero(offset.units["touched"])
        self._delivered = dict(zip(touched.tolist(), offset.units["digest"][touched].tolist(), strict=True))

    @property
    def marks(self) -> Mapping[int, int]:
        """Mark bits of each partition to be loaded from the cache; until then its changes are not read."""
        return {unit: mark.bits for unit, mark in self._states.marked.items()}

    @property
    def topology(self) -> Int64Array:
        """Topology version at which each partition's backlog was last sent completely; -1: unknown."""
        return self._states.topology

    def high(self, unit: int) -> int:
        """Return the highest update counter sent for a partition; -1 if none."""
        return self._states.deduplicator.high(unit)

    def read_changes(self) -> list[ChangeBatch]:
        """Poll the backlog once, and return the classified changes of open partitions.

        With an end, a partition is closed once it is read up to the end.

        :raises CacheDestroyed: the cache was destroyed, or created again.
        """
        units = np.flatnonzero(self._states.ready & self.open)
        batches = self._read_batches(units, self._most_bytes)
        if self._until is None:
            return batches
        batch = batches[0]
        until = self._until
        last = np.full(len(self.open), -1)
        np.maximum.at(last, batch.classified.unit, batch.changes.number)
        shown = np.zeros(len(self.open), bool)
        shown[units] = ~batch.changes.more | (last[units] > until[units])
        for each in batches:
            within = (each.changes.number >= 0) & (each.changes.number <= until[each.classified.unit])
            unsettled = each.classified.unit[within & ~each.settled]
            shown[unsettled[~np.isin(unsettled, each.moved)]] = False
        self.open &= ~shown
        return [cut_above(each, until) for each in batches]

    def read_all(self, unit: int) -> list[ChangeBatch]:
        """Read as much of a partition's backlog as a node returns in one reply.

        :raises CacheDestroyed: the cache was destroyed, or created again.
        """
        return self._read_batches(np.array([unit]), _WHOLE_UNIT)

    def _read_batches(self, units: Int64Array, most_bytes: int) -> list[ChangeBatch]:
        batch = self._reader.batch(units, self._reader.read(units, most_bytes))
        self._check_captured()
        batches = self._lookup.settle(batch)
        self._check_captured()
        return batches

    def _check_captured(self) -> None:
        if self._states.gone.any():
            what = "the cache was destroyed, or made again"
            raise CacheDestroyed(what, "Start the query again.", cache=self._table.caches[0].name)

    def clear(self, partitions: Sequence[int]) -> None:
        """Remove marks and backlog of marked partitions, before their entries are loaded from the cache."""
        units = self._client.units()
        to_clear = np.isin(units.unit, self._table.units[list(partitions)]) & (units.marks != 0)
        self._states.mark(units.unit["partition"][to_clear], units.mark_number[to_clear], units.marks[to_clear])
        marked, numbers = self._states.unmark(partitions)
        if marked.size:
            self._client.clear(self._table.units[marked], numbers)

    def remember(self, batch: ChangeBatch) -> bytes:
        """Note a batch as delivered, so that its changes are not returned again.

        :returns: the batch's acknowledgement; empty: nothing to acknowledge.
        """
        self._states.remember(batch)
        self._states.forget()
        return batch.changes.acknowledgement(self._table.units[batch.units], batch.settled, batch.expired_settled)

    def _on_read(self, units: Int64Array, most_bytes: int, changes: Changes) -> Changes:
        first = take_first(changes, most_bytes)
        self._recognise(units, first)
        return first

    def _recognise(self, units: Int64Array, changes: Changes) -> None:
        """Recognize changes delivered before a restart, by their digest, so that they are not returned again."""
        if not self._delivered:
            return
        unit = np.repeat(units, changes.count)
        ends = np.cumsum(changes.count)
        for position in np.flatnonzero(changes.count).tolist():
            digest = self._delivered.pop(int(units[position]), None)
            rows = np.arange(ends[position] - changes.count[position], ends[position])
            rows = rows[(changes.number[rows] >= 0) & (changes.number[rows] <= self.high(int(units[position])))]
            if digest is not None and digest == compute_digest(changes, rows):
                recognised = np.isin(np.arange(unit.size), rows)
                none = np.zeros(unit.size, bool)
                classified = Classification(unit, none, recognised, none)
                self._states.deduplicator.remember(classified, recognised, changes, self._states.clock())


def take_first(changes: Changes, most_bytes: int) -> Changes:
    """Cut a reply to its first `most_bytes` bytes, but at least one change; a unit's expired keys stay together."""
    offsets = changes.entry_offsets()
    rows = max(1, int(np.searchsorted(offsets, most_bytes, "right")) - 1)
    if rows >= len(changes.number):
        return changes
    ends = np.cumsum(changes.count)
    if changes.kind[rows] == EXPIRED:
        rows = int(ends[np.searchsorted(ends, rows, "right")])
    count = np.clip(rows - (ends - changes.count), 0, changes.count).astype(np.int32)
    cut = count < changes.count
    columns = {name: getattr(changes, name)[:rows] for name in CHANGE_COLUMNS}
    stamps = np.where(cut, 0, changes.expired_stamp)
    return replace(
        changes,
        count=count,
        more=changes.more | cut,
        expired_stamp=stamps,
        entries=changes.entries[: offsets[rows]],
        **columns,
    )


def cut_above(batch: ChangeBatch, highest: Int64Array) -> ChangeBatch:
    """Leave out a batch's changes above each unit's limit of the update counter; they stay in the backlog."""
    within = batch.changes.number <= highest[batch.classified.unit]
    topology = np.where(np.isin(batch.units, batch.classified.unit[~within]), -1, batch.topology)
    return replace(batch, classified=batch.classified.only(within), settled=batch.settled & within, topology=topology)


def compute_digest(changes: Changes, rows: RowIndex) -> int:
    """Compute a CRC-32 over numbers and hashes of some changes, to recognize the changes after a restart."""
    return zlib.crc32(changes.hash[rows].tobytes(), zlib.crc32(changes.number[rows].tobytes()))
