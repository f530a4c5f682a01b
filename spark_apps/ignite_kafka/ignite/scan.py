"""Scans of cache partitions over the thin client protocol, with several requests in flight.

The requests are op 2000 with keep-binary, then 2001.

A page has the node's bytes: key, value, key, value ...; a binary object is wrapped as type code 27 (length, payload,
offset).

A partition is read from its primary node with the local flag, from that node's own copy: a destroyed cache or a
stopping node gives an error there. If the primary's address cannot be reached, another node fetches the rows; such a
scan can end early without an error (seen with Ignite 2.17 when the cache is destroyed), so it counts only if the
partition can still be opened afterwards and the affinity version has not changed since it began.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from ..common.measurements import READ, count_retry
from ..errors import IgniteKafkaError, IgniteUnreachable, ScanFailed
from . import protocol
from .cache_identity import CURSOR, CacheWatch, close_cursor, failure, unreachable
from .cluster import Cluster
from .connection import ThinConnection
from .page_size import PROBE_ROWS, PageSize
from .protocol import ThinError
from .types.model import CacheInfo, Page

_CURSOR_ROWS = struct.Struct("<qi")
_ROWS = struct.Struct("<i")
_MORE_IF_SMALL = 4
_NOT_HERE = "No queryable nodes for partition"
_MOST_REFUSALS = 32


def scan_partitions(
    cluster: Cluster, cache: CacheInfo, partitions: Sequence[int], *, page_bytes: int = 4 << 20, window: int = 8
) -> Generator[Page, None, None]:
    """Read all entries of some partitions of a cache, and yield them as pages.

    The pages of one partition come in order and together, the partitions in about the given order.

    The next page is requested before one is yielded, and so are the first pages of the next `window` partitions. Small
    pages may be four times as many, if together they hold no more than one full page. Closing the generator closes the
    open cursors.

    :param page_bytes: target page size in bytes; a page is larger if its rows are larger than those before.
    :param window: maximum full pages held or in flight.
    :raises ScanFailed: a partition could not be read to its end; the caller must discard its pages and read it again.
    :raises CacheDestroyed: the cache no longer exists, or was created again.
    """
    scan = Scan(cluster, cache, partitions, PageSize(page_bytes), window)
    try:
        yield from scan.pages()
    finally:
        scan.close()


@dataclass
class _PartitionScan:
    """State of the scan of one partition: request in flight, cursor, last page until it is confirmed."""

    connection: ThinConnection
    partition: int
    local: bool
    rows: int
    window: int
    request_id: int
    pages: int = 0
    cursor: int | None = None
    affinity: tuple[int, int] | None = None
    checked: Page | None = None


class Scan:
    """Scan of several partitions of a cache, with requests to several nodes in flight.

    Use it directly to let the nodes begin before the pages are needed: :meth:`begin`, later :meth:`pages`, finally
    :meth:`close`.

    :param size: estimate of an earlier scan of the cache, if any, so that partitions need not be opened again with
        larger pages.
    """

    def __init__(
        self, cluster: Cluster, cache: CacheInfo, partitions: Sequence[int], size: PageSize, window: int = 8
    ) -> None:
        self.cluster = cluster
        self.cache = cache
        self.window = max(1, window)
        self.left = deque(partitions)
        self.outstanding: deque[_PartitionScan] = deque()
        self.elsewhere: set[int] = set()
        self.refusals = 0
        self.size = size
        self.owners = cluster.partitions(cache.cache_id)
        self.watch = CacheWatch(cluster, cache, self.owners.affinity)

    def begin(self) -> None:
        """Request first pages of partitions, as many as may be in flight."""
        while self.left and len(self.outstanding) < self.room:
            self.open(self.left.popleft())

    @property
    def room(self) -> int:
        """Maximum number of pages in flight: `window`, or more while pages are small."""
        return max(self.window, min(self.window * _MORE_IF_SMALL, self.size.page_bytes // self.size.page_mean))

    def pages(self) -> Iterator[Page]:
        """Yield the pages of all partitions, in the order of their replies."""
        while self.left or self.outstanding:
            self.begin()
            scan = self.outstanding.popleft()
            try:
                page = self.step(scan)
            except IgniteKafkaError:
                self.drop(scan)
                raise
            if page is not None:
                yield page

    @property
    def guesses(self) -> bool:
        """Whether to try any node as the owner of a partition whose owner is not reported.

        A node logs each refusal with its stack trace. So after the first refusal, only a cursor for the watch, on a
        node's own partition, is worth some more refusals.
        """
        return not self.refusals or (not self.watch.pinned and self.refusals < _MOST_REFUSALS)

    def open(self, partition: int) -> None:
        """Open a partition's cursor on its primary node, or on another if the primary cannot serve it."""
        owner = self.owners.primary.get(partition)
        try:
            connection = self.cluster.connection(owner)
            holds = owner == connection.node_id if owner is not None else self.guesses
            local = holds and partition not in self.elsewhere
            payload = protocol.scan_request(self.cache.cache_id, partition, self.size.rows, local=local)
            request_id = connection.send(protocol.QUERY_SCAN, payload)
        except IgniteUnreachable as error:
            raise unreachable(self.cache, partition, error) from error
        self.outstanding.append(_PartitionScan(connection, partition, local, self.size.rows, self.window, request_id))

    def receive(self, scan: _PartitionScan) -> Page | None:
        """Receive the page that was requested; None if the partition must be opened again."""
        try:
            body = scan.connection.receive(scan.request_id)
        except ThinError as error:
            self.refused(scan, error)
            return None
        except IgniteUnreachable as error:
            raise unreachable(self.cache, scan.partition, error) from error
        if scan.checked is not None:
            return self.confirm(scan, body)
        if scan.cursor is None:
            scan.cursor, rows = _CURSOR_ROWS.unpack_from(body)
            scan.affinity = scan.connection.affinity
            data = body[_CURSOR_ROWS.size : -1]
        else:
            rows = _ROWS.unpack_from(body)[0]
            data = body[_ROWS.size : -1]
        scan.pages += 1
        self.size.saw(rows, len(data))
        self.watch.check(scan.connection)
        return Page(scan.partition, rows, data, not body[-1])

    def step(self, scan: _PartitionScan) -> Page | None:
        """Receive one page and request the next of the partition; None if there is no page to yield yet."""
        page = self.receive(scan)
        if page is None or scan.checked is not None:
            return page
        if scan.pages == 1 and (self.moved(scan) or self.too_small(scan, page)):
            self.left.appendleft(scan.partition)
            return None
        if not page.last:
            self.ask(scan, protocol.QUERY_SCAN_PAGE, CURSOR.pack(scan.cursor))
            return page
        if scan.local:
            if (
                page.rows > 1
                and not self.watch.pinned
                and not self.watch.pin_partition(scan.connection, scan.partition)
            ):
                self.window = max(1, self.window // 2)  # the next partition finds room for the watch's cursor
            return page
        scan.checked = page
        self.ask(scan, protocol.QUERY_SCAN, protocol.scan_request(self.cache.cache_id, scan.partition, 1, local=False))
        return None

    def moved(self, scan: _PartitionScan) -> bool:
        """Return whether a former primary sent the page, so that the partition must be read again elsewhere."""
        affinity = scan.connection.affinity
        if affinity is None or affinity <= self.owners.affinity:
            return False
        if not self.new_owner(scan):
            return False
        self.elsewhere.clear()
        self.drop(scan)
        return True

    def new_owner(self, scan: _PartitionScan) -> bool:
        """Read the owners of partitions again, and return whether the partition's primary has changed."""
        before = self.owners.primary.get(scan.partition)
        try:
            self.owners = self.cluster.partitions(self.cache.cache_id, scan.connection)
        except IgniteUnreachable as error:
            raise unreachable(self.cache, scan.partition, error) from error
        return before != self.owners.primary.get(scan.partition)

    def too_small(self, scan: _PartitionScan, page: Page) -> bool:
        """Return whether the partition should be opened again with larger pages; if so, give up its cursor.

        The watch takes the cursor if it has none yet, because it needs one with rows left; else the cursor is closed.
        """
        if page.last or scan.rows > PROBE_ROWS or not self.size.far_above(scan.rows):
            return False
        if scan.local and not self.watch.pinned and scan.cursor is not None:
            self.watch.pin(scan.connection, scan.partition, scan.cursor)
        else:
            self.drop(scan)
        return True

    def refused(self, scan: _PartitionScan, error: ThinError) -> None:
        """Handle a node's refusal: queue the partition again if another request may succeed, else raise."""
        if scan.pages or scan.checked is not None:
            raise failure(self.cache, scan.partition, scan.connection, error)
        if error.status == protocol.TOO_MANY_CURSORS and scan.window > 1:
            self.window = min(self.window, scan.window // 2)
        elif scan.local and _NOT_HERE in error.message:
            self.refusals += 1
            if not self.new_owner(scan):
                self.elsewhere.add(scan.partition)
        else:
            raise failure(self.cache, scan.partition, scan.connection, error)
        count_retry(READ)
        self.left.appendleft(scan.partition)

    def confirm(self, scan: _PartitionScan, body: memoryview) -> Page | None:
        """Confirm the last page of a partition read through another node; ScanFailed if the topology changed."""
        scan.cursor = _CURSOR_ROWS.unpack_from(body)[0] if body[-1] else None
        self.drop(scan)
        if scan.connection.affinity != scan.affinity:
            what = "the cluster's topology changed while rows of a partition came through another node than its primary"
            raise ScanFailed(what, "Read the partition again", cache=self.cache.name, partition=scan.partition)
        return scan.checked

    def ask(self, scan: _PartitionScan, op: int, payload: bytes) -> None:
        """Send the next request of a partition's scan, before those of later partitions."""
        try:
            scan.request_id = scan.connection.send(op, payload)
        except IgniteUnreachable as error:
            raise unreachable(self.cache, scan.partition, error) from error
        self.outstanding.appendleft(scan)  # before the partitions after it: their first pages wait

    def drop(self, scan: _PartitionScan) -> None:
        """Close the cursor of a partition's scan on its node."""
        if scan.cursor is not None:
            close_cursor(scan.connection, scan.cursor)
            scan.cursor = None

    def close(self) -> None:
        """Close all cursors, after receiving the replies in flight, because these may open cursors.

        A lost connection has no cursors.
        """
        for scan in self.outstanding:
            if scan.connection.closed:
                continue
            try:
                body = scan.connection.receive(scan.request_id)
            except (ThinError, IgniteUnreachable):
                continue
            if scan.cursor is None or scan.checked is not None:
                scan.cursor = _CURSOR_ROWS.unpack_from(body)[0]
            if body[-1]:
                self.drop(scan)
        self.outstanding.clear()
        self.watch.close()
