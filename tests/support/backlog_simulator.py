"""One cache, its backlog service and a topic in memory, for a stream's reader and sender; with the faults that may happen there.

A read repeats changes that are not acknowledged, a barrier empties the buffers, marked units are cleared.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from ignite_kafka.common.arrays import Int64Array
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.ignite.backlog_changes import EXPIRED, Changes
from ignite_kafka.ignite.backlog_units import UNIT, ChangedUnits, UnitStates
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, Page
from ignite_kafka.plan.slots import Owner, SlotState, kinds_of_keys
from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.source.stream.batch import page_of_states
from tests.support.backlog_changes import CACHE, PARTITIONS, SLOTS, Change, changes_of, partition_of
from tests.support.ignite_bytes import Types
from tests.support.simulated_cache import SimulatedCache, Unit


class Simulator(SimulatedCache):
    """The cache with its backlog service, and the topic with the offsets."""

    def __init__(self) -> None:
        super().__init__()
        self.topic: list[tuple[bytes, bytes | None]] = []
        self.offsets: dict[int, SlotState] = {slot: SlotState(slot, Owner(1)) for slot in range(SLOTS)}
        self.failing: set[str] = set()
        self.meanwhile: dict[str, list[Callable[[], None]]] = defaultdict(list)  # by call: each is run once, after an answer is made
        self.chunk, self.bytes_for_all = 3, 1 << 30  # changes of an answer; a read of fewer bytes gives no more
        self.key_kinds: set[tuple[int, ...]] = set()  # in place of those in the offsets
        self.types = Types()
        self.reads: list[list[int]] = []  # partitions of each read

    def binary_type(self, type_id: int) -> BinaryType:
        return self.types.binary_type(type_id)

    def read_kinds(self, _: str) -> set[tuple[int, ...]]:
        """Kinds of the keys that were sent."""
        return self.key_kinds or kinds_of_keys(unit for slot in self.offsets.values() for unit in slot.units.values())

    @property
    def plan(self) -> CachePlan:
        """The cache as the driver knows it."""
        return replace(CACHE, incarnation=str(self.incarnation), deployment=str(self.captured))

    # the service, as the reader calls it

    def changed(self, connector: str, place: bytes) -> ChangedUnits:
        known = (self.topology, self.journal)
        *seen, since = struct.unpack("<qqq", place) if place else (0, 0, 0)
        later = [(CACHE.cache_id, partition, self.incarnation) for partition, number in self._noted.items() if number > since]
        units = np.array(later, UNIT) if (*seen,) == known else None
        answer = ChangedUnits(self.topology, units, struct.pack("<qqq", *known, self._notes))
        self._go_on("changed")
        return answer

    def read(self, connector: str, units: np.ndarray[Any, Any], most_bytes: int) -> Changes:
        self.reads.append(units["partition"].tolist())
        found = [self.units[int(partition)] for partition in units["partition"]]
        answers = [self._first(unit, self.chunk if most_bytes < self.bytes_for_all else 1 << 30) for unit in found]
        stamps = [max(unit.expired.values(), default=0) if not more else 0 for unit, (_, more) in zip(found, answers, strict=True)]
        return replace(
            changes_of(self.topology, [rows for rows, _ in answers], [more for _, more in answers]),
            mark_number=np.array([unit.mark_number for unit in found], np.int64),
            expired_stamp=np.array(stamps, np.int64),
            marks=np.array([unit.marks for unit in found], np.int32),
        )

    def unit_states(self) -> UnitStates:
        none, marked = np.zeros(PARTITIONS, np.int64), [unit.marks for unit in self.units]
        units = np.array([(CACHE.cache_id, partition, self.incarnation) for partition in range(PARTITIONS)], UNIT)
        return UnitStates(units, none, none, none, none, np.array([unit.mark_number for unit in self.units]), np.array(marked, np.int32))

    @staticmethod
    def _first(unit: Unit, most: int) -> tuple[list[Change], bool]:
        rows = sorted(unit.backlog, key=lambda change: (change.number, change.hash))
        while most < len(rows) and rows[most].number == rows[most - 1].number:
            most += 1
        if most < len(rows):
            return rows[:most], True
        return rows + [Change(-1, key, None, EXPIRED) for key in sorted(unit.expired)], False

    def caches(self) -> list[tuple[str, int, str]]:
        return [(CACHE.name, CACHE.cache_id, str(self.deployment))]

    def status(self, connector: str) -> dict[str, Any]:
        return {"servers": list(self.servers)}

    def acknowledge(self, connector: str, sent: bytes) -> None:
        self.fail("acknowledge")
        at = 0
        while at < len(sent):
            _, partition, _, stamp, count, _ = struct.unpack_from("<iiqqii", sent, at)
            unit = self.units[partition]
            pairs = {struct.unpack_from("<qq", sent, at + 32 + 16 * row) for row in range(count)}
            unit.backlog = {change for change in unit.backlog if (change.number, change.hash) not in pairs}
            unit.expired = {key: since for key, since in unit.expired.items() if since > stamp}
            at += 32 + 16 * count

    def lookup(self, connector: str, cache: str, keys: Sequence[bytes]) -> list[bytes | None]:
        self.fail("lookup")
        found = [self.units[partition_of(key)].entries.get(key) for key in keys]
        self._go_on("lookup")
        return found

    def locate(self, connector: str, cache: str, keys: Sequence[bytes]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        places = [partition_of(key) for key in keys]
        there = [key in self.units[place].entries for key, place in zip(keys, places, strict=True)]
        return np.array(places, np.int32), np.array(there, bool)

    def barrier(self, connector: str) -> None:
        for partition in range(PARTITIONS):
            self.flush(partition)

    def clear(self, connector: str, units: np.ndarray[Any, Any], mark_number: Int64Array) -> None:
        for partition, number in zip(units["partition"].tolist(), mark_number.tolist(), strict=True):
            unit = self.units[partition]
            unit.primary.clear()
            unit.backup.clear()
            unit.backlog.clear()
            unit.expired.clear()
            if number == unit.mark_number:
                unit.marks = 0
        self.fail("clear")

    def _go_on(self, step: str) -> None:
        if self.meanwhile[step]:
            self.meanwhile[step].pop(0)()

    def scan(self, partition: int) -> list[tuple[bytes, bytes]]:
        self.fail("scan")
        rows = list(self.units[partition].entries.items())
        self._go_on("scan")
        return rows

    def scan_partitions(
        self, _cluster: Any, _info: CacheInfo, partitions: Sequence[int], *, page_bytes: int
    ) -> Generator[Page, None, None]:
        for partition in partitions:
            rows = self.scan(partition)
            yield Page(partition, len(rows), page_of_states(rows).data, True)

    def fail(self, step: str) -> None:
        """Fail once if the test named this step."""
        if step in self.failing:
            self.failing.remove(step)
            raise KafkaUnavailable(f"{step} fails")

    # the topic and the cluster, as the reader uses them

    credentials = SimpleNamespace(backlog_secret=None)

    def ask(self, question: Callable[[Any], Any]) -> Any:
        return question(self)

    def topic_partition(self, partition: int) -> list[tuple[bytes, bytes | None]]:
        """The records of a partition, which follows from a record's key."""
        return [(key, value) for key, value in self.topic if zlib.crc32(key) % 2 == partition]

    def cache(self, name: str) -> CacheInfo:
        return CacheInfo(name, CACHE.cache_id, PARTITIONS)

    # results

    @property
    def fold(self) -> dict[bytes, bytes]:
        state: dict[bytes, bytes] = {}
        for key, value in self.topic:
            if value is None:
                state.pop(key, None)
            else:
                state[key] = value
        return state

    def steps_back(self) -> list[str]:
        """Records behind a newer state of their key; undone states are left out."""
        found, at = [], defaultdict[bytes, int](lambda: -1)
        for key, value in self.topic:
            if (key, value) in self.undone:
                continue
            fitting = [version for version in self.removals[key] if version >= at[key]] if value is None else []
            version = min(fitting, default=-1) if value is None else int(struct.unpack_from("<i", value, 1)[0])
            if version < at[key]:
                found.append(f"{key!r}: {version} after {at[key]}")
            at[key] = max(version, at[key])
        return found

    def repeated(self) -> list[str]:
        """Records equal to their key's record before."""
        found, last = [], dict[bytes, bytes | None]()
        for place, (key, value) in enumerate(self.topic):
            if key in last and last[key] == value:
                found.append(f"{key!r} at {place}: {value!r}")
            last[key] = value
        return found
