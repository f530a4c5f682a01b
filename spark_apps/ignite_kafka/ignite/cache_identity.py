"""Detection of a cache that is destroyed or recreated while it is scanned.

The thin client protocol has neither a cache's deployment id nor its start time. It has the following, as seen on real
nodes:
- Each reply reports a changed affinity version. Destroying or creating any cache changes it: without a change there is
  nothing to check.
- A cursor opened with the local flag fails with CacheStoppedException once its cache is destroyed, even if a cache of
  the same name exists again. So one such cursor, kept open with rows left to read, is the proof after a change of the
  version.
- A cursor whose rows come from another node does *not* fail: it ends early, without an error. `scan.py` checks such
  scans.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ..errors import CacheDestroyed, CacheNotFound, IgniteKafkaError, IgniteUnreachable, ScanFailed
from . import protocol
from .cluster import Cluster
from .connection import ThinConnection
from .protocol import ThinError
from .types.model import CacheInfo

CURSOR = struct.Struct("<q")
_STOPPED = "CacheStoppedException"
_LOST = "partition has been lost"


class _NoCursorFree(Exception):
    """Raised because the node allows this connection no further cursor for now."""


@dataclass(frozen=True)
class _Pin:
    connection: ThinConnection
    partition: int
    cursor: int


class CacheWatch:
    """Detector of a cache destroyed or recreated during a scan; for the thread of its cluster.

    Until a cursor is pinned (a partition with two entries was read from its primary), a changed version only leads to a
    check that a cache of that name exists.
    """

    def __init__(self, cluster: Cluster, cache: CacheInfo, affinity: tuple[int, int]) -> None:
        self.cluster = cluster
        self.cache = cache
        self.affinity = affinity
        self._pin: _Pin | None = None

    @property
    def pinned(self) -> bool:
        """Whether an open cursor proves that the cache is still the same."""
        return self._pin is not None

    def pin(self, connection: ThinConnection, partition: int, cursor: int) -> None:
        """Keep a local cursor with rows left open, because it fails once the cache is destroyed."""
        self._pin = _Pin(connection, partition, cursor)

    def pin_partition(self, connection: ThinConnection, partition: int) -> bool:
        """Open a cursor on a partition and keep it open, because it fails once the cache is destroyed.

        Pages have one row; without a second row the cursor is of no use.

        :returns: False if the node allows this connection no further cursor.
        """
        try:
            cursor = self._open(connection, partition)
        except _NoCursorFree:
            return False
        if cursor is not None:
            self.pin(connection, partition, cursor)
        return True

    def check(self, connection: ThinConnection) -> None:
        """Check that the cache is still the same, if the affinity version has changed since the last check.

        :raises CacheDestroyed: the cache was destroyed, or created again.
        """
        if connection.affinity is None or connection.affinity <= self.affinity:
            return
        if self._pin is None:
            self._check_exists()
        else:
            self._prove(self._pin)
        self.affinity = connection.affinity

    def close(self) -> None:
        """Close the cursor that :meth:`pin` keeps open, if any."""
        if self._pin is not None:
            close_cursor(self._pin.connection, self._pin.cursor)
            self._pin = None

    def _check_exists(self) -> None:
        try:
            self.cluster.cache(self.cache.name)
        except CacheNotFound as error:
            raise CacheDestroyed("the cache was destroyed while it was read", cache=self.cache.name) from error

    def _prove(self, pin: _Pin) -> None:
        """Read from the pinned cursor, which fails if the cache was destroyed, and pin a new one.

        The new cursor is opened first, so that both belong to the same cache; the old one stays if the node allows no
        more.
        """
        room = True
        successor = None
        try:
            successor = self._open(pin.connection, pin.partition)
        except _NoCursorFree:
            room = False
        try:
            more = pin.connection.request(protocol.QUERY_SCAN_PAGE, CURSOR.pack(pin.cursor))[-1]
        except ThinError as error:
            raise failure(self.cache, pin.partition, pin.connection, error) from error
        except IgniteUnreachable as error:
            raise unreachable(self.cache, pin.partition, error) from error
        if more and not room:
            return
        if more:
            close_cursor(pin.connection, pin.cursor)
        self._pin = None if successor is None else _Pin(pin.connection, pin.partition, successor)

    def _open(self, connection: ThinConnection, partition: int) -> int | None:
        try:
            body = connection.request(
                protocol.QUERY_SCAN, protocol.scan_request(self.cache.cache_id, partition, 1, local=True)
            )
        except ThinError as error:
            if error.status == protocol.TOO_MANY_CURSORS:
                raise _NoCursorFree from error
            raise failure(self.cache, partition, connection, error) from error
        except IgniteUnreachable as error:
            raise unreachable(self.cache, partition, error) from error
        return int(CURSOR.unpack_from(body)[0]) if body[-1] else None


def close_cursor(connection: ThinConnection, cursor: int) -> None:
    """Close a cursor on its node without waiting for the reply; nothing to do on a closed connection."""
    if not connection.closed:
        connection.forget(connection.send(protocol.RESOURCE_CLOSE, CURSOR.pack(cursor)))


def failure(cache: CacheInfo, partition: int, connection: ThinConnection, error: ThinError) -> IgniteKafkaError:
    """Make the error for a node's refusal to read a partition: CacheDestroyed or ScanFailed.

    A stopping node reports its caches as stopped too, so the error is CacheDestroyed only if the node still answers for
    the cache.
    """
    if error.status == protocol.CACHE_DOES_NOT_EXIST or _STOPPED in error.message:
        exists = _exists(cache, connection)
        if exists is not None:
            what = (
                "the cache was destroyed and made again while it was read"
                if exists
                else "the cache was destroyed while it was read"
            )
            return CacheDestroyed(
                what, "Start a new snapshot if the cache is there on purpose", cache=cache.name, partition=partition
            )
    remedy = "Read the partition again; the node's log says more"
    if error.status == protocol.TOO_MANY_CURSORS:
        remedy = "Raise ClientConnectorConfiguration.maxOpenCursorsPerConnection of the nodes"
    if _LOST in error.message:
        remedy = "Bring its owners back, or reset the lost partitions of the cache"
    place = {"cache": cache.name, "partition": partition, "address": connection.address, "node": connection.node_id}
    return ScanFailed(f"a node could not read a partition: {error.message or error}", remedy, **place)


def unreachable(cache: CacheInfo, partition: int, error: IgniteUnreachable) -> ScanFailed:
    """Make the error for a partition whose node was lost during the scan."""
    place = {"cache": cache.name, "partition": partition, **error.where}
    return ScanFailed(f"a partition could not be read: {error.what}", "Read the partition again", **place)


def _exists(cache: CacheInfo, connection: ThinConnection) -> bool | None:
    """Ask a node whether it has a cache of that name; None if it cannot answer."""
    try:
        connection.request(protocol.CACHE_CONFIGURATION, struct.pack("<iB", cache.cache_id, 0))
    except ThinError as error:
        return False if error.status == protocol.CACHE_DOES_NOT_EXIST else None
    except IgniteUnreachable:
        return None
    return True
