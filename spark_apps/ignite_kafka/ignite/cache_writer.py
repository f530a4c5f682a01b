"""Writer of entries to a cache in batches, with several requests in flight to each node.

Entries go to the primary node of their partition, which saves a hop; any other node would forward them.

A request without a reply must not be repeated blindly: the first one may execute after newer entries of its keys. A
node executes requests in any order, also those of a connection that was closed since, and reports their outcome on no
other connection. So:
- A slow node: wait on the same connection for `retry_timeout_ms`. After that the outcome is unknown: OutcomeUnknown.
- A node that left the topology cannot execute the request any more: send it to another node.
- A broken connection, as after the death of a node: send it to another node. If the first node is alive, has read the
  request and executes it late, that stale entry stays until the next entry of the key.
- An insert leaves existing entries as they are, so a late one does no harm: send it again at once.

With a fence (:mod:`.write_fence`) a late request changes nothing: before a request without a reply is sent again, the
task takes a new turn, which ends the right of the first one. With versions (:mod:`.entry_versions`) it changes nothing
either, because nodes compare them.
"""

from __future__ import annotations

import struct
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array
from ..common.heartbeat import beat
from ..common.measurements import PUT, count_retry, observe
from ..common.python_compat import Self
from ..errors import (
    EntriesRefused,
    IgniteKafkaError,
    IgniteUnreachable,
    OutcomeUnknown,
)
from . import protocol
from .backlog_service import SERVICE_INVOKE
from .binary.byte_columns import data_of, join_columns, lengths_of
from .binary.key_hashes import Hashes, key_hashes, partitions_of
from .cache_inserts import INSERTS, SINGLE_IN_FLIGHT, Streaming, insert_head, insert_op
from .cluster import Cluster
from .connection import ThinConnection
from .entry_versions import EntryVersions
from .foreign_classes import Closings
from .protocol import ThinError
from .types.model import CacheInfo
from .write_fence import WriteFence, WriterToken, entries_head, is_fenced
from .write_refusals import refusal

_WRITE = struct.Struct("<iBi")
_MOST_TRIES = 3
_LOOK_S = 2.0  # between two checks whether a node that does not reply has left


@dataclass(frozen=True)
class WriteLimits:
    """Limits of write requests: entries and bytes in a request, and requests in flight to one node.

    :param entries: maximum entries per request.
    :param size_bytes: maximum bytes of entries per request; a larger entry goes alone.
    :param in_flight: maximum requests in flight to one node.
    """

    entries: int = 20_000
    size_bytes: int = 8 << 20
    in_flight: int = 1


FENCED_LIMITS = WriteLimits(size_bytes=3 << 20)
"""Limits of fenced requests: the service accepts a sixteenth of a node's heap, and a node may have one of 64 MiB."""


