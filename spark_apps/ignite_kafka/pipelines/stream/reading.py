"""The reader of a stream: from the backlog and the cache to takes that may be sent.

What the backlog holds is a to-do list: it is read, judged (:mod:`.unit_memory`), and acknowledged once it is committed. Where a change
alone cannot tell the state of its key, the key is looked up on its primary node: look up, barrier, read once more; a key that has a newer
change by then needs no look-up. A unit is loaded in the same way: scan it, barrier, read its changes; a key that has one is not sent as
scanned.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import TypeVar

import numpy as np

from ...errors import CacheDestroyed
from ...offsets import UnitOffset
from ...plan import CachePlan, TransferPlan
from ...thin.cluster import Cluster
from ...thin.model import CacheInfo, Page
from ...thin.scan import scan_partitions
from ...thin.service import EXPIRED, GONE, BacklogService, Changes
from .epoch import Unit
from .take import Key, Take, without_keys
from .unit_memory import Longs, UnitMemory, hash_of
from .unit_table import UnitTable

_WHOLE_BACKLOG = 1 << 30  # bytes: all that some units have
_FIRST_LOAD = 4  # units loaded at once before their size is known
_DEAD_NODE_S = 5.0  # a node that died may have written changes of the last seconds that no other node has

T = TypeVar("T")


class BacklogReader:
    """Reads the units of one task. For one thread; after any error it is thrown away, and the offsets tell where to begin."""

    def __init__(self, plan: TransferPlan, table: UnitTable, cluster: Cluster) -> None:
        self._plan, self._settings, self._table, self._cluster = plan, plan.settings, table, cluster
        self.memory = UnitMemory(len(table))
        self._loaded = np.zeros(len(table), bool)
        self._gone = np.zeros(len(table), bool)
        self._again: dict[int, int] = {}  # marked unit to the number of its mark
        self._unit_bytes: float | None = None
        self._infos: dict[int, CacheInfo] = {}
        self._topology: int | None = None
        self._look_again_s: list[float] = []
        self._takes: list[Take] = []
        self._limits: Longs | None = None

    def restore(self, unit: int, offset: UnitOffset | None) -> None:
        """Take over what the offsets tell of a unit."""
        cache = self._table.cache_of(unit)
        if offset is not None and (offset.incarnation, offset.snapshot_id) == (cache.incarnation, self._plan.snapshot_id):
            self.memory.restore(unit, offset, time.monotonic())
            self._loaded[unit] = offset.done
        self._loaded[unit] |= not cache.load

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

    def changes(self) -> list[Take]:
        """What one read gives of the units that are loaded."""
        ready = self._loaded & ~self._gone
        ready[list(self._again)] = False
        units = np.flatnonzero(ready)
        take = self._judged(units, self._read_backlog(units, self._settings.batch_bytes))
        self._takes = [take, *self._settled(take)]
        return self._takes

    @property
    def all_loaded(self) -> bool:
        """Whether nothing is left to be sent from the cache."""
        return not self._next_load().size

    @property
    def more(self) -> bool:
        """Whether there is something to do at once."""
        return not self.all_loaded or any(bool(take.changes.more.any()) for take in self._takes)

    def caught_up(self, until: Mapping[Unit, int]) -> bool:
        """Whether all is loaded, and the last takes, which are committed, left nothing of what stood in the backlog when the run began.

        :param until: the highest numbers of then.
        """
        if not self._takes or self._next_load().size:
            return False
        if self._limits is None:
            places = self._table.units[["cache_id", "partition"]].tolist()
            self._limits = np.array([until.get(place, -1) for place in places], np.int64)
        return not any(take.leaves(self._limits, self._gone) for take in self._takes)

    def _read_backlog(self, units: Longs, most_bytes: int) -> Changes:
        return self.ask(lambda service: service.read(self._plan.connector, self._table.units[units], most_bytes))

    def _judged(self, units: Longs, changes: Changes) -> Take:
        """An answer with what may be sent of it: nothing of units that are marked, for they are sent again, or gone."""
        for position in np.flatnonzero(changes.marks).tolist():
            unit = int(units[position])
            if changes.marks[position] & GONE:
                self._gone[unit] = True
            else:
                self._again[unit] = int(changes.mark_number[position])
        verdict = self.memory.judge(units, changes).only(np.repeat(changes.marks == 0, changes.count))
        return Take(changes, units, verdict, verdict.send | verdict.known, np.zeros(units.size, bool))

    def _settled(self, take: Take) -> list[Take]:
        """Look up what the changes alone cannot tell; the units concerned leave the take and come in one of their own."""
        asked = set(take.places(np.flatnonzero(take.verdict.ask))) | self._of_dead_nodes(take.changes.topology)
        if not asked:
            return []
        states = self._look_up(asked)
        self.barrier()
        units = np.array(sorted({unit for unit, _ in asked}), np.int64)
        before = _numbered(take)
        take.leave(units)
        again = self._judged(units, self._read_backlog(units, _WHOLE_BACKLOG))
        newer = {(unit, key) for unit, key, _, _ in _numbered(again) - before}
        last = self.memory.last_sent(units.tolist())
        for place in again.places(np.flatnonzero(again.verdict.send)):
            last.pop(place, None)  # what is sent last is in this take
        marked = set(units[again.changes.marks != 0].tolist())
        again.states = {
            place: value
            for place, value in states.items()
            if place not in newer and place[0] not in marked and last.get(place) != hash_of(place[1], value)
        }
        self._close_questions(again, states)
        return [again]

    def _close_questions(self, take: Take, states: Mapping[Key, bytes | None]) -> None:
        """Rows whose keys were looked up are settled; the expired keys of a unit only all together."""
        rows = np.flatnonzero(take.verdict.ask)
        take.done[rows] = [place in states for place in take.places(rows)]
        expired = take.changes.kind == EXPIRED
        take.stamps = (take.changes.marks == 0) & ~np.isin(take.units, take.verdict.unit[expired & ~take.done])

    def _of_dead_nodes(self, topology: int) -> set[Key]:
        """Keys of the last seconds when the topology has changed, at once and a little later."""
        now = time.monotonic()
        if self._topology not in (None, topology):
            self._look_again_s = [now, now + _DEAD_NODE_S]
        self._topology = topology
        due = any(at <= now for at in self._look_again_s)
        self._look_again_s = [at for at in self._look_again_s if at > now]
        return {place for place in self.memory.sent_since(now - 2 * _DEAD_NODE_S) if not self._gone[place[0]]} if due else set()

    def _look_up(self, keys: Iterable[Key]) -> dict[Key, bytes | None]:
        by_cache: dict[CachePlan, list[Key]] = defaultdict(list)
        for place in sorted(keys):
            by_cache[self._table.cache_of(place[0])].append(place)
        states: dict[Key, bytes | None] = {}
        for cache, places in by_cache.items():
            wanted = [key for _, key in places]
            name = cache.name
            values = self.ask(lambda service, name=name, wanted=wanted: service.lookup(self._plan.connector, name, wanted))  # type: ignore[misc]
            states |= zip(places, values, strict=True)
        return states

    # what was there before

    def load(self) -> list[Take]:
        """The next units that are to be sent from the cache, about ``batch_bytes`` of them; none when there are none."""
        units = self._next_load()
        if not units.size:
            return []
        marks = [self._again.pop(unit) for unit in units.tolist() if unit in self._again]
        if marks:
            self.ask(lambda service: service.clear(self._plan.connector, self._table.units[units], np.array(marks, np.int64)))
        cache = self._table.cache_of(int(units[0]))
        pages = self._scan(cache, units)
        self.barrier()
        take = self._judged(units, self._read_backlog(units, _WHOLE_BACKLOG))
        changed: dict[int, set[bytes]] = defaultdict(set)
        for unit, key in take.places(np.flatnonzero(take.verdict.send)):
            changed[unit].add(key)
        sound = units[take.changes.marks == 0].tolist()
        take.scanned = {
            unit: [without_keys(page, changed[unit], cache.name) if changed[unit] else page for page in pages[unit]] for unit in sound
        }
        self._takes = []
        return [take]

    def loaded(self, take: Take) -> None:
        """The units that a take loads are committed."""
        for unit in take.scanned:
            self._loaded[unit] = True
            self.memory.loaded(unit, time.monotonic())

    def _next_load(self) -> Longs:
        """Units of one cache, the marked ones first."""
        waiting = np.array(sorted(self._again), np.int64)
        if not waiting.size:
            waiting = np.flatnonzero(~self._loaded & ~self._gone)
        if not waiting.size:
            return waiting
        of_cache = waiting[self._table.cache[waiting] == self._table.cache[waiting[0]]]
        return of_cache[: _FIRST_LOAD if self._unit_bytes is None else max(1, int(self._settings.batch_bytes / max(1.0, self._unit_bytes)))]

    def _scan(self, cache: CachePlan, units: Longs) -> dict[int, list[Page]]:
        unit_of = {self._table.partition(unit): unit for unit in units.tolist()}
        pages: dict[int, list[Page]] = {unit: [] for unit in unit_of.values()}
        with closing(scan_partitions(self._cluster, self.info(cache), list(unit_of), page_bytes=self._settings.page_bytes)) as scan:
            for page in scan:
                pages[unit_of[page.partition]].append(page)
        mean = sum(len(page.data) for each in pages.values() for page in each) / units.size
        self._unit_bytes = mean if self._unit_bytes is None else (self._unit_bytes + mean) / 2
        return pages

    def acknowledge(self, sent: bytes) -> None:
        """What was committed leaves the backlog."""
        self.ask(lambda service: service.acknowledge(self._plan.connector, sent))

    def barrier(self) -> None:
        """All that was captured before stands in the backlog then."""
        self.ask(lambda service: service.barrier(self._plan.connector))

    def ask(self, question: Callable[[BacklogService], T]) -> T:
        """What the service answers; asked once more where a node goes away, for every call of it may be repeated."""
        return self._cluster.ask(lambda connection: question(BacklogService(connection)))


def _numbered(take: Take) -> set[tuple[int, bytes, int, int]]:
    """Unit, key, number and hash of the changes that are to be sent."""
    rows = np.flatnonzero(take.verdict.send)
    numbers, hashes = take.changes.number[rows].tolist(), take.changes.hash[rows].tolist()
    return {(*place, number, hashed) for place, number, hashed in zip(take.places(rows), numbers, hashes, strict=True)}
