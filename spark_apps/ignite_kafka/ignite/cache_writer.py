"""Entries into a cache, many a request, several requests on their way to each node.

Entries go to the primary node of their partition, which spares a hop; any other node would pass them on.

A request without an answer must not be done twice: the first may come after newer entries of its keys. A node carries out requests in any
order, also those of a connection that was closed since, and tells nothing of them by any other one. So:
- A node that is slow is waited for, on the same connection, for `retry_timeout_ms`. Then nobody knows: OutcomeUnknown.
- A node that left the topology can put nothing any more: the request is sent again, to another one.
- So it is where the connection broke, as that of a node that died does. Only there a node may live that has read the request and not yet
  done it: what it does then comes late, and stays until the next entry of the key.
- An insert leaves what is there, so one that comes late does no harm: it is sent again at once.
"""

from __future__ import annotations

import re
import struct
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array
from ..common.redaction import in_message
from ..errors import CacheDestroyed, EntriesRefused, IgniteKafkaError, IgniteUnreachable, OutcomeUnknown, WriteFailed
from . import protocol
from .binary.byte_columns import data_of, join_columns, lengths_of
from .binary.key_hashes import Hashes, key_hashes, partitions_of
from .cluster import Cluster
from .connection import ThinConnection
from .protocol import ThinError
from .types.model import CacheInfo

_SKIP_STORE, _KEEP_BINARY, _FLUSH, _CLOSE = 0x02, 0x04, 0x08, 0x10
_INSERT = struct.Struct("<iBiiBi")
_WRITE = struct.Struct("<iBi")
_CLUSTER_DEFAULT = -1
_NULL = 101
_MOST_TRIES = 3
_LOOK_S = 2.0  # between two looks whether a node that does not answer has left
_UPDATE_FAILED = "retry update if possible"
_MAY_PASS = (_UPDATE_FAILED, "retry transaction", "topology")
_MAY_PASS_REMEDY = "Check the cluster's nodes: their logs say whether one has left, or the cache's data region is out of memory"
_OF_A_COLUMN = re.compile(r"for (a )?column '")
"""What a node says of a value that a column does not take: too long, out of range, null, of another type (QueryTypeDescriptorImpl); then it
has taken no entry of the request."""
_CAUSES = {
    "read-only": "Activate the cluster for writing (control.sh --set-state ACTIVE)",
    "inactive": "Activate the cluster (control.sh --set-state ACTIVE)",
    "Out of memory": "Make the cache's data region larger, or let it evict or persist",
}


@dataclass(frozen=True)
class WriteLimits:
    """How much one request holds, and how many requests may wait for their answer at one node."""

    entries: int = 20_000
    size_bytes: int = 8 << 20
    in_flight: int = 1


