"""Lag of a connector: of a sink by topic, from its consumer group; of a source by cache, from its backlog on the nodes."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka.admin import OffsetSpec

from ..kafka.topics import Topics
from ..settings.sink import group_of
from .backlog import BacklogView


def sink_lag(topics: Topics, connector: str, names: Iterable[str]) -> dict[str, int]:
    """Records that a sink has not stored yet, by topic, transaction markers included; topics that do not exist are left out.

    A partition without a committed offset counts from its first record.

    :param names: topics of the sink.
    :raises KafkaUnavailable: a broker did not answer.
    """
    counts = topics.counts(names)
    places = [(topic, number) for topic, count in counts.items() for number in range(count)]
    ends = topics.offsets(places, OffsetSpec.latest(), committed=True)
    starts = topics.offsets(places, OffsetSpec.earliest())
    committed = topics.group_offsets(group_of(connector), places)
    lag = dict.fromkeys(counts, 0)
    for place in places:
        position = committed[place][0] if place in committed else starts[place]
        lag[place[0]] += max(0, ends[place] - max(position, starts[place]))
    return lag


def source_lag(backlog: BacklogView) -> dict[str, int]:
    """Changes that a source has not sent yet, by cache."""
    lag = {cache.cache: 0 for cache in backlog.caches}
    for unit in backlog.units:
        lag[unit.cache] = lag.get(unit.cache, 0) + unit.changes
    return lag
