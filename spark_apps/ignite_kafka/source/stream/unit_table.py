"""The units of a task as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...common.arrays import Int64Array
from ...ignite.backlog_service import UNIT
from ...plan.slots import partitions_of_slot
from ...plan.source_plan import CachePlan, TransferPlan


@dataclass(frozen=True)
class UnitTable:
    """Units by position: those of a slot stand together, and in a slot those of a cache.

    :param units: dtype UNIT of the backlog service.
    :param cache: position of each unit's cache in the plan.
    """

    caches: tuple[CachePlan, ...]
    units: npt.NDArray[np.void]
    slot: Int64Array
    cache: Int64Array

    @staticmethod
    def of(plan: TransferPlan, slots: Sequence[int]) -> UnitTable:
        """The units of these slots."""
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
        return self.caches[int(self.cache[unit])]

    def positions(self, units: npt.NDArray[np.void]) -> Int64Array:
        """Positions of those of some units (dtype UNIT) that are in the table."""
        if not len(self):
            return np.zeros(0, np.int64)
        order, places = self._by_place
        found: Int64Array = order[np.minimum(np.searchsorted(places, _places(units)), len(self) - 1)]
        return found[self.units[found] == units]

    @cached_property
    def _by_place(self) -> tuple[Int64Array, Int64Array]:
        places = _places(self.units)
        order = np.argsort(places)
        return order, places[order]

    def partition(self, unit: int) -> int:
        return int(self.units["partition"][unit])

    def by_slot_and_cache(self, units: Int64Array) -> Iterator[Int64Array]:
        """Ascending units in groups of one slot and one cache."""
        if units.size:
            cuts = np.flatnonzero((np.diff(self.slot[units]) != 0) | (np.diff(self.cache[units]) != 0)) + 1
            yield from np.split(units, cuts)


def _places(units: npt.NDArray[np.void]) -> Int64Array:
    """Cache and partition of each unit as one number."""
    places: Int64Array = units["cache_id"].astype(np.int64) << 32 | units["partition"]
    return places
