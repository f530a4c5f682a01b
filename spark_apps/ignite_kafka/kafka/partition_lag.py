"""Lag of a sink in its topics' partitions, or of a stream in its caches' partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka.admin import OffsetSpec

from .topics import Topics


@dataclass(frozen=True)
class PartitionLag:
    """Lag in one topic partition of a sink, or in one cache partition of a stream.

    :param position: next offset of the topic, or highest update counter sent of the cache.
    :param end: position after everything is copied.
    :param count: number of records or changes to copy.
    :param open: number of a topic's records behind an open transaction, still invisible to readers of committed
        records.
    """

    name: str
    partition: int
    position: int
    end: int
    count: int
    open: int = 0


def partition_lags(topics: Topics, group: str, names: Iterable[str], *, stable: bool = True) -> list[PartitionLag]:
    """Return a consumer group's lag in each partition of the topics.

    Transaction markers count as records. Topics that do not exist are left out.

    A partition without a committed offset counts from its first record.

    :param stable: see :meth:`.Topics.group_offsets`.
    :raises KafkaUnavailable: a broker did not answer.
    """
    counts = topics.counts(names)
    places = [(topic, number) for topic, count in counts.items() for number in range(count)]
    committed_ends = topics.offsets(places, OffsetSpec.latest(), committed=True)
    ends = topics.offsets(places, OffsetSpec.latest())  # read later, so that no end lies before the committed end
    starts = topics.offsets(places, OffsetSpec.earliest())
    committed = topics.group_offsets(group, places, stable=stable)
    positions = {place: max(committed[place][0] if place in committed else 0, starts[place]) for place in places}
    lags = []
    for place in places:
        position = positions[place]
        visible = committed_ends[place]
        end = ends[place]
        lags.append(
            PartitionLag(*place, position, end, max(0, visible - position), max(0, end - max(visible, position)))
        )
    return lags


def counts_by_name(partitions: Iterable[PartitionLag]) -> dict[str, int]:
    """Return the number of records or changes to copy, by topic or cache."""
    return _sum_by_name((partition.name, partition.count) for partition in partitions)


def open_by_name(partitions: Iterable[PartitionLag]) -> dict[str, int]:
    """Return the number of records behind open transactions, by topic."""
    return _sum_by_name((partition.name, partition.open) for partition in partitions)


def _sum_by_name(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, count in counts:
        sums[name] = sums.get(name, 0) + count
    return sums
