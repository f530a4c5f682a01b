"""Compares a sink's cache with its topic: it equals the topic's fold, and no committed offset is ahead of it.

Independent of the code under test: the topic is read by a plain consumer, the cache by pyignite, offsets by Kafka's admin client.
A record's key is a number, its value an object whose ``seq`` is the record's place among all that were sent, or nothing: a tombstone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.support.oracle import TopicRecord, read_committed
from tools.servers import IgniteCluster

_SHOWN = 5
_COORDINATOR_S = 10.0  # a consumer may ask a broker that was killed for ever
NOT_YET = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError._TIMED_OUT,
}


@dataclass(frozen=True)
class SinkVerdict:
    """Differences between a cache and the fold of its topic; each list names keys."""

    records: int
    tombstones: int
    entries: int
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """One line per kind of fault; empty for a pass."""
        kinds = {"missing": self.missing, "extra": self.extra, "different": self.different}
        return [f"{len(keys)} {kind}: {', '.join(keys[:_SHOWN])}" for kind, keys in kinds.items() if keys]


def number_of(record: TopicRecord) -> int:
    """The key of a record."""
    return int(record.key or b"")


def histories(
    records: Sequence[TopicRecord], entry_of: Callable[[TopicRecord], int] = number_of
) -> dict[int, list[tuple[TopicRecord, int | None]]]:
    """Number of an entry -> its records in their order, with the number that each leaves in the cache; None: no entry."""
    found = defaultdict(list)
    for record in sorted(records, key=lambda one: (one.partition, one.offset)):
        found[entry_of(record)].append((record, None if record.value is None else int(json.loads(record.value)["seq"])))
    return dict(found)


def entries_of(ignite: IgniteCluster, cache: str) -> dict[int, int]:
    """Key -> sequence number of all entries."""
    with ignite.client() as client, client.get_cache(cache).scan(page_size=10_000) as found:
        return {key: value.seq for key, value in found}


def compare(bootstrap: str, topic: str, entries: Mapping[int, int], entry_of: Callable[[TopicRecord], int] = number_of) -> SinkVerdict:
    """Compare a cache's entries with the last record of each.

    :param entry_of: number of a record's entry, as in ``entries``.
    """
    records = read_committed(bootstrap, topic).records
    fold = {key: history[-1] for key, history in histories(records, entry_of).items()}
    wanted = {key: (record.place, seq) for key, (record, seq) in fold.items() if seq is not None}
    return SinkVerdict(
        len(records),
        sum(record.value is None for record in records),
        len(entries),
        [f"{key}, last at {wanted[key][0]}" for key in wanted.keys() - entries.keys()],
        [f"{key}: number {entries[key]}" for key in entries.keys() - wanted.keys()],
        [
            f"{key}: number {entries[key]}, but {wanted[key][1]} at {wanted[key][0]}"
            for key in wanted.keys() & entries.keys()
            if entries[key] != wanted[key][1]
        ],
    )


def ahead(
    bootstrap: str,
    topic: str,
    committed: Mapping[int, int],
    entries: Mapping[int, int],
    entry_of: Callable[[TopicRecord], int] = number_of,
) -> list[str]:
    """Keys whose last record below the committed offset of its partition is not in the cache, nor a later one; empty for a pass.

    Commits may be behind what is stored, so any later state of a key is right.

    :param committed: next offset of each partition, taken before the entries were read.
    """
    wrong = []
    for key, history in histories(read_committed(bootstrap, topic).records, entry_of).items():
        done = [place for place, (record, _) in enumerate(history) if record.offset < committed.get(record.partition, 0)]
        first_right = done[-1] if done else -1
        right = {seq for _, seq in history[max(first_right, 0) :]} | ({None} if first_right < 0 else set())
        if entries.get(key) not in right:
            wrong.append(f"{key}: number {entries.get(key)}, committed is {history[first_right][1]} at {history[first_right][0].place}")
    return wrong


def group_offsets(group: Consumer, topic: str, partitions: int) -> dict[int, int] | None:
    """Return the committed next offset of each partition that has one; None: the group has no coordinator now, ask by another consumer.

    :param group: a consumer of the group that has not joined it. (The admin client's list_consumer_group_offsets fails or crashes while
        the group's coordinator loads: confluent-kafka 2.)
    """
    try:
        found = group.committed([TopicPartition(topic, partition) for partition in range(partitions)], _COORDINATOR_S)
    except KafkaException as error:
        if error.args[0].retriable() or error.args[0].code() in NOT_YET:
            return None
        raise
    return {place.partition: place.offset for place in found if place.offset >= 0}
