"""Units, slots and the records of the offsets topic: pure functions.

A *unit* is (cache, Ignite partition). A *slot* owns one transactional id and one partition of the connector's offsets topic.
Record layout (one compacted topic a connector, partition = slot):

================================================ ===================================================================================
key (JSON)                                       value (JSON)
================================================ ===================================================================================
``["<connector>",{"slot":3}]``                   ``{"generation":7,"epoch":0,"attempt":0}``: the run, its epoch (of a stream), and its
                                                 task's attempt, that own the slot
``["<connector>",{"cache":"c","partition":12}]`` ``{"generation":7,"incarnation":"…","snapshot":…,"ranges":[]}``; the snapshot is
                                                 ``{"id":"…","done":true,"records":9}``, with ``"bad":1`` where entries were
                                                 passed over; ``"topic_id":"…"`` is that of the data topic; a stream adds
                                                 ``"recent"``, ``"key_kinds"``, ``"topology"`` and, while it owes a sweep,
                                                 ``"sweep":[0,0]``
================================================ ===================================================================================

The key of a unit is the layout of Kafka Connect's source offsets (KIP-98/KIP-875): ``[connector, source partition]``. Records of a sink are
in :mod:`~ignite_kafka.plan.sink_offsets`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from zlib import crc32

from ..errors import OffsetsLost
from .sink_offsets import PartitionKey, PartitionOffset


def slot_of(cache: str, partition: int, slots: int) -> int:
    """The slot of a unit: ``(crc32(cache name in UTF-8) + partition) mod slots``."""
    return (crc32(cache.encode()) + partition) % slots


def partitions_of_slot(cache: str, partitions: int, slot: int, slots: int) -> range:
    """The partitions of a cache that a slot owns, as an arithmetic range: no unit is ever listed one by one."""
    return range((slot - crc32(cache.encode())) % slots, partitions, slots)


@dataclass(frozen=True, slots=True)
class UnitOffset:
    """What is known of one unit: ``records`` were sent under ``snapshot_id``, and all update counters up to ``high``; -1: none.

    ``done`` is false between the decision to send a unit again and its load. ``recent`` are numbers and hashes of what was settled in the
    last seconds (:func:`packed`): the backlog may still have them after a crash, or have them again. ``sweep`` is a debt: the unit was
    sent again, and the topic may still hold keys that the cache no longer has, but none of topic partitions below the first number, nor of
    the partition with that number below the second, an offset; None: nothing. ``key_kinds`` are those of the keys sent of its cache.
    ``topology`` is that of the cluster when all that the backlog had of the unit was sent; -1: not known.
    ``bad`` entries of a snapshot were passed over, or are dead letters.
    ``topic_id`` is the id of the topic that holds the unit's records: an offset counts for that topic alone, not for another one that
    gets its name later. Empty: not known (0.1.0 wrote none).
    """

    generation: int
    incarnation: str
    snapshot_id: str | None = None
    done: bool = False
    records: int = 0
    high: int = -1
    recent: str = ""
    sweep: tuple[int, int] | None = None
    key_kinds: tuple[tuple[int, ...], ...] = ()
    topology: int = -1
    bad: int = 0
    topic_id: str = ""

    def to_json(self) -> bytes:
        snapshot = None if self.snapshot_id is None else {"id": self.snapshot_id, "done": self.done, "records": self.records}
        if snapshot is not None and self.bad:
            snapshot["bad"] = self.bad
        ranges = [(0, self.high)] if self.high >= 0 else []
        value = {"generation": self.generation, "incarnation": self.incarnation, "snapshot": snapshot, "ranges": ranges}
        if self.recent:
            value["recent"] = self.recent
        if self.sweep is not None:
            value["sweep"] = self.sweep
        if self.key_kinds:
            value["key_kinds"] = self.key_kinds
        if self.topology >= 0:
            value["topology"] = self.topology
        if self.topic_id:
            value["topic_id"] = self.topic_id
        return json.dumps(value, separators=(",", ":")).encode()

    @staticmethod
    def from_json(data: bytes) -> UnitOffset:
        value = json.loads(data)
        snapshot = value["snapshot"] or {"id": None, "done": False, "records": 0}
        high = value["ranges"][-1][1] if value["ranges"] else -1
        # a slot may hold a hundred thousand units of one snapshot: its texts are kept once
        incarnation, snapshot_id = sys.intern(value["incarnation"]), snapshot["id"] and sys.intern(snapshot["id"])
        counts = snapshot["done"], snapshot["records"]
        sweep = (value["sweep"][0], value["sweep"][1]) if "sweep" in value else None
        key_kinds, topology = tuple(map(tuple, value.get("key_kinds", ()))), value.get("topology", -1)
        recent, bad, topic_id = value.get("recent", ""), snapshot.get("bad", 0), sys.intern(value.get("topic_id", ""))
        return UnitOffset(value["generation"], incarnation, snapshot_id, *counts, high, recent, sweep, key_kinds, topology, bad, topic_id)


@dataclass(frozen=True)
class UnitKey:
    """The key of a unit's record."""

    connector: str
    cache: str
    partition: int

    def to_json(self) -> bytes:
        return json.dumps([self.connector, {"cache": self.cache, "partition": self.partition}], separators=(",", ":")).encode()


