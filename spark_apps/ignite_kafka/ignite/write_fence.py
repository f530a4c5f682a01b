"""Writes of a sink's task that nodes execute only while the task owns its slots.

A plain put that a node, a link or a frozen process holds may be executed after a newer task has written the same key.
The service's `write` compares the task's token under the lock of each entry (`FencedWrite` in backlog-service/), so an
older task's write changes nothing once a newer token is in force.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..errors import BacklogRefused, Fenced
from .backlog_errors import OLDER_JAR, REMEDIES
from .backlog_service import BacklogService, call_payload
from .binary.byte_columns import lengths_of
from .cluster import Cluster
from .protocol import ThinError

HAS_FENCES = 4
"""First version of the service's interface with fenced writes."""

HAS_ORDER = 5
"""First version of the service's interface with fenced writes that compare a field."""

FENCED = "FENCED"
"""Code of the refusal of a write or token that is older than the token in force."""

MOST_GENERATION = (1 << 31) - 1_000_000
"""Highest generation that a run of a sink may have; a token has 31 bits for it."""

_REFUSED = f"BACKLOG/{FENCED}: "
_TOKEN = struct.Struct("<iiii")
_REMOVED = -1  # length of a value


@dataclass(frozen=True, order=True)
class WriterToken:
    """Place of a task among all tasks that ever owned a slot; a later owner compares as greater.

    :param turn: a task takes the next one when a request of its own got no answer.
    """

    generation: int
    epoch: int = 0
    attempt: int = 0
    turn: int = 0

    def encode(self) -> bytes:
        """Encode the token as the service reads it: four int32."""
        return _TOKEN.pack(self.generation, self.epoch, self.attempt, self.turn)


class WriteFence:
    """Right of one task to write for its slots of a sink; not thread-safe.

    :param sink: name of the sink, the same for all its runs and of no other sink that writes to the cluster.
    :param slots: slots of the task; none for the driver, which ends the tokens of older generations.
    :param caches: names of caches that the sink writes; the user needs the right to put and remove their entries.
    :param shared: whether other tasks write with the same token, as those of a repair do. A repeated request then keeps
        its token: under that token each key has one value.
    :param order_field: field of the values; a put of a lesser one leaves the present entry. Empty: each put is stored.
    """

    def __init__(
        self,
        cluster: Cluster,
        sink: str,
        slots: Collection[int],
        token: WriterToken,
        caches: Collection[str],
        *,
        shared: bool = False,
        order_field: str = "",
    ) -> None:
        self._shared = shared
        self._order_field = order_field
        self._cluster = cluster
        self._sink = sink
        self._slots = struct.pack(f"<{len(slots)}i", *sorted(slots))
        self._caches = list(caches)
        self.token = token

    def establish(self) -> None:
        """Put the token in force on all nodes: afterwards no older write of these slots changes an entry.

        :raises Fenced: a newer task or run has its token in force.
        :raises BacklogRefused: a server node lacks the jar, or has an older one; or the user lacks a right.
        :raises BacklogUnavailable: a node does not answer now.
        """
        service = BacklogService(self._cluster.connection())
        try:
            service.raise_fence(self._sink, self.token.encode() + self._slots, self._caches)
        except BacklogRefused as error:
            if error.where.get("code") != FENCED:
                raise
            raise self.fenced(error) from error

    def take_turn(self) -> None:
        """Fence this task's own requests without an answer, so that they may be repeated; raises as establish."""
        if not self._shared:
            self.token = replace(self.token, turn=self.token.turn + 1)
            self.establish()

    def fenced(self, error: BacklogRefused | ThinError) -> Fenced:
        """Return the error of a task that is no longer the owner of its slots."""
        what = error.what if isinstance(error, BacklogRefused) else error.message.partition(_REFUSED)[2]
        return Fenced(
            what.splitlines()[0],
            "A newer run of the connector, or a newer attempt of the task, continues; or the cluster lost the sink's "
            "tokens: then the next run continues. Nothing is lost",
            sink=self._sink,
        )

    def payload(self, cache: str, entries: bytes, *, insert: bool) -> bytes:
        """Return the request that writes entries, behind their :func:`entries_head`, with the token as it is now."""
        writer = self.token.encode() + self._slots
        if self._order_field:
            return call_payload("writeGreatest", self._sink, writer, cache, self._order_field, entries)
        return call_payload("write", self._sink, writer, cache, insert, entries)


def is_fenced(error: ThinError) -> bool:
    """Return whether a node refused a write because its token is not in force."""
    return _REFUSED in error.message


def entries_head(keys: pa.BinaryArray, values: pa.BinaryArray | None = None) -> bytes:
    """Encode the lengths of N keys and of their values, which precede the entries in the service's `write`.

    :param keys: in Ignite's binary format, not wrapped, as are the values.
    :param values: N values; None: the entries of all keys are removed.
    """
    of_values = np.full(len(keys), _REMOVED) if values is None else lengths_of([values])
    return np.concatenate([[len(keys)], lengths_of([keys]), of_values]).astype("<i4").tobytes()


def generation_in_force(cluster: Cluster, sink: str, order_field: str = "") -> int:
    """Return the generation whose tokens the nodes accept; 0 if the sink never wrote.

    :param order_field: field that nodes are to compare; empty: none.
    :raises BacklogRefused: the jar is older than fenced writes, or than their comparison of a field.
    :raises BacklogMissing: no node has the jar.
    """
    service = BacklogService(cluster.connection())
    version = service.version()
    if version < HAS_FENCES or (order_field and version < HAS_ORDER):
        what = "strict sinks" if version < HAS_FENCES else "sinks with order_field"
        raise BacklogRefused(
            f"the jar of the backlog service is older than {what}", REMEDIES[OLDER_JAR], code=OLDER_JAR
        )
    generation = service.generation(sink)
    if generation > MOST_GENERATION:
        raise BacklogRefused(
            f"the generation in force of sink {sink!r} is {generation}, which no run can exceed",
            "No run has such a generation: see who may call the service and write the sink's caches. Delete the "
            "connector: ignite-kafka delete; that ends its fence",
            code=FENCED,
        )
    return generation
