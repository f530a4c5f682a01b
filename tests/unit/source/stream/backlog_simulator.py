"""One cache, its backlog and a topic in memory, for a stream's reader and sender; with the faults that may happen there.

The backlog follows the contract of `BacklogService`: a read repeats changes that are not acknowledged, a number may come late or twice with
two contents, another owner may put a change back, a barrier empties the buffers, marked units are cleared.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from confluent_kafka import KafkaError

from ignite_kafka.common.arrays import Int64Array
from ignite_kafka.errors import CacheDestroyed, KafkaUnavailable
from ignite_kafka.ignite.backlog_changes import CREATED, EXPIRED, REMOVED, Changes
from ignite_kafka.ignite.backlog_units import GIVEN_UP, UNIT, ChangedUnits, UnitStates
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, Page
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.records import Records
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.plan.slots import Owner, SlotState, UnitKey, UnitOffset, kinds_of_keys
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.runtime.counts import CacheCount
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_client import BacklogClient
from ignite_kafka.source.stream.backlog_reader import BacklogReader
from ignite_kafka.source.stream.batch import page_of_states
from ignite_kafka.source.stream.cache_infos import CacheInfos
from ignite_kafka.source.stream.rate_limit import RateLimiter
from ignite_kafka.source.stream.sender import SlotsSender
from ignite_kafka.source.stream.task import BatchRunner
from ignite_kafka.source.stream.topic_scan import MOST_HELD
from ignite_kafka.source.stream.unit_table import UnitTable
from ignite_kafka.state.slot_writer import SlotWriter
from tests.support.ignite_bytes import Types

PARTITIONS, SLOTS = 4, 2
CACHE = CachePlan("cache", 7, "topic", PARTITIONS, 2, "1")


def key_bytes(key: int) -> bytes:
    return struct.pack("<Bq", 4, key)


def value_bytes(value: int) -> bytes:
    return struct.pack("<Bi", 3, value)


def partition_of(key: bytes) -> int:
    return (int(struct.unpack_from("<q", key, 1)[0]) if key[0] == codes.LONG else zlib.crc32(key)) % PARTITIONS


@dataclass(frozen=True)
class Change:
    """One change in the backlog."""

    number: int
    key: bytes
    value: bytes | None
    kind: int = CREATED

    @property
    def hash(self) -> int:
        of_key = reduce(lambda hashed, byte: (hashed ^ byte) * 0x01000193 % (1 << 32), self.key, 0x811C9DC5)
        both = zlib.crc32(b"\0" if self.value is None else b"\1" + self.value, zlib.crc32(self.key))
        return (both << 32 | of_key) - (1 << 64 if both >> 31 else 0)


def changes_of(topology: int, units: Sequence[Sequence[Change]], more: Sequence[bool]) -> Changes:
    """An answer of the service, of units without marks."""
    rows = [change for unit in units for change in unit]
    entries = [len(page_of_states([(change.key, change.value)]).data) for change in rows]
    keys = [len(page_of_states([(change.key, None)]).data) - 1 for change in rows]
    return Changes(
        topology,
        np.zeros(len(units), np.int64),
        np.zeros(len(units), np.int64),
        np.array([len(unit) for unit in units], np.int32),
        np.zeros(len(units), np.int32),
        np.array(more, bool),
        np.array([change.number for change in rows], np.int64),
        np.zeros(len(rows), np.int64),
        np.array([change.hash for change in rows], np.int64),
        np.array([change.kind for change in rows], np.int8),
        np.array(keys, np.int32),
        np.array([entry - key for entry, key in zip(entries, keys, strict=True)], np.int32),
        page_of_states([(change.key, change.value) for change in rows]).data,
    )


@dataclass(eq=False)
class Unit:
    """One partition: its entries, its update counter, the changes that its owners buffer, and its backlog."""

    counter: int = 0
    entries: dict[bytes, bytes] = field(default_factory=dict)
    primary: list[Change] = field(default_factory=list)
    backup: list[Change] = field(default_factory=list)
    backlog: set[Change] = field(default_factory=set)
    expired: dict[bytes, int] = field(default_factory=dict)
    marks: int = 0
    mark_number: int = 0
    last: tuple[Change, bytes | None] | None = None

    @property
    def given_up(self) -> bool:
        return bool(self.marks & GIVEN_UP)


class Simulator:
    """The cache with its backlog service, the topic with the offsets, and the writers of both.

    Each write has a version that is higher than all before, and a value is its version. `undone` are writes that a dying primary alone had.
    """

    def __init__(self) -> None:
        self.units = [Unit() for _ in range(PARTITIONS)]
        self.servers = ["one", "two"]
        self.topology, self._stamp, self.now_s, self.versions = 1, 0, 1000.0, 0
        self.puts: dict[bytes, list[int]] = defaultdict(list)
        self.removals: dict[bytes, list[int]] = defaultdict(list)
        self.undone: set[tuple[bytes, bytes | None]] = set()
        self.held: dict[bytes, int] = {}  # key to the update number of an open transaction
        self.topic: list[tuple[bytes, bytes | None]] = []
        self.offsets: dict[int, SlotState] = {slot: SlotState(slot, Owner(1)) for slot in range(SLOTS)}
        self.failing: set[str] = set()
        self.meanwhile: dict[str, list[Callable[[], None]]] = defaultdict(list)  # by call: each is run once, after an answer is made
        self.chunk, self.bytes_for_all = 3, 1 << 30  # changes of an answer; a read of fewer bytes gives no more
        self.key_kinds: set[tuple[int, ...]] = set()  # in place of those in the offsets
        self.types = Types()
        self.key_of: Callable[[int], bytes] = key_bytes
        self.reads: list[list[int]] = []  # partitions of each read
        self.journal, self._noted, self._notes = 1, dict[int, int](), 0
        self.deployment, self.captured, self.incarnation = 1, 1, 1  # of the existing cache, of the captured one, and the latter's

    def binary_type(self, type_id: int) -> BinaryType:
        return self.types.binary_type(type_id)

    def read_kinds(self, _: str) -> set[tuple[int, ...]]:
        """Kinds of the keys that were sent."""
        return self.key_kinds or kinds_of_keys(unit for slot in self.offsets.values() for unit in slot.units.values())

    @property
    def plan(self) -> CachePlan:
        """The cache as the driver knows it."""
        return replace(CACHE, incarnation=str(self.incarnation), deployment=str(self.captured))

    # the writers of the cache

    def put(self, key: int) -> None:
        self._write(self.key_of(key), removal=False)

    def remove(self, key: int) -> None:
        self._write(self.key_of(key), removal=True)

    def begin(self, key: int) -> None:
        """Begin a transaction: it takes its update number, and locks its key, before it writes."""
        data = key_bytes(key)
        if data not in self.held:
            unit = self.units[partition_of(data)]
            unit.counter += 1
            self.held[data] = unit.counter

    def end(self, key: int) -> None:
        data = key_bytes(key)
        if data in self.held:
            self._apply(data, self.held.pop(data), self._next_version(), removal=False)

    def _write(self, key: bytes, removal: bool) -> None:
        unit = self.units[partition_of(key)]
        if key in self.held or (removal and key not in unit.entries):
            return
        unit.counter += 1
        self._apply(key, unit.counter, self._next_version(), removal)

    def _next_version(self) -> int:
        self.versions += 1
        return self.versions

    def _apply(self, key: bytes, number: int, version: int, removal: bool) -> None:
        unit = self.units[partition_of(key)]
        change = Change(number, key, None if removal else value_bytes(version), REMOVED if removal else CREATED)
        unit.last = change, unit.entries.get(key)
        self._remember(key, version, removal)
        if removal:
            unit.entries.pop(key, None)
        else:
            unit.entries[key] = value_bytes(version)
        if not unit.given_up and self.deployment == self.captured:
            unit.primary.append(change)
            unit.backup.append(change)

    def _remember(self, key: bytes, version: int, removal: bool) -> None:
        (self.removals if removal else self.puts)[key].append(version)

    def expire(self, key: int) -> None:
        """Expire a key; Ignite gives no update number."""
        data = key_bytes(key)
        unit = self.units[partition_of(data)]
        if data in unit.entries and data not in self.held:
            del unit.entries[data]
            unit.last = None
            self._remember(data, self._next_version(), removal=True)
            if not unit.given_up and self.deployment == self.captured:
                self._stamp += 1
                unit.expired[data] = self._stamp
                self._note(unit)

    def clear_cache(self) -> None:
        """`cache.clear()`: no change is captured."""
        for unit in self.units:
            for key in unit.entries:
                self._remember(key, self._next_version(), removal=True)
            unit.entries.clear()
            unit.last = None

    def remake(self, _: int = 0) -> None:
        """Destroy the cache and make it again; the new one is not captured before the driver sees it."""
        self.clear_cache()
        self.held.clear()
        for unit in self.units:
            unit.counter = 0
        self.deployment += 1

    def take_up(self) -> None:
        """Capture the existing cache, as the driver does; captured changes of a former one are dropped."""
        if self.captured == self.deployment:
            return
        self.captured, self.incarnation = self.deployment, self.incarnation + 1
        for unit in self.units:
            for held in (unit.primary, unit.backup, unit.backlog, unit.expired):
                held.clear()
            unit.marks = 0

    def later(self, seconds: float) -> None:
        """Let time pass, until every update is on its backups."""
        self.now_s += seconds
        for unit in self.units:
            unit.last = None

    def primary_dies(self, partition: int) -> bool:
        """Let a primary die after it wrote an update to the backlog that no backup has: the update is undone, its number is used again.

        :returns: whether the update was sent and acknowledged before.
        """
        unit, sent = self.units[partition], False
        unit.backlog.update(unit.primary)  # it dies before it notes this in its journal
        if unit.last is not None and unit.last[0].number == unit.counter:
            change, before = unit.last
            sent = change not in unit.backlog
            unit.counter -= 1
            unit.last = None
            self.undone.add((change.key, change.value))
            unit.backup = [one for one in unit.backup if one != change]
            if before is None:
                unit.entries.pop(change.key, None)
            else:
                unit.entries[change.key] = before
        unit.primary = list(unit.backup)
        self.node_dies()
        return sent

    def node_dies(self) -> None:
        """Let a node die, and start another one."""
        self.topology += 1
        self.servers = [*self.servers[1:], f"started-{self.topology}"]

    # the nodes

    def flush(self, partition: int) -> None:
        unit = self.units[partition]
        self._write_backlog(unit, unit.primary)

    def put_back(self, partition: int) -> None:
        """Write a backup's buffer to the backlog, though its changes may be sent and acknowledged."""
        unit = self.units[partition]
        self._write_backlog(unit, unit.backup)

    def put_through(self, key: int) -> None:
        """Put an entry, and write its change to the backlog at once."""
        self.put(key)
        self.flush(partition_of(key_bytes(key)))

    def _write_backlog(self, unit: Unit, held: list[Change]) -> None:
        if not unit.backlog.issuperset(held):
            unit.backlog.update(held)
            self._note(unit)
        held.clear()

    def _note(self, unit: Unit) -> None:
        self._notes += 1
        self._noted[self.units.index(unit)] = self._notes

    def new_journal(self, _: int) -> None:
        """Let the numbers of the node's journal begin anew."""
        self.journal, self._notes = self.journal + 1, 0
        self._noted.clear()

    def node_joins(self, _: int) -> None:
        self.topology += 1
        self.servers.append(f"joined-{self.topology}")

    def give_up(self, partition: int) -> None:
        unit = self.units[partition]
        unit.primary.clear()
        self._mark(unit, GIVEN_UP)

    def _mark(self, unit: Unit, bits: int) -> None:
        unit.marks |= bits
        unit.mark_number += 1
        self._note(unit)

    def mark_all(self, bits: int) -> None:
        for unit in self.units:
            self._mark(unit, bits)

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
    def entries(self) -> dict[bytes, bytes]:
        return {key: value for unit in self.units for key, value in unit.entries.items()}

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


