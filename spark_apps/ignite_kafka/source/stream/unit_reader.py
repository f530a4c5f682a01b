"""Reading of captured changes, each of which is classified as new, duplicate, or to be looked up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...common.arrays import Int64Array
from ...ignite.backlog_changes import Changes
from ...ignite.backlog_units import GONE
from .backlog_client import BacklogClient
from .batch import MOST_OF_UNIT, ChangeBatch
from .node_watch import NodeWatch
from .unit_marks import TOO_MUCH
from .unit_states import UnitStates

WHOLE_BACKLOG = 64 << 20
"""Byte limit for reading one unit's entire backlog."""

OnRead = Callable[[Int64Array, int, Changes], Changes]
"""Function from units' positions, the byte limit and the reply to the part of the reply that is kept."""


class UnitReader:
    """Reads the backlog of cache partitions, and builds batches of classified changes; not thread-safe.

    :param states: receive the marks of units.
    :param on_read: called with each reply.
    """

    def __init__(
        self, client: BacklogClient, states: UnitStates, nodes: NodeWatch, on_read: OnRead | None = None
    ) -> None:
        self._client = client
        self._states = states
        self._nodes = nodes
        self._on_read = on_read

    def read(self, units: Int64Array, most_bytes: int) -> Changes:
        """Read captured changes of units, at most `most_bytes` bytes, lowest update numbers first."""
        self._nodes.start()
        changes = self._client.read(self._states.table.units[units], most_bytes)
        return changes if self._on_read is None else self._on_read(units, most_bytes, changes)

    def read_after_barrier(self, units: Int64Array) -> ChangeBatch:
        """Have all nodes write their buffered changes, then read the entire backlog of units.

        A unit whose backlog is too large is marked, to be sent again.
        """
        self._client.barrier()
        return self.batch(units, self.read(units, WHOLE_BACKLOG), whole=True)

    def batch(self, units: Int64Array, changes: Changes, *, whole: bool = False) -> ChangeBatch:
        """Classify the changes of a reply, leaving out units that must be loaded again or are no longer captured.

        :param units: positions of the units of the reply, ascending.
        :param whole: whether the reply must be the entire backlog.
        """
        marks = changes.marks.astype(np.int64)
        self._states.gone[units[(marks & GONE) != 0]] = True
        if whole:
            # changes that were not read may be older than the cache's entries: the unit is loaded once its backlog is
            # cleared
            marks |= np.where((marks == 0) & (changes.more | (changes.count > MOST_OF_UNIT)), TOO_MUCH, 0)
        marked = (marks != 0) & ((marks & GONE) == 0)
        self._states.mark(units[marked], changes.mark_number[marked], marks[marked])
        sendable = marks == 0
        classified = self._states.deduplicator.classify(units, changes).only(np.repeat(sendable, changes.count))
        topology = np.where(changes.more | ~sendable, self._states.topology[units], changes.topology)
        settled = classified.new | classified.duplicate
        return ChangeBatch(changes, units, classified, settled, np.zeros(units.size, bool), sendable, topology)
