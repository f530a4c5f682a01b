"""Compares a snapshot's topic with its cache: every key exactly once and equal to its entry, no half unit, offsets that match the data.

Independent of the code under test: it reads with a plain read_committed consumer and parses the documented record layouts itself.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from confluent_kafka import OFFSET_INVALID, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from ignite_kafka.common.deadline import Deadline
from tests.support.waiting import DEADLINE_S, REQUEST_S, wait_until

_SHOWN = 5


@dataclass(frozen=True)
class TopicRecord:
    """One visible record."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def place(self) -> str:
        return f"{self.partition}@{self.offset}"


@dataclass(frozen=True)
class TopicContents:
    """All records of a topic that a read_committed consumer sees, in the order of each partition.

    ``open_partitions``: those where a transaction is still open or not yet settled, so that the visible end is before the real one.
    """

    topic: str
    records: tuple[TopicRecord, ...]
    open_partitions: frozenset[int]

    def counts(self) -> Counter[bytes | None]:
        return Counter(record.key for record in self.records)


# a broker has just started, or become the leader, and its metadata is behind
_NOT_NOW = (
    KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.FENCED_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,  # a new topic, by a broker that does not know it yet
)  # fmt: skip


def ends(bootstrap: str | Mapping[str, Any], topic: str) -> dict[int, tuple[int, int]]:
    """Last stable offset and high watermark of each partition."""
    admin = AdminClient(_client(bootstrap))
    partitions = admin.list_topics(topic, timeout=REQUEST_S).topics[topic].partitions
    found: list[dict[int, int]] = []
    for isolation in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
        wanted = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in partitions}
        futures = admin.list_offsets(wanted, isolation_level=isolation, request_timeout=REQUEST_S)
        found.append({place.partition: future.result().offset for place, future in futures.items()})
    return {partition: (found[0][partition], found[1][partition]) for partition in partitions}


def read_committed(bootstrap: str | Mapping[str, Any], topic: str, *, settled: bool = True) -> TopicContents:
    """Read a topic from its beginning to its end.

    :param settled: wait until no transaction is open on it, which is so after a finished run; otherwise read what is visible now.
    :raises TimeoutError: a transaction stayed open, or reading did not reach the end, until the deadline.
    """

    def known_ends() -> dict[int, tuple[int, int]] | None:
        try:
            found = ends(bootstrap, topic)
        except KafkaException as error:
            if error.args[0].code() not in _NOT_NOW:
                raise
            return None
        if any(OFFSET_INVALID in offsets for offsets in found.values()):  # librdkafka's answer while a leader is away
            return None
        return found if not settled or not _open(found) else None

    places = wait_until(known_ends, f"the end of the transactions on {topic}")
    return TopicContents(topic, tuple(_read(_client(bootstrap), topic, places)), frozenset(_open(places)))


def _open(places: Mapping[int, tuple[int, int]]) -> list[int]:
    return [partition for partition, (stable, high) in places.items() if stable != high]


def _read(client: dict[str, Any], topic: str, places: Mapping[int, tuple[int, int]]) -> list[TopicRecord]:
    left = {partition for partition, (stable, _) in places.items() if stable > 0}
    settings = {"group.id": "oracle", "isolation.level": "read_committed", "enable.partition.eof": True, "enable.auto.commit": False}
    consumer = Consumer({**client, **settings, "auto.offset.reset": "earliest"})
    records: list[TopicRecord] = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in left])
        deadline = Deadline.after(DEADLINE_S)
        while left:
            if deadline.expired:
                raise TimeoutError(f"{topic}: the consumer did not reach the end of partitions {sorted(left)}")
            for message in consumer.consume(10_000, timeout=0.05):
                partition, offset, error = message.partition(), message.offset(), message.error()
                assert partition is not None
                assert offset is not None
                if error is None and offset < places[partition][0]:
                    headers = tuple((name, _bytes(value)) for name, value in cast(Any, message.headers()) or ())
                    records.append(TopicRecord(_bytes(message.key()), _bytes(message.value()), partition, offset, headers))
                elif error is None:
                    left.discard(partition)  # a topic that grows may never report its end
                elif error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise AssertionError(f"{topic} {partition}@{offset}: {error}")
                elif error is not None and offset >= places[partition][0]:  # past the last commit marker, which is no message
                    left.discard(partition)
    finally:
        consumer.close()
    return records


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def _client(bootstrap: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap} if isinstance(bootstrap, str) else dict(bootstrap)