@dataclass(frozen=True)
class SlotKey:
    """The key of a slot's generation record."""

    connector: str
    slot: int

    def to_json(self) -> bytes:
        return json.dumps([self.connector, {"slot": self.slot}], separators=(",", ":")).encode()


@dataclass(frozen=True, order=True)
class Owner:
    """Who owns a slot: a later generation before an earlier one, in it a later epoch of a stream, in that a later attempt of the task."""

    generation: int = 0
    epoch: int = field(default=0, kw_only=True)
    attempt: int = field(default=0, kw_only=True)

    def to_json(self) -> bytes:
        value = {"generation": self.generation, "epoch": self.epoch, "attempt": self.attempt}
        return json.dumps(value, separators=(",", ":")).encode()

    @staticmethod
    def from_json(data: bytes) -> Owner:
        value = json.loads(data)
        return Owner(value["generation"], epoch=value.get("epoch", 0), attempt=value["attempt"])


def parse_key(data: bytes) -> UnitKey | SlotKey | PartitionKey:
    """The key of an offsets record.

    :raises OffsetsLost: the bytes are not a key of this layout.
    """
    try:
        connector, place = json.loads(data)
        if "kafka_topic" in place:
            return PartitionKey(connector, place["kafka_topic"], place["kafka_partition"])
        return SlotKey(connector, place["slot"]) if "slot" in place else UnitKey(connector, place["cache"], place["partition"])
    except (ValueError, KeyError, TypeError) as cause:
        raise OffsetsLost(f"a key of the offsets topic cannot be read: {data!r}", "Was the topic written by another program?") from cause


@dataclass
class SlotState:
    """One slot's offsets, folded from its records in the order of the topic (the last record of a key counts).

    Those of a source stand in ``by_cache``, those of a sink in ``by_topic``; ``unreadable`` are units whose record cannot be read.
    """

    slot: int
    owner: Owner = Owner()
    by_cache: dict[str, dict[int, UnitOffset]] = field(default_factory=dict)
    by_topic: dict[tuple[str, int], PartitionOffset] = field(default_factory=dict)
    unreadable: set[tuple[str, int]] = field(default_factory=set)

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Fold one record in; a null value forgets the unit (an offset that was reset).

        :raises OffsetsLost: key or value are of another form; of a unit whose value is that, :meth:`check` raises it.
        """
        parsed = parse_key(key)
        try:
            self._apply(parsed, value)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as cause:
            if not isinstance(parsed, UnitKey):
                raise OffsetsLost(f"a value of the offsets topic cannot be read: {value!r}") from cause
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
        """
        :raises OffsetsLost: what was sent of a unit cannot be read.
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
        """Every unit by cache and partition."""
        return {(cache, partition): unit for cache, units in self.by_cache.items() for partition, unit in units.items()}

    def done(self, snapshot_id: str, cache: str, incarnation: str) -> dict[int, UnitOffset]:
        """Partitions of a cache that are done under a snapshot id."""
        return {
            partition: unit
            for partition, unit in self.by_cache.get(cache, {}).items()
            if unit.done and unit.snapshot_id == snapshot_id and unit.incarnation == incarnation
        }

    def high(self, cache: str, partition: int) -> int:
        """The highest update counter sent of a unit; -1: none."""
        unit = self.by_cache.get(cache, {}).get(partition)
        return unit.high if unit else -1


def slots_of_tasks(slots: int, tasks: int) -> tuple[tuple[int, ...], ...]:
    """Whole slots dealt to tasks as evenly as can be; never more tasks than slots."""
    tasks = max(1, min(tasks, slots))
    return tuple(tuple(range(task, slots, tasks)) for task in range(tasks))
