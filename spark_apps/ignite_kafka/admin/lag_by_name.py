"""Lag by name: of a sink's topics, from its consumer group, and of a source's caches, from its backlog on the nodes."""

from __future__ import annotations

from collections.abc import Iterable

from ..kafka.partition_lag import PartitionLag, partition_lags, sum_by_name
from ..kafka.topics import Topics
from .backlog import BacklogView


def sink_lag(topics: Topics, group: str, names: Iterable[str]) -> dict[str, int]:
    """Return the number of records that a sink has not stored yet, by topic; see :func:`.partition_lags`."""
    return sum_by_name((partition.name, partition.count) for partition in partition_lags(topics, group, names))


def source_partitions(backlog: BacklogView) -> list[PartitionLag]:
    """Return the lag of each cache partition with changes to send."""
    return [
        PartitionLag(unit.cache, unit.partition, unit.low - 1, unit.high, unit.changes)
        for unit in backlog.units
        if unit.changes
    ]


def source_lag(backlog: BacklogView) -> dict[str, int]:
    """Return the number of changes that a source has not sent yet, by cache; 0 for a cache without changes."""
    return {
        **{cache.cache: 0 for cache in backlog.caches},
        **sum_by_name((partition.name, partition.count) for partition in source_partitions(backlog)),
    }
