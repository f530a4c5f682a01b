"""Life of a task's continuous queries: start, initial scans, order of changes, gaps and end.

The queries begin before the first scan, so every change that a scan may miss arrives. While partitions are read,
changes wait and are sent after these partitions' entries, so an entry is never sent after a newer change of its key.
The nodes do not store changes: after a gap, in which no query was active, policy NONE reports the gap and FULL_SNAPSHOT
sends the caches again (docs/queries.md).
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby

from ... import events
from ...common.deadline import Clock, Deadline, Interval
from ...common.measurements import BATCH, LATENCY, observe
from ...ignite.cluster import Cluster
from ...ignite.connection import ThinConnection
from ...ignite.continuous_query import CacheEvents, ContinuousQueries
from ...ignite.page_batches import MIN_BATCH_ROWS, batches
from ...ignite.scan import scan_partitions
from ...ignite.types.model import Page
from ...plan.source_plan import CachePlan, TransferPlan
from ...state.status import Waiting, now_ms
from .load_size import LoadSize
from .query_sender import QuerySender
from .rate_limit import RateLimiter

BeginQueries = Callable[[Cluster, Sequence[str], int, bool], ContinuousQueries]
"""Function that begins the queries of caches.

The last arguments are the interval in milliseconds and whether expired entries are notified.
"""
Scan = Callable[..., Generator[Page, None, None]]

_WAIT_S = 0.5  # longest wait for a change before the end of the epoch is checked
_NODES_S = 1.0
_SILENT_S = 20.0  # a node that sends nothing for so long, neither changes nor the end of its queries, is given up
_FIRST_PARTITIONS = 16  # read at once while their size is unknown


def begin_queries(cluster: Cluster, caches: Sequence[str], interval_ms: int, expired: bool) -> ContinuousQueries:
    """Start continuous queries of caches on a connection of their own."""
    connection = ThinConnection(cluster.endpoint, cluster.credentials)
    return ContinuousQueries(connection, caches, interval_ms, expired=expired)


class QueryFollower:
    """Continuous queries of one task, and their uncommitted changes; both survive a retry. Not thread-safe.

    :param caches: caches of the task.
    :param gap: why changes may have been missed before the first query; empty at the start of the stream.
    :param begin: begins the queries.
    :param scan: reads the entries of partitions.
    """

    def __init__(
        self,
        plan: TransferPlan,
        caches: Iterable[CachePlan],
        limiter: RateLimiter,
        gap: str = "",
        begin: BeginQueries = begin_queries,
        scan: Scan = scan_partitions,
        clock: Clock = time.monotonic,
    ) -> None:
        self._plan = plan
        self._settings = plan.settings
        self._limiter = limiter
        self._begin_queries = begin
        self._scan = scan
        self._caches = {cache.name: cache for cache in caches}
        self._clock = clock
        self._wait_s = min(self._settings.poll_interval_ms / 1000, _WAIT_S)
        self._queries: ContinuousQueries | None = None
        self._gap = gap
        self._unsent: list[CacheEvents] = []
        self._to_load: dict[str, list[int]] = {}
        self._size = LoadSize(self._settings.batch_bytes, limiter.batch_records, _FIRST_PARTITIONS)
        self._nodes: frozenset[uuid.UUID] = frozenset()
        self._node_checks = Interval(_NODES_S, clock)
        self._drained = False
        self._held_since_ms = 0
        self.waiting: Mapping[str, Waiting] = {name: Waiting() for name in self._caches}
        """Changes of the last poll, and those before it that were not committed then, by cache."""

    @property
    def all_loaded(self) -> bool:
        """Whether all entries to load are committed."""
        return self._queries is not None and not self._to_load

    # queries and gaps

    def begin(self, cluster: Cluster, sender: QuerySender) -> None:
        """Start the queries unless they run already; handle a gap since the previous queries by the failover policy."""
        first = self._queries is None
        if self._queries is not None and not self._queries.lost:
            return
        self._nodes = cluster.nodes()
        interval_ms = max(1, int(self._wait_s * 1000))
        self._queries = self._begin_queries(cluster, list(self._caches), interval_ms, self._settings.process_removals)
        if first:
            to_load = {name: _not_loaded(cache, sender) for name, cache in self._caches.items() if cache.load}
            self._to_load = {name: partitions for name, partitions in to_load.items() if partitions}
        if not first or self._gap:
            self._after_gap(
                self._gap or f"a new connection to {self._queries.address} replaced a lost one", self._caches
            )
            self._gap = ""

    def _begin_again(self, sender: QuerySender, name: str) -> None:
        """Restart the query of a cache that may have been recreated."""
        assert self._queries is not None
        self._queries.begin_again(name)
        sender.infos.again(self._caches[name])
        self._after_gap("caches were created or destroyed, perhaps this one", [name])

    def _after_gap(self, reason: str, names: Iterable[str]) -> None:
        """Handle changes that may have been missed: report the caches or load them again, by the failover policy."""
        fields = {"connector": self._plan.connector, "caches": ", ".join(names), "reason": reason}
        if self._settings.failover_policy == "NONE":
            events.emit(events.CHANGES_MISSING, **fields)
        else:
            events.emit(events.CACHES_SENT_AGAIN, **fields)
            self._to_load |= {name: list(range(self._caches[name].partitions)) for name in names}

    def _check(self, cluster: Cluster, sender: QuerySender) -> None:
        """Restart queries that may have ended, and handle a node's leaving as a gap: its last changes may be lost."""
        assert self._queries is not None
        for name in self._queries.check(self._settings.ignite_request_timeout_ms / 1000):
            self._begin_again(sender, name)
        self._check_nodes(cluster)

    def _check_nodes(self, cluster: Cluster) -> None:
        if self._node_checks.due():
            before = self._nodes
            self._nodes = cluster.nodes()
            if before - self._nodes:
                self._after_gap("a node has left the cluster", self._caches)

    # sending

    def step(self, cluster: Cluster, sender: QuerySender) -> None:
        """Send the changes that arrived, then the next cache partitions of the initial load."""
        self._read(0.0 if self._to_load or self._limiter.ahead_s else self._wait_s)
        self._note_waiting()
        self._check(cluster, sender)
        self._send_unsent(sender)
        self._load(cluster, sender)

    def _note_waiting(self) -> None:
        rows = Counter[str]()
        for cache_events in self._unsent:
            rows[cache_events.cache] += cache_events.page.rows
        self.waiting = {name: Waiting(rows[name], self._held_since_ms if rows[name] else 0) for name in self._caches}

    def _read(self, wait_s: float) -> None:
        """Read arriving changes into memory until a batch is full, an interval has passed, or none is left.

        Wait at most `wait_s` seconds for the first.
        """
        assert self._queries is not None
        due = self._after(wait_s)
        over = self._after(self._wait_s)
        most = self._limiter.batch_records
        held = sum(len(cache_events.page.data) for cache_events in self._unsent)
        rows = sum(cache_events.page.rows for cache_events in self._unsent)
        while held < self._settings.batch_bytes and (most is None or rows < most):
            received = self._queries.read(due.remaining())
            if received is not None:
                self._held_since_ms = self._held_since_ms if self._unsent else now_ms()
                self._unsent.append(received)
            if received is None or over.expired:
                return
            held = held + len(received.page.data)
            rows = rows + received.page.rows

    def _send_unsent(self, sender: QuerySender) -> None:
        """Send and commit the changes in memory, then drop them."""
        began_at = time.monotonic()
        kept = (
            self._unsent
            if self._settings.process_removals
            else [cache_events.without_removals() for cache_events in self._unsent]
        )
        # stable: a cache's changes keep their order
        in_caches = sorted((cache_events for cache_events in kept if cache_events.page.rows), key=_cache_of)
        for name, of_cache in groupby(in_caches, _cache_of):
            sender.send_changes(self._caches[name], list(of_cache))
        self._commit(sender)
        if self._unsent:
            observe(BATCH, time.monotonic() - began_at)
            # of the oldest change; the nodes do not say when they captured one
            observe(LATENCY, (now_ms() - self._held_since_ms) / 1000)
        self._unsent = []

    def _commit(self, sender: QuerySender) -> None:
        self._limiter.sent(sender.commit())

    def _load(self, cluster: Cluster, sender: QuerySender) -> None:
        """Scan and send the next partitions of a cache; changes that arrive meanwhile are kept and sent later."""
        if not self._to_load:
            return
        name, left = next(iter(self._to_load.items()))
        cache = self._caches[name]
        chosen = left[: self._size.partitions]
        ended = list[int]()
        size = rows = 0
        with closing(self._scan(cluster, sender.infos.of(cache), chosen, page_bytes=self._settings.page_bytes)) as scan:
            for pages in batches(scan, MIN_BATCH_ROWS, lambda: self._settings.page_bytes):
                size = size + sum(len(page.data) for page in pages)
                rows = rows + sum(page.rows for page in pages)
                sender.send_entries(cache, pages)
                ended += [page.partition for page in pages if page.last]
                # whole partitions only, each with its offset: what is committed of a load that fails is not sent again
                if pages[-1].last and sender.past_limits(cache):
                    self._end_partitions(sender, cache, ended)
                    ended = []
                self._read(0.0)
        if ended:
            self._end_partitions(sender, cache, ended)
        self._size.loaded(len(chosen), size, rows)

    def _end_partitions(self, sender: QuerySender, cache: CachePlan, partitions: Sequence[int]) -> None:
        """Commit the offset records of fully scanned partitions, so that they are not loaded again."""
        sender.end_partitions(cache, partitions)
        self._commit(sender)
        left = [partition for partition in self._to_load[cache.name] if partition not in partitions]
        self._to_load[cache.name] = left
        if not left:
            del self._to_load[cache.name]

    def drain(self, cluster: Cluster, sender: QuerySender) -> None:
        """End the queries at the epoch's end, after sending every change that the nodes still hold."""
        assert self._queries is not None
        collected = self._after(2 * self._wait_s)  # other nodes send at intervals
        while not collected.expired:
            self._read(collected.remaining())
            self._check_nodes(cluster)
            self._send_unsent(sender)
        self._queries.end()
        silent = self._after(_SILENT_S)
        while not (self._queries.ended or silent.expired):
            self._read(self._wait_s)
            self._check_nodes(cluster)
            if self._unsent:
                self._send_unsent(sender)
                silent = self._after(_SILENT_S)
        self._send_unsent(sender)
        self._drained = self._queries.ended

    def report_unsent(self) -> None:
        """Emit an event at the epoch's end if changes were not sent or a gap was not reported.

        With policy FULL_SNAPSHOT the next start sends the caches again.
        """
        begun = self._queries is not None
        if not self._drained and (begun or self._gap) and self._settings.failover_policy == "NONE":
            self._after_gap(
                self._gap or "the run ended before all changes that the nodes had collected were sent", self._caches
            )

    def _after(self, seconds: float) -> Deadline:
        return Deadline.after(seconds, self._clock)

    def close(self) -> None:
        """Close the connection that the queries run on."""
        if self._queries is not None:
            self._queries.close()


def _cache_of(cache_events: CacheEvents) -> str:
    return cache_events.cache


def _not_loaded(cache: CachePlan, sender: QuerySender) -> list[int]:
    loaded = sender.loaded(cache)
    return [partition for partition in range(cache.partitions) if partition not in loaded]