def faults_of(contents: TopicContents, entries: Mapping[bytes, bytes | Any], *, parse: Callable[[bytes], Any] | None = None) -> list[str]:
    """Return all differences between a topic and its cache; an empty list is a pass.

    :param entries: record key -> record value as the cache has it (parsed, where ``parse`` is given).
    """
    by_key: dict[bytes | None, list[TopicRecord]] = defaultdict(list)
    for record in contents.records:
        by_key[record.key].append(record)
    missing = [repr(key) for key in entries if key not in by_key]
    extra = [f"{key!r} at {found[0].place}" for key, found in by_key.items() if key not in entries]
    twice = [f"{key!r} at {', '.join(record.place for record in found)}" for key, found in by_key.items() if len(found) > 1]
    different = []
    for key, found in by_key.items():
        for record in found:
            value = parse(record.value) if parse and record.value is not None else record.value
            if key is not None and key in entries and value != entries[key]:
                different.append(f"{key!r} at {record.place}: {value!r}, in the cache {entries[key]!r}")
    kinds = {"missing": missing, "not in the cache": extra, "more than once": twice, "different": different}
    return [_line(contents.topic, name, found) for name, found in kinds.items() if found]


def _line(topic: str, name: str, found: list[str]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{topic}: {len(found)} keys {name}: {'; '.join(found[:_SHOWN])}{more}"


def assert_exactly_once(
    bootstrap: str | Mapping[str, Any],
    topic: str,
    entries: Mapping[bytes, bytes | Any],
    *,
    parse: Callable[[bytes], Any] | None = None,
) -> TopicContents:
    """Assert that the topic has every key of the cache once, equal to its entry, and no other key."""
    contents = read_committed(bootstrap, topic)
    faults = faults_of(contents, entries, parse=parse)
    assert not faults, "\n".join(faults)
    return contents


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that Kafka's Java producer chooses for a key: murmur2 of `org.apache.kafka.common.utils.Utils`."""
    mixed, mask = 0x9747B28C ^ len(key), 0xFFFFFFFF
    whole = len(key) - len(key) % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * 0x5BD1E995 & mask
        mixed = mixed * 0x5BD1E995 & mask ^ (word ^ word >> 24) * 0x5BD1E995 & mask
    if key[whole:]:
        mixed = (mixed ^ int.from_bytes(key[whole:], "little")) * 0x5BD1E995 & mask
    mixed = (mixed ^ mixed >> 13) * 0x5BD1E995 & mask
    return ((mixed ^ mixed >> 15) & 0x7FFFFFFF) % partitions


def hidden_keys(contents: TopicContents, unit_of: Mapping[bytes, int], partitions: int) -> frozenset[bytes]:
    """Keys that are not visible, in partitions where an open transaction, perhaps of another slot, hides what was committed after it.

    :param unit_of: record key -> Ignite partition, for all entries of the cache.
    :param partitions: partition count of the topic.
    """
    seen = contents.counts()
    return frozenset(key for key in unit_of if key not in seen and partition_of(key, partitions) in contents.open_partitions)


def half_units(contents: TopicContents, unit_of: Mapping[bytes, int], hidden: frozenset[bytes] = frozenset()) -> list[str]:
    """Return the units of which only some keys are visible.

    :param unit_of: record key -> Ignite partition, for all entries of the cache.
    :param hidden: keys that may be missing.
    """
    whole = Counter(unit for key, unit in unit_of.items() if key not in hidden)
    seen = Counter(unit_of[key] for key in contents.counts() if key is not None and key in unit_of)
    return [
        f"{contents.topic}: {seen[unit]} of {whole[unit]} keys of Ignite partition {unit} are visible"
        for unit in sorted(seen)
        if seen[unit] != whole[unit]
    ]


@dataclass(frozen=True)
class UnitsDone:
    """The offsets topic of a connector: record count of every unit that is done under one snapshot id."""

    records: Mapping[tuple[str, int], int]

    def of_cache(self, cache: str) -> dict[int, int]:
        return {partition: count for (name, partition), count in self.records.items() if name == cache}


def units_done(bootstrap: str | Mapping[str, Any], topic: str, connector: str, snapshot_id: str) -> UnitsDone:
    """Read an offsets topic as it is visible now; layout in design: key ``[connector,{"cache":…,"partition":…}]``, last record counts."""
    last: dict[tuple[str, int], dict[str, Any]] = {}
    for record in read_committed(bootstrap, topic, settled=False).records:
        assert record.key is not None
        name, place = json.loads(record.key)
        if name == connector and "cache" in place:
            unit = place["cache"], place["partition"]
            last.pop(unit, None)
            if record.value is not None:
                last[unit] = json.loads(record.value)["snapshot"] or {}
    return UnitsDone({unit: state["records"] for unit, state in last.items() if state.get("id") == snapshot_id and state.get("done")})


def assert_offsets_match(done: UnitsDone, cache: str, contents: TopicContents, unit_of: Mapping[bytes, int]) -> None:
    """Assert that offsets are neither ahead of nor behind the data: a unit is marked done with exactly its visible records."""
    marked = done.of_cache(cache)
    seen = Counter(unit_of[key] for key in contents.counts() if key is not None)
    wrong = [
        f"Ignite partition {unit}: {marked.get(unit, 'not')} marked, {seen[unit]} visible"
        for unit in sorted({*marked, *seen})
        if marked.get(unit, 0) != seen[unit]
    ]
    assert not wrong, f"{contents.topic}: offsets and data differ: {'; '.join(wrong[:_SHOWN])} ({len(wrong)} units)"
