"""The reader of a stream: from the backlog and the cache to batches that may be sent.

What the backlog holds is a to-do list: it is read, judged (:mod:`.dedup`), and acknowledged once it is committed. Where a change
alone cannot tell the state of its key, the key is looked up on its primary node: look up, barrier, read once more; a key that has a newer
change by then needs no look-up. A unit is loaded in the same way: scan it, barrier, read its changes; a key that has one is not sent as
scanned.

Before a unit that was loaded is loaded again, its offset record says that it is not loaded: its mark, and with it what its backlog has, is
cleared, and would be forgotten if the task died between that and the commit.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ...common.arrays import Int64Array, Mask
from ...common.deadline import Interval
from ...convert import converter
from ...convert.to_kafka.json_keys import declared_kinds
from ...convert.to_kafka.object_keys import Kind
from ...errors import CacheDestroyed
from ...ignite.backlog_service import EXPIRED, GONE, BacklogService, Changes
from ...ignite.cluster import Cluster
from ...ignite.scan import scan_partitions
from ...ignite.types.model import CacheInfo, Page
from ...kafka.clients import KafkaClients
from ...kafka.topics import Topics
from ...plan.slots import UnitOffset
from ...plan.source_plan import CachePlan, TransferPlan
from ...runtime.epoch import Unit
from .batch import MOST_OF_UNIT, ChangeBatch, Key, first_of_each, without_keys
from .dedup import ChangeDeduplicator, change_hash, key_hash
from .reconcile import BEGINNING, Place, TopicKeys, TopicSweep
from .unit_table import UnitTable

_WHOLE_BACKLOG = 64 << 20  # bytes: more than units should have that are to be read whole
_FIRST_LOAD = 4  # units loaded at once before their size is known
_KEYS_AT_ONCE = 10_000  # looked up
_USUAL_BYTES = 1 << 10  # of a change: only so many bytes are read for a batch that may not hold many
_SWEPT_AT_ONCE = 64  # units whose backlog is read together
_LOOK_S = 300.0  # every unit is asked, whatever the nodes tell of changes
_DEAD_NODE_S = 5.0  # a node that died may have written changes of the last seconds that no other node has

T = TypeVar("T")


class BacklogReader:
    """Reads the units of one task. For one thread; after any error it is closed and thrown away, and the offsets tell where to begin.

    :param clients: reach the topics, to sweep them.
    :param most_records: that one batch should hold, of changes and beside them of entries that were there before; None: any number.
    """

    def __init__(
        self, plan: TransferPlan, table: UnitTable, cluster: Cluster, clients: KafkaClients, most_records: int | None = None
    ) -> None:
        self._plan, self._settings, self._table, self._cluster = plan, plan.settings, table, cluster
        self.memory = ChangeDeduplicator(len(table))
        self._loaded = np.zeros(len(table), bool)
        self._gone = np.zeros(len(table), bool)
        self._again: dict[int, int] = {}  # marked unit to the number of its mark
        self._unit_bytes = self._unit_rows = 0.0  # means of what was loaded; 0: nothing was
        self._most_records = most_records
        self._infos: dict[int, CacheInfo] = {}
        self._topology: int | None = None
        self._servers: frozenset[str] | None = None
        self._topology_of = np.full(len(table), -1, np.int64)
        self._look_again_s: list[float] = []
        self._news = np.ones(len(table), bool)  # units that may have more in the backlog than was settled
        self._place = b""
        self._looks = Interval(_LOOK_S)
        self._takes: list[ChangeBatch] = []
        self._limits: Int64Array | None = None
        self._clients, self._topics = clients, Topics(clients)
        self._sent_before = np.zeros(len(table), bool)
        self._owed: dict[int, Place] = {}
        self._sweep: TopicSweep | None = None
        self.key_kinds: dict[str, set[Kind]] = defaultdict(set)

    def restore(self, unit: int, offset: UnitOffset | None, sent_before: bool) -> None:
        """Take over what the offsets tell of a unit.

        :param sent_before: whether the topic may hold keys of it that are older than this capture.
        """
        cache = self._table.cache_of(unit)
        self._sent_before[unit] = sent_before or offset is not None or not cache.load
        if offset is not None:
            self.key_kinds[cache.name].update(offset.key_kinds)
        if offset is not None and (offset.incarnation, offset.snapshot_id) == (cache.incarnation, self._plan.snapshot_id):
            self.memory.restore(unit, offset, time.monotonic())
            self._topology_of[unit] = offset.topology
            self._loaded[unit] = offset.done
            if offset.sweep is not None and self._settings.process_removals:
                self._owed[unit] = offset.sweep
        else:
            self._loaded[unit] = not cache.load

    def is_loaded(self, unit: int) -> bool:
        """Whether all that the cache had of the unit before is committed."""
        return bool(self._loaded[unit])

    def owed(self, unit: int, loading: bool) -> Place | None:
        """How far the topic is swept for a unit that owes it, as it will be once what is in hand is committed.

        :param loading: whether that loads the unit.
        """
        if loading:
            return BEGINNING if self._settings.process_removals and self._sent_before[unit] else None
        return self._owed.get(unit)

    def info(self, cache: CachePlan) -> CacheInfo:
        """The cache as the cluster describes it.

        :raises CacheDestroyed: it is not there any more, or has other partitions.
        """
        if cache.cache_id not in self._infos:
            info = self._cluster.cache(cache.name)
            if info.partitions != cache.partitions:
                raise CacheDestroyed("the cache was made again with other partitions", "Start again.", cache=cache.name)
            self._infos[cache.cache_id] = info
        return self._infos[cache.cache_id]

    # changes

    def changes(self) -> list[ChangeBatch]:
        """What one read gives of the units that are loaded."""
        most = self._most_records
        most_bytes = self._settings.batch_bytes if most is None else min(self._settings.batch_bytes, most * _USUAL_BYTES)
        units, changes = self._read_news(most_bytes)
        batch = self._classified(units, first_of_each(changes, most))
        self._takes = [batch, *self._settled(batch)]
        return self._takes

    def _read_news(self, most_bytes: int) -> tuple[Int64Array, Changes]:
        """The units that may have news, and what the backlog has of them."""
        self._know_servers()
        changed = self.ask(lambda service: service.changed(self._plan.connector, self._place))
        self._place = changed.place
        if changed.units is None or self._look_again_s or self._looks.due():
            self._news[:] = True
        else:
            self._news[self._table.positions(changed.units)] = True
        units = np.flatnonzero(self._ready() & self._news)
        changes = self._read_backlog(units, most_bytes) if units.size else Changes.none(changed.topology)
        if changes.topology == self._topology or self._news.all():
            return units, changes
        self._news[:] = True  # a node came or went in between: see _of_dead_nodes
        units = np.flatnonzero(self._ready())
        return units, self._read_backlog(units, most_bytes)

    def _ready(self) -> Mask:
        """Units whose changes are sent as they come."""
        ready = self._loaded & ~self._gone
        ready[list(self._again)] = False
        return ready

    @property
    def all_loaded(self) -> bool:
        """Whether nothing is left to be sent from the cache, and no sweep is owed."""
        return not self._next_load().size and not any(not self._gone[unit] for unit in self._owed)

    @property
    def more(self) -> bool:
        """Whether there is something to do at once."""
        sweeping = self._sweep is not None and not self._sweep.idle
        return sweeping or bool(self._next_load().size) or any(bool(batch.changes.more.any()) for batch in self._takes)

    def caught_up(self, until: Mapping[Unit, int]) -> bool:
        """Whether all is loaded and swept, and the last batches, which are committed, left nothing of what stood there when the run began.

        :param until: the highest numbers of then.
        """
        if not self._takes or not self.all_loaded:
            return False
        if self._limits is None:
            places = self._table.units[["cache_id", "partition"]].tolist()
            self._limits = np.array([until.get(place, -1) for place in places], np.int64)
        return not any(batch.leaves(self._limits, self._gone) for batch in self._takes)

    def _read_backlog(self, units: Int64Array, most_bytes: int) -> Changes:
        self._know_servers()
        return self.ask(lambda service: service.read(self._plan.connector, self._table.units[units], most_bytes))

    def _classified(self, units: Int64Array, changes: Changes, *, whole: bool = False) -> ChangeBatch:
        """An answer with what may be sent of it: nothing of units that are marked, for they are sent again, or gone.

        :param whole: whether it should be all that the backlog has.
        """
        for position in np.flatnonzero(changes.marks).tolist():
            unit = int(units[position])
            if changes.marks[position] & GONE:
                self._gone[unit] = True
            else:
                self._again[unit] = int(changes.mark_number[position])
        sound = changes.marks == 0
        if whole:
            # what is not read may be older than what the cache tells: the cache alone is asked, once the backlog is away
            too_much = changes.more | (changes.count > MOST_OF_UNIT)
            sound &= ~too_much
            self._again |= dict(zip(units[too_much].tolist(), changes.mark_number[too_much].tolist(), strict=True))
        classified = self.memory.classify(units, changes).only(np.repeat(sound, changes.count))
        topology = np.where(changes.more | ~sound, self._topology_of[units], changes.topology)
        return ChangeBatch(changes, units, classified, classified.new | classified.duplicate, np.zeros(units.size, bool), sound, topology)

    def _whole(self, units: Int64Array) -> ChangeBatch:
        """All that the backlog has of units; where that is too much, the unit is sent again from the cache."""
        return self._classified(units, self._read_backlog(units, _WHOLE_BACKLOG), whole=True)

    def _settled(self, batch: ChangeBatch) -> list[ChangeBatch]:
        """Look up what the changes alone cannot tell; the units concerned leave the batch and come in one of their own."""
        doubtful = batch.classified.lookup | (batch.done & self._other_topology(batch))
        asked = set(batch.places(np.flatnonzero(doubtful))) | self._of_dead_nodes(batch)
        if not asked:
            return []
        states = self._look_up(asked)
        units = np.array(sorted({unit for unit, _ in asked}), np.int64)
        before, questions = set(_numbered(batch, batch.classified.new)), set(_numbered(batch, batch.classified.lookup))
        inside = np.isin(units, batch.units)  # keys of dead nodes may be of units that were not read
        stamps, topology = np.zeros(units.size, np.int64), self._topology_of[units]
        stamps[inside] = batch.changes.expired_stamp[np.searchsorted(batch.units, units[inside])]
        topology[inside] = batch.topology[np.searchsorted(batch.units, units[inside])]
        batch.leave(units)
        again, newer = self._with_states(units, states, before)
        again.topology = topology
        again.changes = replace(again.changes, expired_stamp=np.minimum(again.changes.expired_stamp, stamps))
        # where the topology is another one, what was not looked up waits for the next read
        left = np.repeat(again.topology != again.changes.topology, again.changes.count) & again.classified.new
        left[np.flatnonzero(again.classified.new)] &= np.array(
            [change not in before for change in _numbered(again, again.classified.new)], bool
        )
        again.classified, again.done = again.classified.only(~left), again.done & ~left
        self._close_questions(again, questions, newer)
        return [again]

    def _other_topology(self, batch: ChangeBatch) -> Mask:
        """Mask of units of which all was sent under another topology, or nothing yet: a node that died since may have written what no other
        node has."""
        return np.repeat(self._topology_of[batch.units] != batch.changes.topology, batch.changes.count)

    def _with_states(
        self, units: Int64Array, states: Mapping[Key, bytes | None], before: set[tuple[int, bytes, int, int]]
    ) -> tuple[ChangeBatch, set[Key]]:
        """The backlog of units read once more, with those of the looked-up states that nothing in it may be newer than; and the other keys.

        :param before: changes that were read before the look-up, as :func:`_numbered` gives them.
        """
        self.barrier()
        again = self._whole(units)
        newer = {(unit, key) for unit, key, _, _ in set(_numbered(again, again.classified.new)) - before}
        rows = again.classified.new
        hashes = zip(again.classified.unit[rows].tolist(), again.changes.hash[rows].tolist(), strict=True)
        last = self.memory.last_sent(units.tolist()) | {(unit, key_hash(hashed)): hashed for unit, hashed in hashes}
        unsound = set(units[~again.sound].tolist())

        def is_news(place: Key, value: bytes | None) -> bool:
            hashed = change_hash(place[1], value)
            return last.get((place[0], key_hash(hashed))) != hashed

        again.states = {
            place: value for place, value in states.items() if place not in newer and place[0] not in unsound and is_news(place, value)
        }
        return again, newer

    def _close_questions(self, batch: ChangeBatch, questions: set[tuple[int, bytes, int, int]], newer: set[Key]) -> None:
        """What was asked before the look-up is settled by it; the expired keys of a unit only all together, and none of which a change came
        since: without a number, either may be the newer one.

        :param questions: as :func:`_numbered` gives them.
        """
        rows = np.flatnonzero(batch.classified.lookup)
        answered = np.zeros(batch.done.size, bool)
        answered[rows] = [question in questions for question in _numbered(batch, batch.classified.lookup)]
        expired = np.flatnonzero(answered & (batch.changes.kind == EXPIRED))
        unclear = expired[[place in newer for place in batch.places(expired)]]
        batch.done |= answered
        batch.done[unclear] = False
        batch.stamps = batch.sound & ~np.isin(batch.units, batch.classified.unit[unclear])

    def _of_dead_nodes(self, batch: ChangeBatch) -> set[Key]:
        """Keys of the last seconds when a node has gone, at once and a little later. Units that were loaded in these seconds are
        loaded again: a scan, too, may have read what only a dead node had."""
        now, topology, ready = time.monotonic(), batch.changes.topology, self._ready()
        if self._topology not in (None, topology) and self._node_gone():
            self._look_again_s = [now, now + _DEAD_NODE_S]
            again = (ready & self.memory.loaded_since(now - 2 * _DEAD_NODE_S))[batch.units]
            self._again |= dict(zip(batch.units[again].tolist(), batch.changes.mark_number[again].tolist(), strict=True))
        self._topology = topology
        due = any(at <= now for at in self._look_again_s)
        self._look_again_s = [at for at in self._look_again_s if at > now]
        return {place for place in self.memory.sent_since(now - 2 * _DEAD_NODE_S) if ready[place[0]]} if due else set()

    def _know_servers(self) -> None:
        """Before anything is read, or scanned: none that dies later is overlooked."""
        if self._servers is None:
            self._servers = self._alive()

    def _node_gone(self) -> bool:
        """Whether a server node is not there any more that was when this was asked before."""
        before, self._servers = self._servers or frozenset(), self._alive()
        return not before <= self._servers

    def _alive(self) -> frozenset[str]:
        return frozenset(self.ask(lambda service: service.status(self._plan.connector))["servers"])

    def _look_up(self, keys: Iterable[Key]) -> dict[Key, bytes | None]:
        by_cache: dict[CachePlan, list[Key]] = defaultdict(list)
        for place in sorted(keys):
            by_cache[self._table.cache_of(place[0])].append(place)
        states: dict[Key, bytes | None] = {}
        for cache, places in by_cache.items():
            for at in range(0, len(places), _KEYS_AT_ONCE):
                part = places[at : at + _KEYS_AT_ONCE]
                states |= zip(part, self._values(cache.name, [key for _, key in part]), strict=True)
            self._check_same(cache)
        return states

    def _values(self, cache: str, keys: list[bytes]) -> list[bytes | None]:
        return self.ask(lambda service: service.lookup(self._plan.connector, cache, keys))

    # what was there before

    def load(self) -> list[ChangeBatch]:
        """The next units that are to be sent from the cache, about ``batch_bytes`` of them; none when there are none."""
        units = self._next_load()
        if not units.size:
            return []
        if self._loaded[units].any():
            batch = self._classified(units, self._read_backlog(units, 1))
            batch.leave(units)
            batch.unloaded = frozenset(units.tolist())
            return [batch]
        self._clear(units)
        cache = self._table.cache_of(int(units[0]))
        pages = self._scan(cache, units)
        self._check_same(cache)
        self.barrier()
        batch = self._whole(units)
        doubtful = batch.places(np.flatnonzero(batch.classified.new & self._other_topology(batch)))
        if doubtful:
            topology = batch.topology
            batch, _ = self._with_states(units, self._look_up(set(doubtful)), set(_numbered(batch, batch.classified.new)))
            batch.topology = topology
        changed: dict[int, set[bytes]] = defaultdict(set)
        for unit, key in batch.places(np.flatnonzero(batch.classified.new)):
            changed[unit].add(key)
        sound = units[batch.sound].tolist()
        batch.scanned = {
            unit: [without_keys(page, changed[unit], cache.name) if changed[unit] else page for page in pages[unit]] for unit in sound
        }
        self._takes = []
        return [batch]

    def _check_same(self, cache: CachePlan) -> None:
        """Make sure that what was just read from a cache is of the one that is captured.

        One that is made again under its name has no other incarnation before the driver sees it and has it captured; then it is sent from
        its beginning, and what was sent of it under the old incarnation would come twice. A deployment id never comes back, and every node
        knows the new one before the new cache batches its first entry: so the answer holds for all that was read before.

        :raises CacheDestroyed: it may be of another cache.
        """
        if not cache.deployment:
            return
        found = {name: deployment for name, _, deployment, *_ in self.ask(lambda service: service.caches())}
        if found.get(cache.name) != cache.deployment:
            how = "destroyed and made again" if cache.name in found else "destroyed"
            raise CacheDestroyed(f"the cache was {how} while it was read", "Start again.", cache=cache.name)

    def _clear(self, units: Int64Array) -> None:
        """Take the marks of units away, and what the backlog has of them."""
        marks = np.array([self._again.pop(unit) for unit in units.tolist() if unit in self._again], np.int64)
        if marks.size:
            self.ask(lambda service: service.clear(self._plan.connector, self._table.units[units], marks))

    def committed(self, batch: ChangeBatch) -> None:
        """What a batch says of loads and sweeps is committed."""
        self._topology_of[batch.units] = batch.topology
        self._news[batch.units] = ~batch.settled
        for unit in batch.unloaded:
            self._loaded[unit] = False
        for unit in batch.scanned:
            self._owe(unit, self.owed(unit, loading=True))
            self._loaded[unit] = self._sent_before[unit] = True
            self.memory.loaded(unit, time.monotonic())
        if self._sweep is not None:
            self._sweep.leave(batch.unloaded | batch.scanned.keys())
        for unit, place in batch.swept.items():
            self._owe(unit, place)

    def _owe(self, unit: int, place: Place | None) -> None:
        if place is None:
            self._owed.pop(unit, None)
        else:
            self._owed[unit] = place

    def _next_load(self) -> Int64Array:
        """Units of one cache, the marked ones first."""
        waiting = np.array(sorted(self._again), np.int64)
        if not waiting.size:
            waiting = np.flatnonzero(~self._loaded & ~self._gone)
        if not waiting.size:
            return waiting
        of_cache = waiting[self._table.cache[waiting] == self._table.cache[waiting[0]]]
        return of_cache[: max(1, self._units_at_once())]

    def _units_at_once(self) -> int:
        """How many units make a batch, by what those that were loaded had."""
        if not self._unit_bytes:
            return _FIRST_LOAD if self._most_records is None else 1
        fitting = self._settings.batch_bytes / self._unit_bytes
        return int(fitting if self._most_records is None else min(fitting, self._most_records / max(0.01, self._unit_rows)))

    def _scan(self, cache: CachePlan, units: Int64Array) -> dict[int, list[Page]]:
        unit_of = {self._table.partition(unit): unit for unit in units.tolist()}
        pages: dict[int, list[Page]] = {unit: [] for unit in unit_of.values()}
        with closing(scan_partitions(self._cluster, self.info(cache), list(unit_of), page_bytes=self._settings.page_bytes)) as scan:
            for page in scan:
                pages[unit_of[page.partition]].append(page)
        every = [page for each in pages.values() for page in each]
        size, rows = max(1.0, sum(len(page.data) for page in every) / units.size), sum(page.rows for page in every) / units.size
        known = bool(self._unit_bytes)
        self._unit_bytes, self._unit_rows = ((self._unit_bytes + size) / 2, (self._unit_rows + rows) / 2) if known else (size, rows)
        return pages

    # what the topic has and the cache has not

    def sweep(self, *, ends: bool = False) -> Iterator[ChangeBatch]:
        """Read on in the topic of a cache whose units owe a sweep; when it is read, the tombstones of what is gone. Each batch is committed
        before the next one is made.

        :param ends: whether this task ends: what was found so far is sent, and the next task goes on from there.
        """
        if self._sweep is None and not ends:
            self._sweep = self._next_sweep()
        sweep = self._sweep
        if sweep is None:
            return
        if not ends:
            sweep.step()
        if not (ends or sweep.finished or sweep.full):
            return
        place = None if sweep.finished else sweep.place
        found, units = sweep.take(), sweep.units
        for at in range(0, units.size, _SWEPT_AT_ONCE):
            yield self._swept(sweep, units[at : at + _SWEPT_AT_ONCE], found, place)
        if ends or place is None:
            self._sweep = None
            sweep.close()

    def _swept(self, sweep: TopicSweep, units: Int64Array, found: Mapping[int, list[bytes]], place: Place | None) -> ChangeBatch:
        """Tombstones for the keys of some units that are gone indeed, unless a change of theirs says more."""
        states = self._look_up([(unit, key) for unit in units.tolist() for key in found.get(unit, ())])
        batch, _ = self._with_states(units, {place: None for place, value in states.items() if value is None}, set())
        unsound = units[~batch.sound].tolist()
        sweep.leave(unsound)  # gone, or sent again once more
        batch.swept = {unit: place for unit in units.tolist() if unit not in unsound}
        self._takes = []
        return batch

    def _next_sweep(self) -> TopicSweep | None:
        """Of a cache of which nothing is left to be loaded here."""
        if not self._owed:
            return None
        waiting = np.zeros(len(self._table.caches), bool)
        waiting[self._table.cache[(~self._loaded & ~self._gone) | np.isin(np.arange(len(self._table)), list(self._again))]] = True
        ready = [unit for unit in self._owed if not self._gone[unit] and not waiting[self._table.cache[unit]]]
        if not ready:
            return None
        cache = self._table.cache_of(min(ready))
        units = [unit for unit in ready if self._table.cache_of(unit) is cache]
        name, settings = cache.name, self._settings
        turned = converter(settings.value_converter, decimal_format=settings.decimal_format, enum_policy=settings.enum_policy)
        info = self.info(cache)
        keys = TopicKeys(
            turned,
            info,
            self._cluster,
            self.key_kinds[name] or declared_kinds(info),
            lambda wanted: self.ask(lambda service: service.locate(self._plan.connector, name, wanted)),
        )
        place = min(self._owed[unit] for unit in units)
        return TopicSweep(self._clients, self._topics, cache, {self._table.partition(unit): unit for unit in units}, place, keys)

    def close(self) -> None:
        """Leave the topics alone."""
        if self._sweep is not None:
            self._sweep.close()

    def acknowledge(self, sent: bytes) -> None:
        """What was committed leaves the backlog."""
        self.ask(lambda service: service.acknowledge(self._plan.connector, sent))

    def barrier(self) -> None:
        """All that was captured before stands in the backlog then."""
        self.ask(lambda service: service.barrier(self._plan.connector))

    def ask(self, question: Callable[[BacklogService], T]) -> T:
        """What the service answers; asked once more where a node goes away, for every call of it may be repeated."""
        secret = self._cluster.credentials.backlog_secret
        return self._cluster.ask(lambda connection: question(BacklogService(connection, secret)))


def _numbered(batch: ChangeBatch, which: Mask) -> list[tuple[int, bytes, int, int]]:
    """Unit, key, number and hash of some changes."""
    rows = np.flatnonzero(which)
    numbers, hashes = batch.changes.number[rows].tolist(), batch.changes.hash[rows].tolist()
    return [(*place, number, hashed) for place, number, hashed in zip(batch.places(rows), numbers, hashes, strict=True)]
