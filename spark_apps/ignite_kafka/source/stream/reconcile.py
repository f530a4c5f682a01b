"""Reconciliation: tombstones for keys that a topic still has and the cache no longer has.

A unit is sent again after changes were given up or missed, after `clear()`, or for a new capture; removals may be lost
then. So a unit that is loaded though it was sent before must be reconciled, and its offset record says so until that is
done. The topic is read in small steps beside the stream, one partition after the other, up to its end when the
reconciliation began. Tombstones and the read position are committed at intervals, so that a later task continues there;
keys found twice get two tombstones.

Only keys of the task's own units that the cache lacks, or that its filter leaves out, are held. A tombstone is a
looked-up state (:mod:`.state_lookup`): a key with a newer change gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ...common.arrays import Int64Array
from ...convert import Converters
from ...convert.filter import Filters
from ...convert.to_kafka.read_back import declared_kinds
from ...ignite.types.key_kind import UNKNOWN_KIND, KeyKind
from ...ignite.types.model import CacheInfo
from ...kafka.clients import KafkaClients
from ...kafka.topics import Topics
from ...plan.source_plan import CachePlan
from ...settings.converters import IGNITE_BINARY
from .backlog_client import BacklogClient
from .batch import ChangeBatch, LocatedKey, ReconcilePosition
from .cache_infos import CacheInfos
from .sent_keys import SentKeys
from .state_lookup import StateLookup
from .topic_scan import MOST_HELD, TopicKeys, TopicScan
from .unit_states import UnitStates

ReadKinds = Callable[[str], set[KeyKind]]
"""Function that reads the kinds of a cache's keys sent by any task of the connector."""

_UNITS_AT_ONCE = 64  # whose backlog is read together


class Reconciler:
    """Reads the topics of a task's caches one by one, to find keys that need a tombstone; not thread-safe.

    :param read_kinds: reads the kinds of keys that the connector has sent for a cache.
    :param most_held: maximum keys held before their tombstones are sent.
    """

    def __init__(
        self,
        client: BacklogClient,
        infos: CacheInfos,
        states: UnitStates,
        lookup: StateLookup,
        clients: KafkaClients,
        topics: Topics,
        read_kinds: ReadKinds,
        most_held: int = MOST_HELD,
    ) -> None:
        self._client = client
        self._infos = infos
        self._states = states
        self._lookup = lookup
        self._read_kinds = read_kinds
        self._clients = clients
        self._topics = topics
        self._most_held = most_held
        self._converters = Converters(states.plan.settings)
        self._filters = Filters(states.plan.settings)
        self._scan: TopicScan | None = None

    @property
    def more(self) -> bool:
        """Whether the topic being read has more records to read without waiting."""
        return self._scan is not None and not self._scan.idle

    def step(self, *, ends: bool = False) -> Iterator[ChangeBatch]:
        """Read the next records of a topic; at its end, yield batches of tombstones for keys missing in the cache.

        Batches are also yielded if too many keys are held. Each batch must be committed before the next is requested.

        :param ends: whether this task ends: the tombstones found so far are sent, and the next task continues from
            there.
        """
        if self._scan is None and not ends:
            self._scan = self._next_scan()
        scan = self._scan
        if scan is None:
            return
        if not ends:
            scan.step()
        if not (ends or scan.finished or scan.full):
            return
        position = None if scan.finished else scan.position
        gone = scan.pop_gone()
        units = scan.units
        for at in range(0, units.size, _UNITS_AT_ONCE):
            yield self._tombstones(scan, units[at : at + _UNITS_AT_ONCE], gone, position)
        if ends or position is None:
            self._scan = None
            scan.close()

    def _tombstones(
        self, scan: TopicScan, units: Int64Array, gone: Mapping[int, list[bytes]], position: ReconcilePosition | None
    ) -> ChangeBatch:
        """Build a batch of tombstones for keys missing in the cache; a key with a newer change gets none."""
        states = self._lookup.look_up([(unit, key) for unit in units.tolist() for key in gone.get(unit, ())])
        cache = self._states.table.cache_of(int(units[0]))
        kept = self._sent_keys(cache).kept(list(states.values()), [key for _, key in states])
        absent: dict[LocatedKey, bytes | None] = {
            key: None for key, is_kept in zip(states, kept.tolist(), strict=True) if not is_kept
        }
        batch, _ = self._lookup.with_states(units, absent, set())
        unsendable = units[~batch.sendable].tolist()
        scan.drop_units(unsendable)  # gone, or sent again once more
        batch.reconciled = {unit: position for unit in units.tolist() if unit not in unsendable}
        return batch

    def remember(self, batch: ChangeBatch) -> None:
        """Drop units that a committed batch loads or marks as not loaded, because their reconciliation must restart."""
        if self._scan is not None and not batch.signal:
            self._scan.drop_units(batch.unloaded | batch.scanned.keys())

    def _next_scan(self) -> TopicScan | None:
        """Begin to read the topic of the next cache to reconcile; None if no cache is ready.

        All units of a cache must be loaded before.
        """
        states = self._states
        table = self._states.table
        if not states.pending_reconcile:
            return None
        waiting = np.zeros(len(table.caches), bool)
        waiting[table.cache[(~states.loaded & ~states.gone) | np.isin(np.arange(len(table)), list(states.marked))]] = (
            True
        )
        ready = [unit for unit in states.pending_reconcile if not states.gone[unit] and not waiting[table.cache[unit]]]
        if not ready:
            return None
        cache = table.cache_of(min(ready))
        units = [unit for unit in ready if table.cache_of(unit) is cache]
        position = min(states.pending_reconcile[unit] for unit in units)
        unit_of = {table.partition(unit): unit for unit in units}
        keys = self.keys_of(cache)
        header = states.plan.settings.cache_header
        return TopicScan(self._clients, self._topics, cache, unit_of, position, keys, header, self._most_held)

    def keys_of(self, cache: CachePlan) -> TopicKeys:
        """Return the converter of a cache's record keys back to Ignite keys."""
        info = self._infos.of(cache)
        return TopicKeys(
            self._converters.of_keys(cache.name),
            cache,
            info,
            self._client.cluster,
            lambda: self._kinds(cache, info),
            self._sent_keys(cache).locate,
        )

    def _sent_keys(self, cache: CachePlan) -> SentKeys:
        return SentKeys(self._client, cache, self._infos.of(cache), self._filters.of(cache.name))

    def _kinds(self, cache: CachePlan, info: CacheInfo) -> set[KeyKind]:
        """Return the kinds of a cache's keys sent by any task, to convert keys of the topic back to Ignite's.

        If no kind is known, also the kinds declared by the cache.
        """
        if self._converters.of(cache.name).key_name == IGNITE_BINARY:
            return set()
        kinds = self._read_kinds(cache.name)
        return kinds if kinds - {UNKNOWN_KIND} else kinds | declared_kinds(info)

    def close(self) -> None:
        """Close the consumer of the topic being read, if any."""
        if self._scan is not None:
            self._scan.close()