class CacheWriter:
    """Puts and removes entries of one cache in batches; a context manager, not thread-safe.

    Between two flushes a key may be put only once: neither requests in flight nor repeated ones have an order.

    :param overwrite: False: existing entries stay as they are. A data streamer of the node inserts then, which may lose
        entries that it has confirmed while nodes join or leave: :meth:`flush` raises in that case. Ignite before 2.11
        inserts each entry by a request.
    :param fence: right of the task to write, compared by the nodes; None: nodes execute every request.
    :param before_request: called directly before each request is sent; its errors end the call, and nothing is sent.
    """

    def __init__(
        self,
        cluster: Cluster,
        cache: CacheInfo,
        *,
        overwrite: bool,
        limits: WriteLimits | None = None,
        fence: WriteFence | None = None,
        before_request: Callable[[], None] | None = None,
    ) -> None:
        self.fence = fence
        self._before_request = before_request
        self.cluster = cluster
        self.cache = cache
        self.overwrite = overwrite
        self.limits = limits or (WriteLimits() if fence is None else FENCED_LIMITS)
        self._waiting: dict[uuid.UUID | None, deque[_Request]] = {}
        self._streaming: Streaming | None = None
        self._insert_op: int | None = None
        self._topology = 0

    def put(self, keys: pa.BinaryArray, values: pa.BinaryArray, versions: EntryVersions | None = None) -> None:
        """Send entries to the nodes; :meth:`flush` waits until they are stored.

        :param keys: N keys in Ignite's binary format, as :func:`~ignite_kafka.ignite.binary.encode.encoded` returns
            them.
        :param values: N values in the same format.
        :param versions: N versions, by which nodes decide whether an entry is stored; None: every entry is.
        :raises IgniteUnreachable, OutcomeUnknown, WriteFailed, CacheDestroyed: as :meth:`flush`, also for entries of
            earlier calls.
        """
        if versions is not None:
            self._write(protocol.CACHE_PUT_ALL_CONFLICT, keys, values, versions.encoded(with_expiry=True))
            return
        if self.fence is not None:
            self._write(SERVICE_INVOKE, keys, values)
            return
        if self.overwrite:
            self._write(protocol.CACHE_PUT_ALL, keys, values)
            return
        if self._insert_op is None:
            self._insert_op = insert_op(self.cluster, self.cache.cache_id)
        self._write(self._insert_op, keys, values)

    def remove(self, keys: pa.BinaryArray, versions: EntryVersions | None = None) -> None:
        """Send removals of N keys; :meth:`flush` waits for them. Parameters and errors are those of :meth:`put`."""
        if versions is not None:
            self._write(protocol.CACHE_REMOVE_ALL_CONFLICT, keys, None, versions.encoded(with_expiry=False))
            return
        self._write(protocol.CACHE_REMOVE_KEYS if self.fence is None else SERVICE_INVOKE, keys, None)

    def flush(self) -> None:
        """Wait until the nodes have stored all entries sent so far.

        :raises IgniteUnreachable: no node accepted some entries in the endpoint's time-out, or no node replies; or
            nodes joined or left while entries were inserted: pass all entries since the last flush again.
        :raises OutcomeUnknown: a node did not reply in the endpoint's `retry_timeout_ms` and has not left the cluster.
        :raises WriteFailed: a node refused some entries; the message has its reason.
        :raises EntriesRefused: a node refused the values of some entries, or cannot load a class; all other requests
            have their replies.
        :raises CacheDestroyed: the cache no longer exists.
        """
        refused = None
        for waiting in self._waiting.values():
            while waiting:
                try:
                    self._settle(waiting.popleft())
                except EntriesRefused as error:
                    refused = refused or error
        if refused is not None:
            raise refused
        streaming = self._streaming
        self._streaming = None
        if streaming is not None and streaming.changed():
            raise IgniteUnreachable(
                "nodes came or went while entries were inserted; the data streamer may have lost some of them",
                "Nothing to do where the same entries are put once more, as a sink does",
                cache=self.cache.name,
            )

    def close(self) -> None:
        """Wait until no request is in flight, so that none executes after later puts; outcomes do not matter.

        :raises OutcomeUnknown: as :meth:`flush`.
        """
        self._streaming = None
        requests = [request for waiting in self._waiting.values() for request in waiting]
        self._waiting.clear()
        for request in requests:
            if request.op in INSERTS:
                request.connection.forget(request.request_id)
            else:
                with suppress(ThinError, IgniteUnreachable):
                    self._await_reply(request)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(
        self, op: int, keys: pa.BinaryArray, values: pa.BinaryArray | None, versions: pa.BinaryArray | None = None
    ) -> None:
        columns = [column for column in (keys, values, versions) if column is not None]
        if op == protocol.STREAMER_START and self._streaming is None:
            self._streaming = Streaming(self.cluster.partitions(self.cache.cache_id).affinity)
        for node, rows in self._group_by_node(keys):
            parts = columns if rows is None else [column.take(rows) for column in columns]
            entries = join_columns(parts)
            single = op == protocol.CACHE_PUT_IF_ABSENT
            for start, stop in (
                ((row, row + 1) for row in range(len(entries))) if single else self._request_ranges(entries)
            ):
                piece = entries.slice(start, stop - start)
                if op == SERVICE_INVOKE:
                    head = entries_head(*(part.slice(start, stop - start) for part in parts))
                else:
                    head = self._request_head(op, len(piece))
                self._send(node, op, head + data_of(piece).data)

    def _group_by_node(self, keys: pa.BinaryArray) -> Iterator[tuple[uuid.UUID | None, pa.Array | None]]:
        """Group keys by the primary node of their partition, which saves a hop; yield node and rows.

        Node None is any node; rows None are all rows in their order.
        """
        if not len(keys):
            return
        owners = self.cluster.partitions(self.cache.cache_id)
        self._topology = owners.affinity[0]
        nodes = list(dict.fromkeys(owners.primary.values()))
        hashes, is_hashed = key_hashes(keys)
        is_hashed &= not owners.affinity_keys
        partitions = np.where(is_hashed, partitions_of(hashes, len(owners.primary) or self.cache.partitions), -1)
        rows = self._sort_rows(keys, partitions, hashes)
        if len(nodes) < 2:
            in_order = bool((np.diff(rows) > 0).all())
            yield (nodes[0] if nodes else None), None if in_order else pa.array(rows)
            return
        owner_of = np.full(max(owners.primary) + 2, -1)  # the last item is for keys of unknown partition
        owner_of[list(owners.primary)] = [nodes.index(node) for node in owners.primary.values()]
        owner = owner_of[partitions[rows]]
        for number in np.unique(owner):
            yield (nodes[number] if number >= 0 else None), pa.array(rows[owner == number])

    def _sort_rows(
        self, keys: pa.BinaryArray, partitions: npt.NDArray[np.int32], hashes: Hashes
    ) -> npt.NDArray[np.int64]:
        """Sort the rows in the order of a node's storage, which makes puts faster and avoids deadlocks.

        Each partition has a tree of its keys, ordered by hash code (CacheDataTree).

        A node needs 7 µs per entry for 20,000 in this order and 10 µs in any other: neighbours find the tree's pages in
        the CPU cache. Keys of one hash in a TRANSACTIONAL cache are ordered by their bytes: writers that lock the same
        keys in one order cannot deadlock.
        """
        places = (partitions.astype(np.int64) << 32) + hashes
        if self.cache.atomicity != "TRANSACTIONAL":
            return np.argsort(places)
        by_bytes = pc.array_sort_indices(keys).to_numpy().astype(np.int64)
        rows: Int64Array = by_bytes[np.argsort(places[by_bytes], kind="stable")]
        return rows

    def _request_ranges(self, entries: pa.BinaryArray) -> Iterator[tuple[int, int]]:
        """Divide rows into ranges, one for each request; an entry above the size limit goes alone."""
        ends = np.cumsum(lengths_of([entries]))
        start = 0
        while start < len(entries):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + self.limits.size_bytes, side="right"))
            stop = min(max(stop, start + 1), start + self.limits.entries, len(entries))
            yield start, stop
            start = stop

    def _request_head(self, op: int, count: int) -> bytes:
        return (
            insert_head(op, self.cache.cache_id, count) if op in INSERTS else _WRITE.pack(self.cache.cache_id, 0, count)
        )

    def _send(self, node: uuid.UUID | None, op: int, payload: bytes) -> None:
        waiting = self._waiting.setdefault(node, deque())
        most = self.limits.in_flight * (SINGLE_IN_FLIGHT if op == protocol.CACHE_PUT_IF_ABSENT else 1)
        while len(waiting) >= most:
            self._settle(waiting.popleft())
        connection = self.cluster.connection(node)
        try:
            waiting.append(self._send_request(connection, op, payload))
        except IgniteUnreachable as error:  # a node does not execute a request that arrived in part
            self._send_again(op, payload, error)

    def _send_request(self, connection: ThinConnection, op: int, payload: bytes) -> _Request:
        fence = self.fence
        sent = payload if fence is None else fence.payload(self.cache.name, payload, insert=not self.overwrite)
        token = None if fence is None else fence.token
        if self._before_request is not None:
            self._before_request()
        return _Request(op, payload, connection, connection.send(op, sent), self._topology, time.monotonic(), token)

    def _settle(self, request: _Request) -> None:
        try:
            self._await_reply(request)
            observe(PUT, time.monotonic() - request.sent_at)
            self._note_accepted(request.connection)
        except ThinError as error:
            self._send_again(request.op, request.payload, self._refused(request, error))
        except IgniteUnreachable as error:
            self._send_again(request.op, request.payload, error)

    def _await_reply(self, request: _Request) -> None:
        """Wait for the reply to a request, as long as its node may still execute the request.

        :raises ThinError: the node refused the request.
        :raises IgniteUnreachable: no reply will come, and the request may be sent again.
        :raises OutcomeUnknown: no reply came in time.
        """
        connection = request.connection
        endpoint = self.cluster.endpoint
        most_s = max(endpoint.request_timeout_ms, endpoint.retry_timeout_ms) / 1000
        wait_s = endpoint.request_timeout_ms / 1000
        while request.op not in INSERTS and not _has_reply(request, wait_s):
            if self.cluster.has_left(connection, request.topology):
                connection.close()
                what = "a node left the cluster before it confirmed entries"
                raise IgniteUnreachable(what, "Send them again, to another node", **self._where(connection))
            waited_s = time.monotonic() - request.sent_at
            if waited_s > most_s:
                what = (
                    f"a node was sent entries of a cache and gave no answer in {waited_s:.0f} s: it may still put them"
                )
                remedy = "See what holds the node up, or stop it. Run again then: the same entries are put once more"
                raise OutcomeUnknown(what, remedy, **self._where(connection))
            beat()  # the wait has its own limit
            wait_s = min(_LOOK_S, wait_s)
        connection.receive(request.request_id)

    def _where(self, connection: ThinConnection) -> dict[str, Any]:
        return {"cache": self.cache.name, "node": connection.node_id, "address": connection.address}

    def _note_accepted(self, connection: ThinConnection) -> None:
        if self._streaming is not None:
            self._streaming.connections.add(connection)

    def _send_again(self, op: int, payload: bytes, error: IgniteKafkaError) -> None:
        """Send a failed request again, at most three times within the request time-out, and wait for its reply."""
        deadline = time.monotonic() + self.cluster.endpoint.request_timeout_ms / 1000
        closings = Closings(payload if isinstance(error, IgniteUnreachable) else b"", self.cluster)
        for _ in range(_MOST_TRIES):
            if error.final or time.monotonic() > deadline:
                raise error
            if self.fence is not None and isinstance(error, IgniteUnreachable):
                self.fence.take_turn()
            connection = self.cluster.connection()
            count_retry(PUT)
            try:
                request = self._send_request(connection, op, payload)
                self._await_reply(request)
                observe(PUT, time.monotonic() - request.sent_at)
                self._note_accepted(connection)
                return
            except ThinError as refused:
                error = self._refused(request, refused)
            except IgniteUnreachable as lost:
                error = closings.closed(self.cache.name) or lost
        raise error

    def _refused(self, request: _Request, error: ThinError) -> IgniteKafkaError:
        place = self._where(request.connection)
        if self.fence is None or not is_fenced(error):
            return refusal(error, place)
        if request.token != self.fence.token:  # fenced by this task's own next turn
            return IgniteUnreachable("a later turn of the task fenced a request", "It is sent again", **place)
        return self.fence.fenced(error)


def _has_reply(request: _Request, wait_s: float) -> bool:
    """Wait for the reply to a request, and return whether it has arrived.

    An abandoned connection never replies, though its node may still execute the request.
    """
    try:
        return request.connection.answered(request.request_id, wait_s)
    except IgniteUnreachable:
        if not request.connection.gave_up:
            raise
    time.sleep(min(_LOOK_S, wait_s))
    return False


@dataclass(frozen=True)
class _Request:
    """Request in flight, with everything needed to send it again."""

    op: int
    payload: bytes
    connection: ThinConnection
    request_id: int
    topology: int
    sent_at: float
    token: WriterToken | None = None