class CacheWriter:
    """Puts and removes entries of one cache. For one thread; a context manager.

    Between two flushes a key may be given once only: requests on their way have no order among them, nor has one that is sent again.

    :param overwrite: False: an entry that is there stays as it is. A data streamer of the node does it, which may lose entries while nodes
        come or go, although it says that they are there: then :meth:`flush` says so.
    """

    def __init__(self, cluster: Cluster, cache: CacheInfo, *, overwrite: bool, limits: WriteLimits | None = None) -> None:
        self.cluster, self.cache, self.overwrite = cluster, cache, overwrite
        self.limits = limits or WriteLimits()
        self._waiting: dict[uuid.UUID | None, deque[_Request]] = {}
        self._inserting: _Inserting | None = None
        self._topology = 0

    def put(self, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        """Send entries, encoded as :func:`ignite_kafka.thin.codec.encoded` gives them; the answers are awaited by :meth:`flush`.

        :raises IgniteUnreachable, OutcomeUnknown, WriteFailed, CacheDestroyed: as :meth:`flush`, also for entries of earlier calls.
        """
        self._write(protocol.CACHE_PUT_ALL if self.overwrite else protocol.STREAMER_START, keys, values)

    def remove(self, keys: pa.BinaryArray) -> None:
        """Send keys whose entries shall go; raises as :meth:`put`."""
        self._write(protocol.CACHE_REMOVE_KEYS, keys, None)

    def flush(self) -> None:
        """Return once everything that was given is in the cache.

        :raises IgniteUnreachable: no node took some entries in the endpoint's time-out, or none answers; or nodes came or went while
            entries were inserted: all since the last flush must be given again.
        :raises OutcomeUnknown: a node has not answered in the endpoint's `retry_timeout_ms`, and has not left the cluster either.
        :raises WriteFailed: a node refused some entries: cache, node, address; says why.
        :raises EntriesRefused: that was for what they are; the answers to all other requests have come.
        :raises CacheDestroyed: the cache is not there any more.
        """
        refused = None
        for waiting in self._waiting.values():
            while waiting:
                try:
                    self._await(waiting.popleft())
                except EntriesRefused as error:
                    refused = refused or error
        if refused is not None:
            raise refused
        inserting, self._inserting = self._inserting, None
        if inserting is not None and inserting.changed():
            raise IgniteUnreachable(
                "nodes came or went while entries were inserted; the data streamer may have lost some of them",
                "Nothing to do where the same entries are put once more, as a sink does",
                cache=self.cache.name,
            )

    def close(self) -> None:
        """Return once nothing is on its way, whatever became of it: it must not come after what is put next.

        :raises OutcomeUnknown: as :meth:`flush`.
        """
        self._inserting = None
        requests = [request for waiting in self._waiting.values() for request in waiting]
        self._waiting.clear()
        for request in requests:
            if request.op == protocol.STREAMER_START:
                request.connection.forget(request.request_id)
            else:
                with suppress(ThinError, IgniteUnreachable):
                    self._reply(request)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, op: int, keys: pa.BinaryArray, values: pa.BinaryArray | None) -> None:
        if op == protocol.STREAMER_START and self._inserting is None:
            self._inserting = _Inserting(self.cluster.partitions(self.cache.cache_id).affinity)
        for node, rows in self._by_node(keys):
            part = keys if rows is None else keys.take(rows)
            entries = part if values is None else join_columns([part, values if rows is None else values.take(rows)])
            for start, stop in self._cuts(entries):
                piece = entries.slice(start, stop - start)
                self._send(node, op, self._head(op, len(piece)) + data_of(piece).data)

    def _by_node(self, keys: pa.BinaryArray) -> Iterator[tuple[uuid.UUID | None, pa.Array | None]]:
        """Nodes and the rows of the keys that they are primary for, in their order; None for any node, None for all rows as they are."""
        if not len(keys):
            return
        owners = self.cluster.partitions(self.cache.cache_id)
        self._topology = owners.affinity[0]
        nodes = list(dict.fromkeys(owners.primary.values()))
        hashes, known = key_hashes(keys)
        known &= not owners.affinity_keys
        partitions = np.where(known, partitions_of(hashes, len(owners.primary) or self.cache.partitions), -1)
        rows = self._order(keys, partitions, hashes)
        if len(nodes) < 2:
            in_order = bool((np.diff(rows) > 0).all())
            yield (nodes[0] if nodes else None), None if in_order else pa.array(rows)
            return
        owner_of = np.full(max(owners.primary) + 2, -1)  # the last one for keys of unknown partition
        owner_of[list(owners.primary)] = [nodes.index(node) for node in owners.primary.values()]
        owner = owner_of[partitions[rows]]
        for number in np.unique(owner):
            yield (nodes[number] if number >= 0 else None), pa.array(rows[owner == number])

    def _order(self, keys: pa.BinaryArray, partitions: npt.NDArray[np.int32], hashes: Hashes) -> npt.NDArray[np.int64]:
        """The rows in the order in which a node holds them: each partition has a tree of its keys, by their hash codes (CacheDataTree).

        A node takes 7 µs an entry for 20,000 in this order, 10 µs in any other: neighbours find the tree's pages in the processor's cache.
        Equal ones of a TRANSACTIONAL cache go by their bytes: two writers that lock the same keys in one order do not wait for each other.
        """
        places = (partitions.astype(np.int64) << 32) + hashes
        if self.cache.atomicity != "TRANSACTIONAL":
            return np.argsort(places)
        by_bytes = pc.array_sort_indices(keys).to_numpy().astype(np.int64)
        rows: Int64Array = by_bytes[np.argsort(places[by_bytes], kind="stable")]
        return rows

    def _cuts(self, entries: pa.BinaryArray) -> Iterator[tuple[int, int]]:
        """Ranges of rows for one request each; an entry that is larger than a request may be goes alone."""
        ends = np.cumsum(lengths_of([entries]))
        start = 0
        while start < len(entries):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + self.limits.size_bytes, side="right"))
            stop = min(max(stop, start + 1), start + self.limits.entries, len(entries))
            yield start, stop
            start = stop

    def _head(self, op: int, count: int) -> bytes:
        cache_id = self.cache.cache_id
        if op == protocol.STREAMER_START:
            flags = _SKIP_STORE | _KEEP_BINARY | _FLUSH | _CLOSE
            return _INSERT.pack(cache_id, flags, _CLUSTER_DEFAULT, _CLUSTER_DEFAULT, _NULL, count)
        return _WRITE.pack(cache_id, 0, count)

    def _send(self, node: uuid.UUID | None, op: int, payload: bytes) -> None:
        waiting = self._waiting.setdefault(node, deque())
        while len(waiting) >= self.limits.in_flight:
            self._await(waiting.popleft())
        connection = self.cluster.connection(node)
        try:
            waiting.append(self._sent(connection, op, payload))
        except IgniteUnreachable as error:  # a node does nothing of a request that has not come whole
            self._again(op, payload, error)

    def _sent(self, connection: ThinConnection, op: int, payload: bytes) -> _Request:
        return _Request(op, payload, connection, connection.send(op, payload), self._topology, time.monotonic())

    def _await(self, request: _Request) -> None:
        try:
            self._reply(request)
            self._taken_by(request.connection)
        except ThinError as error:
            self._again(request.op, request.payload, self._refused(request.connection, error))
        except IgniteUnreachable as error:
            self._again(request.op, request.payload, error)

    def _reply(self, request: _Request) -> None:
        """Await the answer to a request for as long as it may still be carried out.

        :raises ThinError: the node has refused it.
        :raises IgniteUnreachable: there will be none, and the request may be sent again.
        :raises OutcomeUnknown: there was none in time.
        """
        connection, endpoint = request.connection, self.cluster.endpoint
        most_s = max(endpoint.request_timeout_ms, endpoint.retry_timeout_ms) / 1000
        wait_s = endpoint.request_timeout_ms / 1000
        while request.op != protocol.STREAMER_START and not _answered(request, wait_s):
            if self.cluster.has_left(connection, request.topology):
                connection.close()
                what = "a node left the cluster before it told whether it has taken entries"
                raise IgniteUnreachable(what, "Send them again, to another node", **self._place(connection))
            waited_s = time.monotonic() - request.sent_at
            if waited_s > most_s:
                what = f"a node was sent entries of a cache and gave no answer in {waited_s:.0f} s: it may still put them"
                remedy = "See what holds the node up, or stop it. Run again then: the same entries are put once more"
                raise OutcomeUnknown(what, remedy, **self._place(connection))
            wait_s = min(_LOOK_S, wait_s)
        connection.receive(request.request_id)

    def _place(self, connection: ThinConnection) -> dict[str, Any]:
        return {"cache": self.cache.name, "node": connection.node_id, "address": connection.address}

    def _taken_by(self, connection: ThinConnection) -> None:
        if self._inserting is not None:
            self._inserting.connections.add(connection)

    def _again(self, op: int, payload: bytes, error: IgniteKafkaError) -> None:
        """Send a request once more and wait for its answer, until the endpoint's time for a request is over before it is sent."""
        deadline = time.monotonic() + self.cluster.endpoint.request_timeout_ms / 1000
        for _ in range(_MOST_TRIES):
            if error.final or time.monotonic() > deadline:
                raise error
            connection = self.cluster.connection()
            try:
                self._reply(self._sent(connection, op, payload))
                self._taken_by(connection)
                return
            except ThinError as refused:
                error = self._refused(connection, refused)
            except IgniteUnreachable as lost:
                error = lost
        raise error

    def _refused(self, connection: ThinConnection, error: ThinError) -> IgniteKafkaError:
        place = self._place(connection)
        if error.status == protocol.CACHE_DOES_NOT_EXIST:
            return CacheDestroyed("a cache went away while entries were put into it", "Make it again, or stop writing to it", **place)
        what = f"Ignite did not take entries of a cache: {in_message(_without_keys(error.message))}"
        if error.status == protocol.SECURITY_VIOLATION:
            return WriteFailed(what, "Give the user the right to put and remove entries of the cache", **place)
        if _OF_A_COLUMN.search(error.message):
            return EntriesRefused(what, "Correct the value, or the column in the cache's query entity", **place)
        for cause, remedy in _CAUSES.items():
            if cause.lower() in error.message.lower():
                return WriteFailed(what, remedy, **place)
        if any(cause in error.message.lower() for cause in _MAY_PASS):
            return IgniteUnreachable(what, _MAY_PASS_REMEDY, **place)
        return WriteFailed(what, "The node's log says more", **place)