class _Writer:
    """A slot's transactions."""

    def __init__(self, simulator: Simulator, slot: int) -> None:
        self._simulator, self._slot, self.state = simulator, slot, simulator.offsets[slot]
        self._data: list[tuple[bytes, bytes | None]] = []
        self._offsets: list[tuple[bytes, bytes]] = []
        self.types_sent: dict[int, Any] = {}
        self.uses_sent: dict[str, Any] = {}
        self.commit_requested = False

    def send_control(self, *_: object) -> None: ...

    def send(self, topic: str, partitions: int | None, records: Records, topic_id: str = "") -> None:
        self._data += zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True)

    def unit_offset(self, cache: str, partition: int, offset: UnitOffset) -> None:
        self._offsets.append((UnitKey("c", cache, partition).to_json(), offset.to_json()))

    def commit(self) -> None:
        self._simulator.fail(f"commit {self._slot}")
        self._simulator.topic += self._data
        for key, value in self._offsets:
            self.state.apply(key, value)
        self._data, self._offsets = [], []

    def close(self) -> None:
        pass


class _Message:
    def __init__(self, partition: int, offset: int, record: tuple[bytes, bytes | None] | None) -> None:
        self._place, self._record = (partition, offset), record

    def partition(self) -> int:
        return self._place[0]

    def offset(self) -> int:
        return self._place[1]

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._record is None else None

    def key(self) -> bytes | None:
        return self._record[0] if self._record else None

    def value(self) -> bytes | None:
        return self._record[1] if self._record else None


