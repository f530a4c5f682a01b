"""A cache in memory: its writers, and the nodes that write its changes to the backlog.

The nodes follow the contract of `BacklogService`: a number may come late or twice with two contents, another owner may put a change back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from ignite_kafka.ignite.backlog_changes import CREATED, REMOVED
from ignite_kafka.ignite.backlog_units import GIVEN_UP
from tests.support.backlog_changes import PARTITIONS, Change, key_bytes, partition_of, value_bytes


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


class SimulatedCache:
    """The cache, the buffers and backlogs of its partitions, and the journal of changed partitions.

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
        self.key_of: Callable[[int], bytes] = key_bytes
        self.journal, self._noted, self._notes = 1, dict[int, int](), 0
        self.deployment, self.captured, self.incarnation = 1, 1, 1  # of the existing cache, of the captured one, and the latter's

    @property
    def entries(self) -> dict[bytes, bytes]:
        return {key: value for unit in self.units for key, value in unit.entries.items()}

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

    def primary_dies_unacknowledged(self, partition: int) -> None:
        """As :meth:`primary_dies`, if the last update is still in the backlog; its record may have been sent."""
        unit = self.units[partition]
        if unit.last is not None and unit.last[0] in {*unit.primary, *unit.backlog}:
            self.primary_dies(partition)

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
