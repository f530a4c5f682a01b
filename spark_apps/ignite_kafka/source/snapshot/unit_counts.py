"""Counts of the cache partitions that a slot of a snapshot is copying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...common.arrays import Int64Array
from ..entry_sender import Sent, rows_by_partition


@dataclass
class UnitCounts:
    """Counts of a cache partition whose copying has not ended.

    :param read: entries read from the cache.
    :param bad: entries that cannot be sent.
    :param filtered: entries left out by the filter.
    :param dropped: entries that passed the filter and are dropped by transforms.
    :param dead_letters: bad entries that became dead letters.
    """

    read: int = 0
    bad: int = 0
    filtered: int = 0
    dropped: int = 0
    dead_letters: int = 0

    @property
    def entries(self) -> int:
        """Number of entries that passed the filter."""
        return self.read - self.filtered

    @property
    def records(self) -> int:
        """Number of records sent."""
        return self.entries - self.bad - self.dropped


def count_left_out(unit_of: Callable[[int], UnitCounts], partitions: Int64Array, sent: Sent) -> None:
    """Add the entries of a batch without a record to the counts of their partitions.

    :param unit_of: returns the counts of a partition.
    :param partitions: the partitions of the N entries.
    """
    for name in ("bad", "filtered", "dropped", "dead_letters"):
        for partition, rows in rows_by_partition(partitions[getattr(sent, name)]).items():
            unit = unit_of(partition)
            setattr(unit, name, getattr(unit, name) + rows)
