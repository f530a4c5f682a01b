"""Assignment of cache partitions to slots, and the record layout of a connector's offsets topic.

Pure functions. A *unit* is a cache partition: (cache, Ignite partition). A *slot* owns one transactional id and one
partition of the connector's offsets topic. Record layout (one compacted topic per connector, partition = slot):

================================================ =======================================================================
key (JSON)                                       value (JSON)
================================================ =======================================================================
``["<connector>",{"slot":3}]``                   ``{"generation":7,"epoch":0,"attempt":0}``: run, epoch of a stream and
                                                 attempt of the task that own the slot
``["<connector>",{"cache":"c","partition":12}]`` ``{"generation":7,"incarnation":"…","snapshot":…,"ranges":[]}``; the
                                                 snapshot is ``{"id":"…","done":true,"records":9}``, with ``"bad":1`` if
                                                 entries were skipped; ``"topic_id":"…"`` is that of the data topic,
                                                 ``"key_kinds"`` those of the cache's keys; a stream adds ``"recent"``,
                                                 ``"topology"`` and, until the unit is reconciled, ``"sweep":[0,0]``
================================================ =======================================================================

The key of a unit is the layout of Kafka Connect's source offsets (KIP-98/KIP-875): ``[connector, source partition]``.
Records of a sink are in :mod:`~ignite_kafka.plan.sink_offsets`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

from ..common.typed_json import array, boolean, dumps, integer, json_object, loads, text
from ..errors import OffsetsLost
from ..ignite.types.key_kind import UNKNOWN_KIND, KeyKind
from .sink_offsets import PartitionKey, PartitionOffset

_SHOWN_BYTES = 200  # of a record that cannot be read
_MOST_NUMBER = (1 << 31) - 1


def slot_of(cache: str, partition: int, slots: int) -> int:
    """Return the number of the slot that copies a cache partition.

    It is ``(crc32(cache name in UTF-8) + partition) mod slots``.
    """
    return (crc32(cache.encode()) + partition) % slots


def partitions_of_slot(cache: str, partitions: int, slot: int, slots: int) -> range:
    """Return the cache partitions that a slot copies, as a range to save memory."""
    return range((slot - crc32(cache.encode())) % slots, partitions, slots)


@dataclass(frozen=True, slots=True)
class UnitOffset:
    """Progress of a snapshot or stream for one cache partition, stored as its offset.

    ``records`` were sent under ``snapshot_id``, and all update counters up to ``high``; -1: none.

    :param done: false from the decision to send a unit again until it is loaded.
    :param recent: numbers and hashes of changes settled in the last seconds, packed; the backlog may hold them again
        after a crash.
    :param reconcile: position (topic partition, offset) of a pending reconciliation; None: none is pending. The unit
        was sent again, and from this position on the topic may hold keys that the cache no longer has.
    :param key_kinds: kinds of the keys sent of the cache.
    :param topology: topology version at which everything the backlog held for the unit was sent; -1: unknown.
    :param bad: entries of a snapshot that were skipped or became dead letters.
    :param topic_id: id of the topic that holds the unit's records; the offset is void for a new topic of that name.
        Empty: unknown (0.1.0 wrote none).
    :param dropped: entries of a snapshot that transforms dropped.
    :param dead_letters: entries of a snapshot that became dead letters.
    :param signal: last ad-hoc snapshot of the unit: the signal's identity, and its records; None: there was none.
    """

    generation: int
    incarnation: str
    snapshot_id: str | None = None
    done: bool = False
    records: int = 0
    high: int = -1
    recent: str = ""
    reconcile: tuple[int, int] | None = None
    key_kinds: tuple[KeyKind, ...] = ()
    topology: int = -1
    bad: int = 0
    topic_id: str = ""
    dropped: int = 0
    dead_letters: int = 0
    signal: tuple[str, int] | None = None

    def to_json(self) -> bytes:
        """Encode the record's value as JSON."""
        snapshot = (
            None if self.snapshot_id is None else {"id": self.snapshot_id, "done": self.done, "records": self.records}
        )
        if snapshot is not None and self.bad:
            snapshot["bad"] = self.bad
        if snapshot is not None and self.dropped:
            snapshot["dropped"] = self.dropped
        if snapshot is not None and self.dead_letters:
            snapshot["dead_letters"] = self.dead_letters
        ranges = [(0, self.high)] if self.high >= 0 else []
        value = {"generation": self.generation, "incarnation": self.incarnation, "snapshot": snapshot, "ranges": ranges}
        if self.recent:
            value["recent"] = self.recent
        if self.reconcile is not None:
            value["sweep"] = self.reconcile
        if self.key_kinds:
            value["key_kinds"] = self.key_kinds
        if self.topology >= 0:
            value["topology"] = self.topology
        if self.topic_id:
            value["topic_id"] = self.topic_id
        if self.signal is not None:
            value["signal"] = self.signal
        return dumps(value)

    @staticmethod
    def from_json(data: bytes) -> UnitOffset:
        """Parse the JSON of a record's value, as written by :meth:`to_json`.

        :raises ValueError: the record has another form.
        """
        value = json_object(loads(data))
        snapshot = json_object(value.get("snapshot") or _NO_SNAPSHOT)
        ranges = array(value.get("ranges"))
        high = integer(_pair(ranges[-1])[1]) if ranges else -1
        # a slot may hold a hundred thousand units of one snapshot, so equal texts share memory
        incarnation = sys.intern(text(value.get("incarnation")))
        snapshot_id = snapshot.get("id")
        return UnitOffset(
            integer(value.get("generation")),
            incarnation,
            None if snapshot_id is None else sys.intern(text(snapshot_id)),
            boolean(snapshot.get("done")),
            _count(snapshot.get("records")),
            high,
            text(value.get("recent", "")),
            _position(value["sweep"]) if "sweep" in value else None,
            tuple(tuple(map(integer, array(kind))) for kind in array(value.get("key_kinds", []))),
            integer(value.get("topology", -1)),
            _count(snapshot.get("bad", 0)),
            sys.intern(text(value.get("topic_id", ""))),
            _count(snapshot.get("dropped", 0)),
            _count(snapshot.get("dead_letters", 0)),
            _signal(value["signal"]) if "signal" in value else None,
        )