def _without_keys(message: str) -> str:
    """Of a failed update a node tells every key, and not the cause, which it keeps to its log."""
    head, found, _ = message.partition(_UPDATE_FAILED)
    return f"{head}{found})" if found else message


def _answered(request: _Request, wait_s: float) -> bool:
    """Whether the answer has come; it never will by a connection that was given up, whose node may still be at it."""
    try:
        return request.connection.answered(request.request_id, wait_s)
    except IgniteUnreachable:
        if not request.connection.gave_up:
            raise
    time.sleep(min(_LOOK_S, wait_s))
    return False


@dataclass
class _Inserting:
    """Entries that data streamers insert: the affinity's version before, and the connections of the nodes that have taken them."""

    since: tuple[int, int]
    connections: set[ThinConnection] = field(default_factory=set)

    def changed(self) -> bool:
        """Whether one of those nodes knows of another version now, which any reply tells, or is gone."""
        try:
            for connection in self.connections:
                connection.request(protocol.CLUSTER_STATE, b"")
        except IgniteUnreachable:
            return True
        return any(connection.affinity is not None and connection.affinity > self.since for connection in self.connections)


@dataclass(frozen=True)
class _Request:
    """One request on its way, with all that is needed to send it again."""

    op: int
    payload: bytes
    connection: ThinConnection
    request_id: int
    topology: int
    sent_at: float
