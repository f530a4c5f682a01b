"""Requests that insert entries and leave existing ones as they are.

A node's data streamer inserts many entries by one request (op 8000, since Ignite 2.11). Older nodes take one entry by a
request (put if absent, op 1002), of which many are in flight at the same time. Source: `ClientDataStreamerStartRequest`
and `ClientCachePutIfAbsentRequest` in apache/ignite.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import IgniteUnreachable
from . import protocol
from .connection import ThinConnection
from .protocol import ThinError

if TYPE_CHECKING:
    from .cluster import Cluster

INSERTS = frozenset({protocol.STREAMER_START, protocol.CACHE_PUT_IF_ABSENT})
SINGLE_IN_FLIGHT = 256
"""Maximum one-entry requests in flight to one node, in place of each request with many entries."""

_SKIP_STORE = 0x02
_KEEP_BINARY = 0x04
_FLUSH = 0x08
_CLOSE = 0x10
_FLAGS = _SKIP_STORE | _KEEP_BINARY | _FLUSH | _CLOSE
_STREAM = struct.Struct("<iBiiBi")
_ONE = struct.Struct("<iB")
_CLUSTER_DEFAULT = -1
_NULL = 101


def insert_op(cluster: Cluster, cache_id: int) -> int:
    """Choose the operation for inserts: data streamer, or put-if-absent if the nodes are too old.

    An empty stream is sent to find that out.

    :raises IgniteUnreachable: no node answered.
    """
    try:
        cluster.ask(
            lambda node: node.request(protocol.STREAMER_START, insert_head(protocol.STREAMER_START, cache_id, 0))
        )
    except ThinError as error:
        if error.status == protocol.INVALID_OPERATION:
            return protocol.CACHE_PUT_IF_ABSENT
    return protocol.STREAMER_START  # any other refusal is reported for the first entries


def insert_head(op: int, cache_id: int, count: int) -> bytes:
    """Encode the start of an insert request with ``count`` entries; the entries follow it."""
    if op == protocol.CACHE_PUT_IF_ABSENT:
        return _ONE.pack(cache_id, 0)
    return _STREAM.pack(cache_id, _FLAGS, _CLUSTER_DEFAULT, _CLUSTER_DEFAULT, _NULL, count)


@dataclass
class Streaming:
    """Nodes that have confirmed inserts by data streamers since the last flush, to detect lost inserts.

    `since` is the affinity version before them; `connections` are those of the nodes that confirmed inserts.
    """

    since: tuple[int, int]
    connections: set[ThinConnection] = field(default_factory=set)

    def changed(self) -> bool:
        """Return whether nodes joined or left since, so that data streamers may have lost entries."""
        try:
            for connection in self.connections:
                connection.request(protocol.CLUSTER_STATE, b"")
        except IgniteUnreachable:
            return True
        return any(
            connection.affinity is not None and connection.affinity > self.since for connection in self.connections
        )
