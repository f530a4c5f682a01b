"""Lag of a connector: of a sink by topic, from its consumer group; of a source by cache, from its backlog on the nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka.admin import OffsetSpec

from ..kafka.topics import Topics
from .backlog import BacklogView


@dataclass(frozen=True)
class PartitionLag:
    """A partition: of a topic that a sink reads, or of a cache whose changes a stream sends.

    :param position: everything up to it is copied: next offset of a topic, highest update number sent of a cache.
    :param end: the position at which nothing is left.
    :param count: records or changes to copy.
    :param open: records of a topic behind a transaction that is open, which nobody who reads committed records can see yet.
    """

    name: str
    partition: int
    position: int
    end: int
    count: int
    open: int = 0


def sink_partitions(topics: Topics, group: str, names: Iterable[str]) -> list[PartitionLag]:
    """Each partition of a sink's topics, transaction markers included; topics that do not exist are left out.

    A partition without a committed offset counts from its first record.

    :raises KafkaUnavailable: a broker did not answer.
    """
    counts = topics.counts(names)
    places = [(topic, number) for topic, count in counts.items() for number in range(count)]
    committed_ends = topics.offsets(places, OffsetSpec.latest(), committed=True)
    ends = topics.offsets(places, OffsetSpec.latest())  # read later: never before the committed ends
    starts = topics.offsets(places, OffsetSpec.earliest())
    committed = topics.group_offsets(group, places)
    positions = {place: max(committed[place][0] if place in committed else 0, starts[place]) for place in places}
    found = []
    for place in places:
        position, visible, end = positions[place], committed_ends[place], ends[place]
        found.append(PartitionLag(*place, position, end, max(0, visible - position), max(0, end - max(visible, position))))
    return found


def sink_lag(topics: Topics, group: str, names: Iterable[str]) -> dict[str, int]:
    """Records that a sink has not stored yet, by topic; see :func:`sink_partitions`."""
    return summed((one.name, one.count) for one in sink_partitions(topics, group, names))


def source_partitions(backlog: BacklogView) -> list[PartitionLag]:
    """Each partition of a source's caches that has changes to send."""
    return [PartitionLag(unit.cache, unit.partition, unit.low - 1, unit.high, unit.changes) for unit in backlog.units if unit.changes]


def source_lag(backlog: BacklogView) -> dict[str, int]:
    """Changes that a source has not sent yet, by cache."""
    return {**{cache.cache: 0 for cache in backlog.caches}, **summed((one.name, one.count) for one in source_partitions(backlog))}


def summed(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add counts up by name."""
    sums: dict[str, int] = {}
    for name, count in counts:
        sums[name] = sums.get(name, 0) + count
    return sums