class _Consumer:
    """Reads two partitions, at most ten messages at a time."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator, self._at = simulator, (0, 0)

    def assign(self, places: Sequence[Any]) -> None:
        self._at = places[0].partition, places[0].offset

    def consume(self, count: int, timeout: float) -> list[_Message]:
        partition, offset = self._at
        records = self._simulator.topic_partition(partition)[offset : offset + 10]
        self._at = partition, offset + len(records)
        found = [_Message(partition, offset + row, record) for row, record in enumerate(records)]
        return found or [_Message(partition, offset, None)]

    def close(self) -> None:
        pass


class Task:
    """A stream's task, batch by batch; after a failure it continues from the offset records."""

    def __init__(self, simulator: Simulator, snapshot_id: str = "s", most_held: int = MOST_HELD, **settings: Any) -> None:
        self.simulator, self._most_held = simulator, most_held
        named = {
            "name": "c",
            "ignite_addresses": ("a:1",),
            "bootstrap_servers": "a:1",
            "value_converter": "ignite-binary",
            "key_converter": "ignite-binary",
        }
        made = SourceSettings(**{**named, "run_mode": "continuous", "process_removals": True, **settings})
        self.plan = TransferPlan("c", snapshot_id, 1, SLOTS, made, (simulator.plan,), capture_id=1)
        self.failures = 0
        self.begin()

    def begin(self) -> None:
        for unit in self.simulator.units:
            if unit.last is not None and unit.last[0] not in unit.backlog:
                unit.last = None  # updates that were sent before this task are on their backups by now
        simulator, cluster = self.simulator, cast(Cluster, self.simulator)
        self.plan = replace(self.plan, caches=(simulator.plan,))
        self.table = UnitTable.of(self.plan, range(SLOTS))
        self.counts = {slot: {CACHE.name: CacheCount()} for slot in range(SLOTS)}
        infos, limiter = CacheInfos(cluster), RateLimiter.of_task(self.plan.settings.max_records_per_second, SLOTS, SLOTS, 0.0)

        def open_slot(slot: int) -> SlotWriter:
            return cast(SlotWriter, _Writer(simulator, slot))

        self.sender = SlotsSender(self.plan, self.table, cluster, infos, self.counts, open_slot)
        self.reader = BacklogReader(
            self.plan,
            self.table,
            BacklogClient(cluster, "c", lambda connection, secret: connection),
            infos,
            cast(KafkaClients, SimpleNamespace(reader=lambda: _Consumer(simulator))),
            cast(Topics, SimpleNamespace(ends=lambda _, partitions: {one: len(simulator.topic_partition(one)) for one in partitions})),
            limiter.batch_records,
            scan=simulator.scan_partitions,
            clock=lambda: simulator.now_s,
            most_held=self._most_held,
            read_kinds=simulator.read_kinds,
        )
        self.reader.restore(self.sender.offsets())
        self.runner = BatchRunner(self.reader, self.sender, limiter)

    def end(self) -> None:
        """End the epoch, and begin the next one."""
        self._guarded(self._end)

    def _end(self) -> None:
        self.runner.reconcile(ends=True)
        self.stop()
        self.simulator.take_up()
        self.begin()

    def stop(self) -> None:
        self.reader.close()
        self.sender.close()

    def batch(self) -> None:
        self._guarded(self._batch)

    def _batch(self) -> None:
        self.runner.changes()
        self.runner.load()
        self.runner.reconcile()
        self.reader.forget()

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except KafkaUnavailable:
            self.failures += 1
            self.stop()
            self.begin()
        except CacheDestroyed:  # ends the epoch; the driver looks before the next one
            self.stop()
            self.simulator.take_up()
            self.begin()

    def settle(self) -> None:
        """Run batches until nothing is left to do, and the last look-up after a node's death is done."""
        self.simulator.failing.clear()
        for key in list(self.simulator.held):
            self.simulator.end(struct.unpack_from("<q", key, 1)[0])
        for more in range(6):
            if more == 4:
                self.simulator.meanwhile.clear()  # later writes would not be read any more
            self.simulator.now_s += 6.0
            if self.simulator.captured != self.simulator.deployment:
                self.end()
            self.simulator.barrier("c")
            for _ in range(100):
                self.batch()
                if not self.reader.more and self.reader.all_loaded and self._idle():
                    break
            else:
                raise AssertionError("the stream does not settle")

    def _idle(self) -> bool:
        return not any(unit.backlog or unit.expired or unit.marks for unit in self.simulator.units)
