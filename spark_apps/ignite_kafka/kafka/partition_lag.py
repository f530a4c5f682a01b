"""Lag by partition: of the topics of a consumer group, or of the caches of a stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka.admin import OffsetSpec

from .topics import Topics


@dataclass(frozen=True)
class PartitionLag:
    """A partition of a sink's topic, or of a stream's cache.

    :param position: everything up to it is copied: next offset of a topic, highest update number sent of a cache.
    :param end: the position at which nothing is left.
    :param count: records or changes to copy.
    :param open: records of a topic behind a transaction that is open, which nobody who reads committed records can see
        yet.
    """

    name: str
    partition: int
    position: int
    end: int
    count: int
    open: int = 0


def partition_lags(topics: Topics, group: str, names: Iterable[str], *, stable: bool = True) -> list[PartitionLag]:
    """Return a group's lag in each partition of the topics, transaction markers included.

    Topics that do not exist are left out.

    A partition without a committed offset counts from its first record.

    :param stable: see :meth:`.Topics.group_offsets`.
    :raises KafkaUnavailable: a broker did not answer.
    """
    counts = topics.counts(names)
    places = [(topic, number) for topic, count in counts.items() for number in range(count)]
    committed_ends = topics.offsets(places, OffsetSpec.latest(), committed=True)
    ends = topics.offsets(places, OffsetSpec.latest())  # read later: never before the committed ends
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
