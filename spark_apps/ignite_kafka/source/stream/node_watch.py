"""Detection of dead server nodes, after whose death recently sent keys are looked up again.

A node that died may have captured an update that no other node has; the update is lost with the node, and a record
sent of it is wrong. So the keys that were sent in the seconds before are looked up, at once and a little later, when
everything the node had on its way is applied.
"""

from __future__ import annotations

import numpy as np

from ...common.arrays import Mask
from .backlog_client import BacklogClient
from .batch import ChangeBatch, LocatedKey
from .unit_states import UnitStates

_DEAD_NODE_S = 5.0  # a node that died may have written changes of the last seconds that no other node has


class NodeWatch:
    """Detector of server nodes that have left the cluster between two reads; not thread-safe."""

    def __init__(self, client: BacklogClient, states: UnitStates) -> None:
        self._client = client
        self._states = states
        self._servers: frozenset[str] | None = None
        self._look_up_at_s: list[float] = []
        self.topology: int | None = None

    @property
    def has_pending_lookups(self) -> bool:
        """Whether a second look-up after a node's death is still due; every unit is read until then."""
        return bool(self._look_up_at_s)

    def start(self) -> None:
        """Note the live server nodes before the first read, so that no later death is overlooked."""
        if self._servers is None:
            self._servers = self._client.servers()

    def _node_gone(self) -> bool:
        """Return whether a server node has left the cluster since the last call."""
        before = self._servers or frozenset()
        self._servers = self._client.servers()
        return not before <= self._servers

    def keys_to_look_up(self, batch: ChangeBatch) -> set[LocatedKey]:
        """Return the keys sent in the last seconds if a node has died, so that their values are checked in the cache.

        They are returned at once and again a little later. Units that were loaded in these seconds are marked, to be
        loaded again: a scan, too, may have read what only a dead node had.
        """
        now = self._states.clock()
        topology = batch.changes.topology
        ready = self._states.ready
        since_s = now - 2 * _DEAD_NODE_S
        if self.topology not in (None, topology) and self._node_gone():
            self._look_up_at_s = [now, now + _DEAD_NODE_S]
            again = (ready & self._states.deduplicator.loaded_since(since_s))[batch.units]
            self._states.mark(
                batch.units[again], batch.changes.mark_number[again], np.zeros(int(again.sum()), np.int64)
            )
        self.topology = topology
        due = any(at <= now for at in self._look_up_at_s)
        self._look_up_at_s = [at for at in self._look_up_at_s if at > now]
        return {key for key in self._states.deduplicator.sent_since(since_s) if ready[key[0]]} if due else set()

    def other_topology(self, batch: ChangeBatch) -> Mask:
        """Flag changes of units last sent completely at another topology version: a node may have died since.

        True where that was at another topology version, or never: a node that died since may have written what no
        other node has.
        """
        return np.repeat(self._states.topology[batch.units] != batch.changes.topology, batch.changes.count)
