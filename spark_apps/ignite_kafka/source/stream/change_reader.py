"""Polling of the backlog for changes to cache partitions that are already loaded.

Only units that the nodes report as changed are read (docs/decisions/0013-changed-units.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...common.arrays import Int64Array
from ...common.deadline import Interval
from ...ignite.backlog_changes import Changes
from ...runtime.epoch import Unit
from .backlog_client import BacklogClient
from .batch import ChangeBatch, first_of_each
from .node_watch import NodeWatch
from .state_lookup import StateLookup
from .unit_reader import UnitReader
from .unit_states import UnitStates

_USUAL_BYTES = 1 << 10  # of a usual change: a batch limited to few records reads few bytes
_READ_ALL_S = 300.0  # interval at which every unit is read, whatever the nodes report


class ChangeReader:
    """Polls the backlog for changes to loaded cache partitions; not thread-safe.

    :param most_records: target records of one batch; None: no limit.
    """

    def __init__(
        self,
        client: BacklogClient,
        states: UnitStates,
        reader: UnitReader,
        nodes: NodeWatch,
        lookup: StateLookup,
        most_records: int | None,
    ) -> None:
        self._client = client
        self._states = states
        self._reader = reader
        self._nodes = nodes
        self._lookup = lookup
        self._table = states.table
        self._most_records = most_records
        most_bytes = states.plan.settings.batch_bytes
        self._most_bytes = most_bytes if most_records is None else min(most_bytes, most_records * _USUAL_BYTES)
        self._may_have_changes = np.ones(
            len(self._table), bool
        )  # units that may have more in the backlog than was settled
        self._place = b""
        self._read_all = Interval(_READ_ALL_S, states.clock)
        self._batches: list[ChangeBatch] = []
        self._limits: Int64Array | None = None

    def read(self) -> list[ChangeBatch]:
        """Poll the backlog once, and return batches of classified changes."""
        units, changes = self._read_changed()
        self._batches = self._lookup.settle(self._reader.batch(units, first_of_each(changes, self._most_records)))
        return self._batches

    def _read_changed(self) -> tuple[Int64Array, Changes]:
        """Return the units that may have changes, and the units' changes."""
        self._nodes.start()
        changed = self._client.changed(self._place)
        self._place = changed.place
        if changed.units is None or self._nodes.has_pending_lookups or self._read_all.due():
            self._may_have_changes[:] = True
        else:
            self._may_have_changes[self._table.positions(changed.units)] = True
        units = np.flatnonzero(self._states.ready & self._may_have_changes)
        changes = self._reader.read(units, self._most_bytes) if units.size else Changes.none(changed.topology)
        if changes.topology == self._nodes.topology or self._may_have_changes.all():
            return units, changes
        self._may_have_changes[:] = (
            True  # a node came or went in between: look-ups after its death need the backlog of each unit
        )
        units = np.flatnonzero(self._states.ready)
        return units, self._reader.read(units, self._most_bytes)

    @property
    def more(self) -> bool:
        """Whether the last poll left changes in the backlog, so that the next should follow at once."""
        return any(bool(batch.changes.more.any()) for batch in self._batches)

    def caught_up(self, until: Mapping[Unit, int]) -> bool:
        """Return whether all changes from before the run are committed together with the last batches.

        :param until: the highest update number of each unit at the start.
        """
        if self._limits is None:
            units = self._table.units[["cache_id", "partition"]].tolist()
            self._limits = np.array([until.get(unit, -1) for unit in units], np.int64)
        limits = self._limits
        return bool(self._batches) and not any(
            batch.has_open_changes(limits, self._states.gone) for batch in self._batches
        )

    def remember(self, batch: ChangeBatch) -> None:
        """Note, after a commit, the cache partitions that still have changes in the backlog and must be read again."""
        self._may_have_changes[batch.units] = ~batch.units_settled
