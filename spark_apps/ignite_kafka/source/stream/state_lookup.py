"""Look-up of keys in the cache, where captured changes do not tell a key's newest value.

The steps: look up, barrier, read the backlog once more. A key with a newer change by then needs no looked-up state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ...common.arrays import Int64Array, Mask
from ...ignite.backlog_changes import EXPIRED
from ...plan.source_plan import CachePlan
from .backlog_client import BacklogClient
from .batch import ChangeBatch, LocatedKey
from .dedup import change_hash, key_hash
from .node_watch import NodeWatch
from .unit_reader import UnitReader
from .unit_states import UnitStates

LocatedChange = tuple[int, bytes, int, int]
"""Unit, key, update number and hash of a change."""


class StateLookup:
    """Looks up current values of keys, and builds batches that send them; not thread-safe."""

    def __init__(self, client: BacklogClient, states: UnitStates, reader: UnitReader, nodes: NodeWatch) -> None:
        self._client = client
        self._states = states
        self._reader = reader
        self._nodes = nodes

    def look_up(self, keys: Iterable[LocatedKey]) -> dict[LocatedKey, bytes | None]:
        """Read the current value of each key from its primary node; None if the cache does not have the key.

        :raises CacheDestroyed: a cache is no longer the captured one.
        """
        by_cache: dict[CachePlan, list[LocatedKey]] = defaultdict(list)
        for located in sorted(keys):
            by_cache[self._states.table.cache_of(located[0])].append(located)
        states: dict[LocatedKey, bytes | None] = {}
        for cache, unit_keys in by_cache.items():
            states |= zip(unit_keys, self._client.look_up(cache.name, [key for _, key in unit_keys]), strict=True)
            self._client.check_same(cache)
        return states

    def settle(self, batch: ChangeBatch) -> list[ChangeBatch]:
        """Look up unclear keys of a batch; their units move to a second batch, with the looked-up values."""
        open_rows = batch.classified.lookup | (batch.settled & self._nodes.other_topology(batch))
        keys = set(batch.located_keys(np.flatnonzero(open_rows))) | self._nodes.keys_to_look_up(batch)
        if not keys:
            return [batch]
        states = self.look_up(keys)
        units = np.array(sorted({unit for unit, _ in keys}), np.int64)
        before = set(_located_changes(batch, batch.classified.new))
        questions = set(_located_changes(batch, batch.classified.lookup))
        inside = np.isin(units, batch.units)  # keys of dead nodes may be of units that were not read
        stamps = np.zeros(units.size, np.int64)
        topology = self._states.topology[units]
        stamps[inside] = batch.changes.expired_stamp[np.searchsorted(batch.units, units[inside])]
        topology[inside] = batch.topology[np.searchsorted(batch.units, units[inside])]
        batch.move_out(units)
        again, newer = self.with_states(units, states, before)
        again.topology = topology
        again.changes = replace(again.changes, expired_stamp=np.minimum(again.changes.expired_stamp, stamps))
        _leave_unread_changes(again, before)
        _settle_looked_up(again, questions, newer)
        return [batch, again]

    def settle_loaded(self, batch: ChangeBatch) -> ChangeBatch:
        """Look up keys whose changes a node's death made doubtful, in a batch of scanned units.

        Duplicates are among them: the record that was sent of such a change may be of an update that died with a node.
        """
        doubtful = batch.located_keys(np.flatnonzero(batch.settled & self._nodes.other_topology(batch)))
        if not doubtful:
            return batch
        again, _ = self.with_states(
            batch.units, self.look_up(set(doubtful)), set(_located_changes(batch, batch.classified.new))
        )
        again.topology = batch.topology
        return again

    def with_states(
        self, units: Int64Array, states: Mapping[LocatedKey, bytes | None], before: set[LocatedChange]
    ) -> tuple[ChangeBatch, set[LocatedKey]]:
        """Read the backlog once more after a look-up, and drop looked-up values of keys with a newer change.

        :param before: changes that were read before the look-up.
        :returns: the batch, and the keys that have a newer change.
        """
        again = self._reader.read_after_barrier(units)
        newer = {(unit, key) for unit, key, _, _ in set(_located_changes(again, again.classified.new)) - before}
        rows = again.classified.new
        hashes = zip(again.classified.unit[rows].tolist(), again.changes.hash[rows].tolist(), strict=True)
        last = self._states.deduplicator.last_sent(units.tolist()) | {
            (unit, key_hash(hashed)): hashed for unit, hashed in hashes
        }
        unsendable = set(units[~again.sendable].tolist())

        def is_unsent(located: LocatedKey, value: bytes | None) -> bool:
            hashed = change_hash(located[1], value)
            return last.get((located[0], key_hash(hashed))) != hashed

        again.states = {
            located: value
            for located, value in states.items()
            if located not in newer and located[0] not in unsendable and is_unsent(located, value)
        }
        return again, newer


def _leave_unread_changes(batch: ChangeBatch, before: set[LocatedChange]) -> None:
    """Leave changes without a look-up to the next read, if nodes came or went meanwhile."""
    left: Mask = np.repeat(batch.topology != batch.changes.topology, batch.changes.count) & batch.classified.new
    changes = _located_changes(batch, batch.classified.new)
    left[np.flatnonzero(batch.classified.new)] &= np.array([change not in before for change in changes], bool)
    batch.classified = batch.classified.only(~left)
    batch.settled = batch.settled & ~left


def _settle_looked_up(batch: ChangeBatch, questions: set[LocatedChange], newer: set[LocatedKey]) -> None:
    """Settle the changes of looked-up keys.

    The expired keys of a unit are settled only all together, and not if one has a newer change: without a number,
    either may be the newer.
    """
    rows = np.flatnonzero(batch.classified.lookup)
    answered = np.zeros(batch.settled.size, bool)
    answered[rows] = [question in questions for question in _located_changes(batch, batch.classified.lookup)]
    expired = np.flatnonzero(answered & (batch.changes.kind == EXPIRED))
    unclear = expired[[located in newer for located in batch.located_keys(expired)]]
    batch.settled |= answered
    batch.settled[unclear] = False
    batch.expired_settled = batch.sendable & ~np.isin(batch.units, batch.classified.unit[unclear])


def _located_changes(batch: ChangeBatch, which: Mask) -> list[LocatedChange]:
    rows = np.flatnonzero(which)
    numbers = batch.changes.number[rows].tolist()
    hashes = batch.changes.hash[rows].tolist()
    return [
        (*key, number, hashed) for key, number, hashed in zip(batch.located_keys(rows), numbers, hashes, strict=True)
    ]
