"""Table of a task's units. A unit is a cache partition: one Ignite partition of one cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...common.arrays import Int64Array
from ...ignite.backlog_units import UNIT
from ...plan.slots import partitions_of_slot
from ...plan.source_plan import CachePlan, TransferPlan


@dataclass(frozen=True)
class UnitTable:
    """Columns of a task's U cache partitions, sorted by slot, then by cache.

    :param caches: caches of the plan.
    :param units: U rows of dtype UNIT of the backlog service.
    :param slot: U numbers of slots.
    :param cache: U positions in `caches`.
    """

    caches: tuple[CachePlan, ...]
    units: npt.NDArray[np.void]
    slot: Int64Array
    cache: Int64Array

    @staticmethod
    def of(plan: TransferPlan, slots: Sequence[int]) -> UnitTable:
        """Build the table of all cache partitions that belong to `slots`."""
        rows = [
            (cache.cache_id, partition, int(cache.incarnation), slot, at)
            for slot in sorted(slots)
            for at, cache in enumerate(plan.caches)
            for partition in partitions_of_slot(cache.name, cache.partitions, slot, plan.slots)
        ]
        columns = list(zip(*rows, strict=True)) if rows else [()] * 5
        units = np.empty(len(rows), UNIT)
        units["cache_id"], units["partition"], units["incarnation"] = columns[:3]
        return UnitTable(plan.caches, units, np.array(columns[3], np.int64), np.array(columns[4], np.int64))

    def __len__(self) -> int:
        return len(self.units)

    def cache_of(self, unit: int) -> CachePlan:
        """Return the plan of the cache that the unit at a position belongs to."""
        return self.caches[int(self.cache[unit])]

    def positions(self, units: npt.NDArray[np.void]) -> Int64Array:
        """Translate units of the backlog service's replies to positions in the table.

        :param units: rows of dtype UNIT; units that are not in the table are left out.
        """
        if not len(self):
            return np.zeros(0, np.int64)
        order, numbers = self._by_number
        candidates: Int64Array = order[np.minimum(np.searchsorted(numbers, _numbers(units)), len(self) - 1)]
        return np.extract(self.units[candidates] == units, candidates)

    @cached_property
    def _by_number(self) -> tuple[Int64Array, Int64Array]:
        numbers = _numbers(self.units)
        order = np.argsort(numbers)
        return order, numbers[order]

    def partition(self, unit: int) -> int:
        """Return the Ignite partition of the unit at a position."""
        return int(self.units["partition"][unit])

    def by_slot_and_cache(self, units: Int64Array) -> Iterator[Int64Array]:
        """Split positions into groups of units with the same slot and cache, and yield each group.

        :param units: positions, ascending.
        """
        if units.size:
            cuts = np.flatnonzero((np.diff(self.slot[units]) != 0) | (np.diff(self.cache[units]) != 0)) + 1
            yield from np.split(units, cuts)


def _numbers(units: npt.NDArray[np.void]) -> Int64Array:
    """Pack cache id and partition of each unit into one int64, as a sort key."""
    numbers: Int64Array = units["cache_id"].astype(np.int64) << 32 | units["partition"]
    return numbers