_NO_SNAPSHOT = {"id": None, "done": False, "records": 0}
_MOST_COUNT = 1 << 40  # entries of a unit; the sum of many units is written into a status, whose numbers have 64 bits


def _count(value: object) -> int:
    return integer(value, 0, _MOST_COUNT)


def _pair(value: object) -> list[object]:
    items = array(value)
    if len(items) != 2:
        raise ValueError("it is no pair")
    return items


def _position(value: object) -> tuple[int, int]:
    partition, offset = _pair(value)
    return integer(partition), integer(offset)


def _signal(value: object) -> tuple[str, int]:
    id, records = _pair(value)
    return sys.intern(text(id)), _count(records)


def kinds_of_keys(offsets: Iterable[UnitOffset]) -> set[KeyKind]:
    """Return how Ignite marshalled the keys sent from a cache, from the offsets of its cache partitions.

    The unknown kind is among them if a unit has records without noted kinds.
    """
    kinds: set[KeyKind] = set()
    for offset in offsets:
        kinds.update(offset.key_kinds or ([UNKNOWN_KIND] if offset.records else []))
    return kinds


@dataclass(frozen=True)
class UnitKey:
    """Key of the record with a cache partition's offset in the offsets topic."""

    connector: str
    cache: str
    partition: int

    def to_json(self) -> bytes:
        """Encode the record's key as JSON."""
        return dumps([self.connector, {"cache": self.cache, "partition": self.partition}])


@dataclass(frozen=True)
class SlotKey:
    """Key of the record in the offsets topic that names the run owning a slot."""

    connector: str
    slot: int

    def to_json(self) -> bytes:
        """Encode the record's key as JSON."""
        return dumps([self.connector, {"slot": self.slot}])


@dataclass(frozen=True, order=True)
class Owner:
    """Run, epoch and attempt that own a slot; a later owner compares as greater.

    The order is by generation of the run, then epoch of a stream, then attempt of the task.
    """

    generation: int = 0
    epoch: int = field(default=0, kw_only=True)
    attempt: int = field(default=0, kw_only=True)

    def to_json(self) -> bytes:
        """Encode the record's value as JSON."""
        value = {"generation": self.generation, "epoch": self.epoch, "attempt": self.attempt}
        return dumps(value)

    @staticmethod
    def from_json(data: bytes) -> Owner:
        """Parse the JSON of a record's value, as written by :meth:`to_json`.

        :raises ValueError: the record has another form.
        """
        value = json_object(loads(data))
        return Owner(
            integer(value.get("generation")),
            epoch=integer(value.get("epoch", 0)),
            attempt=integer(value.get("attempt")),
        )


