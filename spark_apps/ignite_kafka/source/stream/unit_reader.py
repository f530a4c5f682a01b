"""Reads the backlog of units and classifies each change: new, duplicate, or to be looked up in the cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...common.arrays import Int64Array
from ...ignite.backlog_changes import Changes
from ...ignite.backlog_units import GONE
from .backlog_client import BacklogClient
from .batch import MOST_OF_UNIT, ChangeBatch
from .node_watch import NodeWatch
from .unit_states import UnitStates

WHOLE_BACKLOG = 64 << 20
"""Byte limit for reading one unit's entire backlog."""

TOO_MUCH = 1 << 16
"""A mark beside the service's: the unit has too many changes to be read at once where one of them is in doubt."""

OnRead = Callable[[Int64Array, int, Changes], Changes]
"""Positions of units, the byte limit, and the answer, to the part of the answer that is kept."""


class UnitReader:
    """Makes batches of the backlog of units. For one thread.

    :param states: receive the marks of units.
    :param on_read: called with each answer.
    """

    def __init__(
        self, client: BacklogClient, states: UnitStates, nodes: NodeWatch, on_read: OnRead | None = None
    ) -> None:
        self._client = client
        self._states = states
        self._nodes = nodes
        self._on_read = on_read

    def read(self, units: Int64Array, most_bytes: int) -> Changes:
        """The changes of units, by their positions, lowest update numbers first; at most so many bytes."""
        self._nodes.start()
        changes = self._client.read(self._states.table.units[units], most_bytes)
        return changes if self._on_read is None else self._on_read(units, most_bytes, changes)

    def whole(self, units: Int64Array) -> ChangeBatch:
        """The entire backlog of units. A unit whose backlog is too large is marked, and sent again from the cache."""
        return self.batch(units, self.read(units, WHOLE_BACKLOG), whole=True)

    def batch(self, units: Int64Array, changes: Changes, *, whole: bool = False) -> ChangeBatch:
        """Return a batch of an answer's changes, without changes of marked units (sent again later) and gone units.

        :param units: positions of the units of the answer, ascending.
        :param whole: whether the answer must be the entire backlog.
        """
        marks = changes.marks.astype(np.int64)
        self._states.gone[units[(marks & GONE) != 0]] = True
        if whole:
            # changes that were not read may be older than the cache's entries: the unit is loaded once its backlog is
            # cleared
            marks |= np.where((marks == 0) & (changes.more | (changes.count > MOST_OF_UNIT)), TOO_MUCH, 0)
        marked = (marks != 0) & ((marks & GONE) == 0)
        self._states.mark(units[marked], changes.mark_number[marked], marks[marked])
        sound = marks == 0
        classified = self._states.deduplicator.classify(units, changes).only(np.repeat(sound, changes.count))
        topology = np.where(changes.more | ~sound, self._states.topology[units], changes.topology)
        done = classified.new | classified.duplicate
        return ChangeBatch(changes, units, classified, done, np.zeros(units.size, bool), sound, topology)
