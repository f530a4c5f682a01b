"""Continuous queries (op 2006): a node notifies the client of all changes of a cache.

Notifications are op 2007.

A query lives as long as its connection, and receives all changes that are made on any node after its registration;
changes of one key keep their order. Changes on the query's node arrive at once, changes on other nodes after at most
the interval. A node buffers in its heap what the client does not read. After the cache is destroyed or the cluster
deactivated, the query never sends anything again, not even an error. So a cursor is kept open beside it, as
`cache_identity.py` explains, and its next page is requested when the affinity version changes. Source:
`ClientCacheQueryContinuousRequest` and `ClientCacheEntryEventNotification` in apache/ignite; Ignite has it since 2.10.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..common.arrays import Mask
from ..common.deadline import Clock, Interval
from ..errors import CacheDestroyed, CacheNotFound, DecodeError, IgniteKafkaError, ScanFailed
from . import protocol
from .binary import entry_cuts
from .binary.value_end import Malformed, end_of
from .connection import ThinConnection
from .protocol import ThinError
from .types import type_codes as codes
from .types.model import Page

PAGE_ROWS = 256
"""Number of changes that another node collects before sending them, unless the interval ends first.

A frame has old and new values.
"""
_REQUEST = struct.Struct("<iBiq?B")
_ID = struct.Struct("<q")
_COUNT = struct.Struct("<i")
_KEEP_BINARY = 1
_ANY_PARTITION = -1
_GONE = 2, 3  # removed, expired
_NULL = bytes([codes.NULL])
_CHECK_S = 2.0


@dataclass(frozen=True)
class CacheEvents:
    """N changes of one cache from a continuous query; changes of one key are in order.

    :param page: keys and new values; null for a removed key.
    :param removed: N flags: the key was removed, or its entry expired.
    """

    cache: str
    page: Page
    removed: Mask

    def without_removals(self) -> CacheEvents:
        """Return a copy without removed and expired keys."""
        if not self.removed.any():
            return self
        cuts = entry_cuts(self.page, self.cache)
        kept = [self.page.data[cuts[2 * row] : cuts[2 * row + 2]] for row in np.flatnonzero(~self.removed).tolist()]
        page = replace(self.page, rows=len(kept), data=memoryview(b"".join(kept)))
        return CacheEvents(self.cache, page, np.zeros(len(kept), bool))


def query_request(cache_id: int, rows: int, interval_ms: int, *, expired: bool) -> bytes:
    """Encode the request that starts a continuous query (op 2006, keep-binary, no filter).

    :param rows: see :data:`PAGE_ROWS`.
    :param interval_ms: longest time that another node collects changes.
    :param expired: whether entries that expire are notified.
    """
    return _REQUEST.pack(cache_id, _KEEP_BINARY, rows, interval_ms, expired, codes.NULL)


def check_supported(connection: ThinConnection) -> None:
    """Check that the node supports continuous queries, by requesting one of an impossible cache.

    A node with continuous queries replies that the cache is missing.

    :raises IgniteKafkaError: the node's Ignite is too old.
    """
    try:
        connection.request(protocol.QUERY_CONTINUOUS, query_request(0, PAGE_ROWS, 0, expired=False))
    except ThinError as error:
        if error.status == protocol.INVALID_OPERATION:
            raise _query_error("", error, connection) from error


def parse_events(cache: str, body: memoryview) -> CacheEvents:
    """Parse a notification of changes: key, old value, new value and kind of each.

    :raises DecodeError: the bytes do not contain that many changes.
    """
    position = _COUNT.size
    removed = bytearray()
    parts = list[memoryview | bytes]()
    try:
        for _ in range(_COUNT.unpack_from(body)[0]):
            key_end = end_of(body, position, len(body))
            old_end = end_of(body, key_end, len(body))
            new_end = end_of(body, old_end, len(body))
            gone = body[new_end] in _GONE
            parts += body[position:key_end], _NULL if gone else body[old_end:new_end]
            removed.append(gone)
            position = new_end + 1
    except (Malformed, IndexError, struct.error) as error:
        what = f"a notification of a continuous query cannot be read: {error}"
        raise DecodeError(what, "Nothing of it was used", cache=cache, position=position) from error
    return CacheEvents(cache, Page(-1, len(removed), memoryview(b"".join(parts)), True), np.frombuffer(removed, bool))


def joined(events: Sequence[CacheEvents]) -> CacheEvents:
    """Join several notifications of one cache, because converting each alone is slow.

    Most notifications have one change, and each page has a fixed cost.

    :param events: events to join, at least one.
    """
    rows = sum(event.page.rows for event in events)
    data = b"".join(event.page.data for event in events)
    return CacheEvents(
        events[0].cache, Page(-1, rows, memoryview(data), True), np.concatenate([event.removed for event in events])
    )


class ContinuousQueries:
    """Continuous queries of several caches on one connection, which is closed with them; not thread-safe.

    :param caches: names of the caches; each takes two of the connection's cursors on the node.
    :param interval_ms: longest time that another node collects changes.
    :param expired: whether entries that expire are notified.
    :raises CacheNotFound: a cache does not exist.
    :raises ScanFailed: the node cannot begin a query now.
    :raises IgniteKafkaError: the node refuses queries; the message says why.
    :raises IgniteUnreachable: from any method: the connection is lost, and with it the queries.
    """

    def __init__(
        self,
        connection: ThinConnection,
        caches: Sequence[str],
        interval_ms: int,
        *,
        expired: bool,
        clock: Clock = time.monotonic,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._checks = Interval(_CHECK_S, clock)
        self._check = (0, 0.0)  # request of the pending check, 0 if none, and its time
        self._interval_ms = interval_ms
        self._expired = expired
        self._closing: list[int] = []
        self._queries: dict[str, int] = {}  # id by cache
        self._caches: dict[
            int, str
        ] = {}  # by id, also of queries that were ended: their notifications may be on the way
        self._proofs: dict[str, int] = {}  # cursor id by cache
        self._proving: dict[int, str] = {}  # cache by request id
        for cache in caches:
            self._begin(cache)
        self._affinity = connection.affinity

    def _begin(self, cache: str) -> None:
        """Start the query of a cache, and open a cursor that fails once the cache is destroyed."""
        cache_id = protocol.cache_id(cache)
        try:
            payload = query_request(cache_id, PAGE_ROWS, self._interval_ms, expired=self._expired)
            body = self._connection.subscribe(protocol.QUERY_CONTINUOUS, payload)
            self._queries[cache] = query = _ID.unpack_from(body)[0]
            self._caches[query] = cache
            body = self._connection.request(
                protocol.QUERY_SCAN, protocol.scan_request(cache_id, _ANY_PARTITION, 1, local=True)
            )
            if body[-1]:
                self._proofs[cache] = _ID.unpack_from(body)[0]
        except ThinError as error:
            self._connection.close()
            raise _query_error(cache, error, self._connection) from error

    @property
    def lost(self) -> bool:
        """Whether the connection was lost, so that no more changes arrive."""
        return self._connection.closed

    @property
    def address(self) -> str:
        """Address of the node that the queries run on."""
        return self._connection.address

    def read(self, wait_s: float) -> CacheEvents | None:
        """Wait at most `wait_s` seconds for the next notification, and return its changes; None without one."""
        reply = self._connection.notification(wait_s)
        if reply is None:
            return None
        if reply.error is not None:
            raise self._connection.fail(f"a continuous query failed: {reply.error.message}")
        self._check = self._check[0], self._clock()  # the reply to a check comes after the notification
        return parse_events(self._caches[reply.request_id], reply.body)

    def check(self, timeout_s: float) -> list[str]:
        """Check that node and queries are alive; call it between reads, it acts at intervals.

        :param timeout_s: maximum seconds in which a node may send nothing.
        :returns: caches whose queries may have ended: some cache was created or destroyed, and no cursor can prove that
            it was another one, because the node had fewer than two entries of the cache. Call :meth:`begin_again` for
            them.
        :raises CacheDestroyed: a cache was destroyed, or recreated.
        :raises IgniteUnreachable: the node has not answered, or the cluster was deactivated, which ends all queries.
        """
        self._check_node(timeout_s)
        for request in [request for request in self._proving if self._connection.has_reply(request)]:
            self._read_proof(self._proving.pop(request), request)
        if self._connection.affinity == self._affinity:
            return []
        self._affinity = self._connection.affinity
        for cache, cursor in self._proofs.items():
            self._proving[self._connection.send(protocol.QUERY_SCAN_PAGE, _ID.pack(cursor))] = cache
        return [cache for cache in self._queries if cache not in self._proofs]

    def begin_again(self, cache: str) -> None:
        """Replace a cache's query by a new one; changes in between may arrive twice, but none is lost.

        :raises CacheNotFound, ScanFailed, IgniteKafkaError: as the constructor.
        """
        before = self._queries[cache]
        self._begin(cache)
        self._connection.forget(self._connection.send(protocol.RESOURCE_CLOSE, _ID.pack(before)))

    def _read_proof(self, cache: str, request: int) -> None:
        try:
            more = self._connection.receive(request)[-1]
        except ThinError as error:
            raise CacheDestroyed(
                "the cache was destroyed while its changes were followed", "Start again.", cache=cache
            ) from error
        if not more:  # the node has closed the cursor
            del self._proofs[cache]

    def _check_node(self, timeout_s: float) -> None:
        request, since = self._check
        if not request:
            if self._checks.due():
                self._check = self._connection.send(protocol.CLUSTER_STATE, b""), self._clock()
        elif self._connection.has_reply(request):
            self._check = 0, since
            if not self._connection.receive(request)[0]:
                raise self._connection.fail("the cluster was deactivated, which ends continuous queries")
        elif self._clock() - since > timeout_s:
            raise self._connection.fail("no answer in time")

    def end(self) -> None:
        """Request the end of the queries; changes sent before can still be read."""
        ids = [*self._queries.values(), *self._proofs.values()]
        self._closing += [self._connection.send(protocol.RESOURCE_CLOSE, _ID.pack(query_id)) for query_id in ids]

    @property
    def ended(self) -> bool:
        """Whether the node has ended the queries, and all their changes have been read."""
        return bool(self._closing) and all(map(self._connection.has_reply, self._closing))

    def close(self) -> None:
        """Close the connection, which ends the queries."""
        self._connection.close()


def _query_error(cache: str, error: ThinError, connection: ThinConnection) -> IgniteKafkaError:
    where = {**({"cache": cache} if cache else {}), "address": connection.address, "node": connection.node_id}
    if error.status == protocol.CACHE_DOES_NOT_EXIST:
        return CacheNotFound(
            "the cluster has no such cache", "Check the name; upper and lower case differ", cache=cache
        )
    if error.status == protocol.SECURITY_VIOLATION:
        what = f"Ignite does not let this user follow a cache's changes: {error.message}"
        return IgniteKafkaError(what, "Give the user the right to read it", **where)
    if error.status == protocol.TOO_MANY_CURSORS:
        what = "the node allows one connection no more continuous queries; each cache of a task takes two cursors"
        remedy = (
            "Raise ClientConnectorConfiguration.maxOpenCursorsPerConnection of the nodes, or tasks_max, or name fewer "
            "caches"
        )
        return IgniteKafkaError(what, remedy, **where)
    if error.status == protocol.INVALID_OPERATION:
        what = f"the node's Ignite has no continuous queries for thin clients: {error.message}"
        remedy = (
            "Use Ignite 2.10 or newer; or on Ignite 2.9 the backlog service (docs/deploy.md) and failover_policy "
            "BACKLOG"
        )
        return IgniteKafkaError(what, remedy, **where)
    return ScanFailed(
        f"a node could not begin a continuous query: {error.message}", "The node's log says more", **where
    )