def parse_key(data: bytes) -> UnitKey | SlotKey | PartitionKey:
    """Parse the key of a record in the offsets topic.

    :raises OffsetsLost: the bytes are no key of this layout.
    """
    try:
        first, second = array(loads(data))
        connector = text(first)
        source = json_object(second)
        if "kafka_topic" in source:
            return PartitionKey(connector, text(source["kafka_topic"]), _number(source.get("kafka_partition")))
        if "slot" in source:
            return SlotKey(connector, _number(source["slot"]))
        return UnitKey(connector, text(source.get("cache")), _number(source.get("partition")))
    except ValueError as cause:
        what = f"a key of the offsets topic cannot be read: {data[:_SHOWN_BYTES]!r}"
        raise OffsetsLost(what, "Was the topic written by another program?") from cause


def _number(value: object) -> int:
    """Check and return the number of a slot or partition."""
    return integer(value, 0, _MOST_NUMBER)


@dataclass
class SlotState:
    """State of a slot, built from its records in the offsets topic; the last record of each key counts.

    :param by_cache: offsets of a source, by cache and partition.
    :param by_topic: offsets of a sink, by topic partition.
    :param unreadable: units whose record cannot be read.
    """

    slot: int
    owner: Owner = Owner()
    by_cache: dict[str, dict[int, UnitOffset]] = field(default_factory=dict)
    by_topic: dict[tuple[str, int], PartitionOffset] = field(default_factory=dict)
    unreadable: set[tuple[str, int]] = field(default_factory=set)

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Update the state by a record; a null value removes an offset, because it was reset.

        :raises OffsetsLost: key or value have another form; for a unit's value :meth:`check` raises the error instead.
        """
        parsed = parse_key(key)
        try:
            self._apply(parsed, value)
        except ValueError as cause:
            if not isinstance(parsed, UnitKey):
                raise OffsetsLost(
                    f"a value of the offsets topic cannot be read: {(value or b'')[:_SHOWN_BYTES]!r}"
                ) from cause
            self.by_cache.get(parsed.cache, {}).pop(parsed.partition, None)
            self.unreadable.add((parsed.cache, parsed.partition))

    def _apply(self, parsed: UnitKey | SlotKey | PartitionKey, value: bytes | None) -> None:
        if isinstance(parsed, SlotKey):
            self.owner = max(self.owner, Owner() if value is None else Owner.from_json(value))
        elif isinstance(parsed, PartitionKey):
            if value is None:
                self.by_topic.pop((parsed.topic, parsed.partition), None)
            else:
                self.by_topic[parsed.topic, parsed.partition] = PartitionOffset.from_json(value)
        else:
            unit = None if value is None else UnitOffset.from_json(value)
            self.unreadable.discard((parsed.cache, parsed.partition))
            if unit is None:
                self.by_cache.get(parsed.cache, {}).pop(parsed.partition, None)
            else:
                self.by_cache.setdefault(parsed.cache, {})[parsed.partition] = unit

    def check(self, connector: str) -> None:
        """Check that the offset of every cache partition could be read.

        :raises OffsetsLost: the record of a unit cannot be read.
        """
        for cache, partition in sorted(self.unreadable):
            command = f"ignite-kafka offsets reset {connector} --cache {cache} --partition {partition}"
            raise OffsetsLost(
                "the offset of a unit cannot be read: another program has written to the offsets topic",
                f"`{command}` forgets it, and the next start sends the unit again.",
                connector=connector,
                cache=cache,
                partition=partition,
            )

    @property
    def units(self) -> dict[tuple[str, int], UnitOffset]:
        """Offsets of all cache partitions in the slot, by cache and partition number."""
        return {(cache, partition): unit for cache, units in self.by_cache.items() for partition, unit in units.items()}

    def done(self, snapshot_id: str, cache: str, incarnation: str) -> dict[int, UnitOffset]:
        """Return the offsets of the cache partitions that a snapshot has finished for a cache."""
        return {
            partition: unit
            for partition, unit in self.by_cache.get(cache, {}).items()
            if unit.done and unit.snapshot_id == snapshot_id and unit.incarnation == incarnation
        }

    def high(self, cache: str, partition: int) -> int:
        """Return the highest update counter sent for a cache partition; -1 if none was sent."""
        unit = self.by_cache.get(cache, {}).get(partition)
        return unit.high if unit else -1


def slots_of_tasks(slots: int, tasks: int) -> tuple[tuple[int, ...], ...]:
    """Distribute slots evenly over tasks; the result has at most as many tasks as slots."""
    tasks = max(1, min(tasks, slots))
    return tuple(tuple(range(task, slots, tasks)) for task in range(tasks))
