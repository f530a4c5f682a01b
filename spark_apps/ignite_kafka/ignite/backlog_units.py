"""Replies of the backlog service about units (cache partitions), as numpy columns.

Byte layouts: the Javadoc of `BacklogService` in backlog-service/.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..common.arrays import Int32Array, Int64Array

GIVEN_UP = 1
MISSED = 2
LOST = 4
GONE = 8
ASKED = 16
"""Marks of a unit.

In this order: changes were given up, changes were missed, the backlog was lost, the incarnation is no longer captured,
a user requested a reload."""

UNIT = np.dtype([("cache_id", "<i4"), ("partition", "<i4"), ("incarnation", "<i8")])
"""A unit: one partition of one incarnation of a cache, in the service's byte layout."""

_ENDS = 0x31454B42
_CHANGED = 0x31444B42
_UNITS = 0x31554B42
_CHANGED_HEADER = struct.Struct("<iiiii")


@dataclass(frozen=True)
class ChangedUnits:
    """Reply of :meth:`BacklogService.changed`: cache partitions changed since an earlier reply.

    :param topology: topology version of the reply.
    :param units: the units that changed (dtype UNIT), in no order; None if any may have changed.
    :param place: position for the next call.
    """

    topology: int
    units: npt.NDArray[np.void] | None
    place: bytes

    @classmethod
    def decode(cls, data: memoryview) -> ChangedUnits:
        """Parse a reply; raises ValueError for bytes of another form."""
        magic, topology, every, units, place_bytes = _CHANGED_HEADER.unpack_from(data)
        if magic != _CHANGED or len(data) != _CHANGED_HEADER.size + UNIT.itemsize * units + place_bytes:
            raise ValueError("the bytes are not changed units of the backlog service")
        named = np.frombuffer(data, UNIT, units, _CHANGED_HEADER.size)
        return cls(topology, None if every else named, bytes(data[len(data) - place_bytes :]))


@dataclass(frozen=True)
class UnitStates:
    """Reply of :meth:`BacklogService.units`: a row for each cache partition with a backlog or marks.

    :param unit: dtype UNIT.
    :param low: lowest number of a change; `high` the highest. Both are -1 without changes.
    :param count: changes.
    :param stored_bytes: bytes of the stored changes.
    :param mark_number: number of the newest mark.
    :param marks: bit set of GIVEN_UP, MISSED, LOST, GONE and ASKED.
    """

    unit: npt.NDArray[np.void]
    low: Int64Array
    high: Int64Array
    count: Int64Array
    stored_bytes: Int64Array
    mark_number: Int64Array
    marks: Int32Array

    @classmethod
    def decode(cls, data: memoryview) -> UnitStates:
        """Parse a reply; raises ValueError for bytes of another form."""
        unit, (low, high, count, stored_bytes, mark_number), marks = _unit_columns(data, _UNITS)
        return cls(unit, low, high, count, stored_bytes, mark_number, marks)


@dataclass(frozen=True)
class UnitEnds:
    """Reply of :meth:`BacklogService.ends`: a row for each cache partition with changes to send or marks.

    :param unit: dtype UNIT.
    :param low: lowest number of a change; `high` the highest. Both are -1 without changes.
    :param count: changes left: the numbers from low to high that were not acknowledged, and the expired keys.
    :param oldest_ms: time of the oldest change in milliseconds since 1970, by the clock of its node; 0: unknown.
    :param marks: bit set of GIVEN_UP, MISSED, LOST, GONE and ASKED.
    """

    unit: npt.NDArray[np.void]
    low: Int64Array
    high: Int64Array
    count: Int64Array
    oldest_ms: Int64Array
    marks: Int32Array

    @classmethod
    def decode(cls, data: memoryview) -> UnitEnds:
        """Parse a reply; raises ValueError for bytes of another form."""
        unit, (low, high, count, oldest_ms, _), marks = _unit_columns(data, _ENDS)
        return cls(unit, low, high, count, oldest_ms, marks)

    @classmethod
    def of_states(cls, states: UnitStates) -> UnitEnds:
        """Return the same from the counts of the whole backlog, of a jar that is older than the call."""
        return cls(states.unit, states.low, states.high, states.count, np.zeros_like(states.count), states.marks)


def _unit_columns(data: memoryview, magic: int) -> tuple[npt.NDArray[np.void], list[Int64Array], Int32Array]:
    """Parse the columns of a reply with a row for each unit: units, five columns of numbers, marks."""
    own_magic, units = struct.unpack_from("<ii", data)
    if own_magic != magic or len(data) != 8 + 60 * units:
        raise ValueError("the bytes are not units of the backlog service")
    take = ColumnReader(data, 8)
    incarnation, *numbers = (take("<i8", units) for _ in range(6))
    cache_id, partition, marks = (take("<i4", units) for _ in range(3))
    unit = np.empty(units, UNIT)
    unit["cache_id"], unit["partition"], unit["incarnation"] = cache_id, partition, incarnation
    return unit, numbers, marks


class ColumnReader:
    """Reader of consecutive numpy columns in a reply, without a copy."""

    def __init__(self, data: memoryview, position: int) -> None:
        self.data = data
        self.position = position

    def __call__(self, kind: str, count: int) -> npt.NDArray[Any]:
        """Read the next column: `count` items of dtype `kind`."""
        column = np.frombuffer(self.data, kind, count, self.position)
        self.position += column.nbytes
        return column
