"""Spark task of a snapshot: copies whole slots, each unit exactly once.

scan → convert → slot writer → offset records: all in one Python worker of an executor, so no record crosses the JVM
(docs/decisions/0001-fused-copy.md).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ...common.deadline import Clock
from ...common.measurements import ATTEMPT, BATCH, collect, count_retry, timed
from ...common.retry import GROWING, RetryBudget, retry
from ...errors import CacheDestroyed, CacheNotFound, IgniteKafkaError, OutcomeUnknown
from ...ignite.cluster import Cluster
from ...ignite.page_batches import MIN_BATCH_ROWS, batches
from ...ignite.page_size import PageSize
from ...ignite.scan import Scan
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo, Page
from ...kafka.clients import BRIEF_S
from ...kafka.topics import Topics
from ...plan.slots import Owner, kinds_of_keys, partitions_of_slot
from ...plan.source_plan import CachePlan, TransferPlan
from ...runtime.clients import ignite_cluster, slot_clients, slot_opener
from ...runtime.counts import SlotResult
from ...runtime.failure_events import report_retry
from ...runtime.measurement_reports import measurement_report
from ...runtime.memory import tune_allocation
from ...runtime.silent_tasks import watched_task
from ...settings.secrets import Secrets
from ...settings.source import SourceSettings
from ...state.open_slots import SlotOpener
from ...state.sent_topics import check_units
from ...state.slot_writer import SlotWriter
from ...state.status import CacheCount
from ..entry_sender import EntryBatch, EntrySender
from .unit_counts import UnitCounts, count_left_out

_BATCH_PAGES = 2
_RECORD_PAGES = 4
_THREADS = 8  # slots whose producers wait for a coordinator or a commit, while one slot of the task copies


def copy_slots(
    plan: TransferPlan,
    secrets: Secrets,
    slots: Sequence[int],
    attempt: int,
    ends: Sequence[int] | None = None,
    *,
    connect: Callable[[SourceSettings, Secrets], Cluster] = ignite_cluster,
    scan: Callable[..., Scan] = Scan,
) -> Iterator[SlotResult]:
    """Copy slots, and return a result for each; the first error ends the other slots at their next batch.

    Opening a slot and its last commit are waits, so they overlap with the copying of other slots. One slot is copied at
    a time, which bounds memory to one slot's batch and lets all slots share one connection.

    :param attempt: number of the task's attempt; a later attempt takes over the slots.
    :param ends: end of every slot's offsets when the snapshot began; None: an earlier run of the snapshot is continued.
    :param connect: connects to the cluster.
    :param scan: makes the scan of a cache.
    """
    tune_allocation()
    owner = Owner(plan.generation, attempt=attempt)
    clients = slot_clients(plan.settings, secrets)
    with (
        collect() as collector,
        watched_task(plan.settings, measurement_report(plan, clients, min(slots, default=0), attempt, collector)),
        connect(plan.settings, secrets) as cluster,
        ThreadPoolExecutor(_THREADS, "slot") as pool,
    ):
        turn = Turn(cluster, slot_opener(plan, clients, Topics(clients), owner), scan)
        copies = [pool.submit(SlotCopy(plan, slot, turn, ends[slot] if ends else None).run) for slot in slots]
        results = [copy.result() for copy in copies]
    for result in results:
        result.attempt = attempt
        if result.slot == min(slots):
            result.measured = collector.measured()
        yield result


def batch_bytes(page_bytes: int, read: int, written: int) -> int:
    """Return how many bytes of pages to read for the next batch, so that its records fill a few pages of memory.

    Records with schemas can be ten times as large as their entries. malloc maps blocks of 32 MiB and more anew for each
    batch, and the kernel zeroes their pages: a tenth of the time of a copy of 40 columns.

    :param read: bytes of the last batch's pages. :param written: bytes of the last batch's records.
    """
    most = page_bytes * _BATCH_PAGES
    return min(most, page_bytes * _RECORD_PAGES * read // written) if written else most


@dataclass
class Turn:
    """State shared by a task's slots, with the queue in which they wait for the cluster connection.

    :param cluster: used by the slot whose turn it is.
    :param stop: set by the first slot that fails.
    :param page_sizes: estimate of the page size by cache, passed on from slot to slot.
    """

    cluster: Cluster
    opener: SlotOpener
    scan: Callable[..., Scan] = Scan
    stop: threading.Event = field(default_factory=threading.Event)
    page_sizes: dict[str, PageSize] = field(default_factory=dict)
    _queue: deque[Callable[[], None]] = field(default_factory=deque)
    _moved: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def acquired(self, begin: Callable[[], None]) -> Iterator[None]:
        """Wait until a slot may use the cluster connection, first come first served; the context's end frees it.

        :param begin: requests the slot's first pages; may be called early, by the slot that holds the connection.
        """
        with self._moved:
            self._queue.append(begin)
            self._moved.wait_for(lambda: self._queue[0] is begin)
        try:
            yield
        finally:
            with self._moved:
                self._queue.popleft()
                self._moved.notify_all()

    def begin_next(self) -> None:
        """Request the first pages of the next slot in the queue, while the current slot converts its last pages."""
        with self._moved:
            following = self._queue[1] if len(self._queue) > 1 else None
        if following is not None:
            with suppress(IgniteKafkaError):  # the slot itself gets the error when its turn comes
                following()


class _Stopped(Exception):
    """Raised to end a slot early, because another slot of the same task failed."""


class SlotCopy:
    """Copies all cache partitions of one slot, in as many attempts as the retry budget allows."""

    def __init__(
        self, plan: TransferPlan, slot: int, turn: Turn, end: int | None = None, clock: Clock = time.monotonic
    ) -> None:
        self._plan = plan
        self._slot = slot
        self._turn = turn
        self._settings = plan.settings
        self._sender = EntrySender(plan, turn.cluster)
        self._end = end
        self._outcome_unknown = False
        self._units: dict[int, UnitCounts] = {}  # by partition, of units that continue in the next batch
        self._key_kinds: set[KeyKind] = set()  # of the cache that is copied
        self._batch_bytes = self._settings.page_bytes * _BATCH_PAGES  # of pages
        self._begun: tuple[CacheInfo, Scan] | None = None  # requested before the slot had its turn
        # from the first failure after the last commit
        self._budget = RetryBudget(plan.settings.retry_timeout_ms / 1000, clock)

    def run(self) -> SlotResult:
        """Copy the slot's cache partitions; an error is returned in the result, not raised."""
        result = SlotResult(self._slot)
        try:
            result.caches = retry(
                self._attempt, self._budget, self._may_pass, failed=self._retried, backoff=GROWING, sleep=self._pause
            )
        except _Stopped:
            pass
        except IgniteKafkaError as error:
            self._turn.stop.set()
            result.error = self._final_error(error)
        return result

    def _may_pass(self, error: IgniteKafkaError) -> bool:
        # a slot that another one's error stops still reports a commit whose outcome it does not know
        return not error.final and not (self._turn.stop.is_set() and self._outcome_unknown)

    def _retried(self, error: IgniteKafkaError) -> None:
        count_retry(ATTEMPT)
        report_retry(error, None, self._slot)

    def _pause(self, seconds: float) -> None:
        self._turn.stop.wait(seconds)

    def _final_error(self, error: IgniteKafkaError) -> IgniteKafkaError:
        if self._outcome_unknown and not error.final:
            return OutcomeUnknown(
                f"a commit got no answer and the slot could not be read since: {error}",
                "Run the same snapshot again: it continues from what was committed.",
                connector=self._plan.connector,
                slot=self._slot,
            )
        return error

    def _attempt(self) -> dict[str, CacheCount]:
        """Copy the slot's cache partitions that earlier attempts have not committed.

        1. Open the slot: fence its earlier producers and read its committed units.
        2. Check that the committed units are in the plan's topics.
        3. Wait for the turn at the connection, and copy the caches one after the other.
        4. Commit, while the next slot of the task copies.
        5. Close the producer; a commit without an answer is remembered.
        """
        if self._turn.stop.is_set():
            raise _Stopped
        self._units = {}
        # 1. open; the last try is no longer than the time that is left
        opener = self._turn.opener
        plan = self._plan
        clients = replace(
            opener.clients, patience_s=min(opener.clients.patience_s, max(BRIEF_S, self._budget.remaining()))
        )
        writer = replace(opener, clients=clients)(self._slot, self._end)
        self._outcome_unknown = False
        try:
            # 2. check
            for cache in plan.caches:
                check_units(plan, cache, writer.state.by_cache.get(cache.name, {}))
            # 3. copy
            with self._turn.acquired(lambda: self._begin_first(writer)):
                try:
                    counts = {cache.name: self._copy_cache(writer, cache) for cache in self._plan.caches}
                finally:
                    if self._begun is not None:
                        self._begun[1].close()
                        self._begun = None
            # 4. commit
            self._commit(writer)
            for count in counts.values():
                count.ended = time.time() if count.started else 0.0
            return counts
        finally:
            # 5. close
            self._outcome_unknown = self._outcome_unknown or writer.commit_requested
            writer.close()

    def _left(self, writer: SlotWriter, cache: CachePlan) -> list[int]:
        """Return the partitions of a cache that this slot still has to copy."""
        partitions = partitions_of_slot(cache.name, cache.partitions, self._slot, self._plan.slots)
        self._key_kinds = set()
        done = writer.state.done(self._plan.snapshot_id, cache.name, cache.incarnation)
        return [partition for partition in partitions if partition not in done]

    def _begin_first(self, writer: SlotWriter) -> None:
        """Request the first pages ahead of the slot's turn; the replies wait in the connection until the turn comes."""
        if self._begun is None:
            every = ((cache, self._left(writer, cache)) for cache in self._plan.caches)
            first = next(((cache, left) for cache, left in every if left), None)
            self._begun = self._begin(*first) if first else None

    def _begin(self, cache: CachePlan, left: list[int]) -> tuple[CacheInfo, Scan]:
        info = same_cache(self._turn.cluster, cache)
        size = self._turn.page_sizes.setdefault(cache.name, PageSize(self._settings.page_bytes))
        scan = self._turn.scan(self._turn.cluster, info, left, size)
        try:
            scan.begin()
        except IgniteKafkaError:
            scan.close()
            raise
        return info, scan

    def _copy_cache(self, writer: SlotWriter, cache: CachePlan) -> CacheCount:
        """Send the remaining partitions of a cache, and return the cache's counts.

        A transaction may span several small caches.
        """
        done = writer.state.done(self._plan.snapshot_id, cache.name, cache.incarnation)
        bad = sum(unit.bad for unit in done.values())
        records = sum(unit.records for unit in done.values())
        read = records + bad + sum(unit.dropped for unit in done.values())
        dead_letters = sum(unit.dead_letters for unit in done.values())
        count = CacheCount(entries=read, records=records, units=len(done), bad=bad, dead_letters=dead_letters)
        left = self._left(writer, cache)
        if left:
            count.started = time.time()
            info, scan = self._begun or self._begin(cache, left)
            self._begun = None
            # closed here, not when an error's traceback goes: the next slot has the connection then
            with closing(scan):
                for batch in batches(scan.pages(), MIN_BATCH_ROWS, lambda: self._batch_bytes):
                    if not scan.left and cache is self._plan.caches[-1]:  # all pages of this slot are requested
                        self._turn.begin_next()
                    with timed(BATCH):
                        self._copy_batch(writer, cache, info, batch, count)
        return count

    def _copy_batch(
        self, writer: SlotWriter, cache: CachePlan, info: CacheInfo, batch: list[Page], count: CacheCount
    ) -> None:
        """Convert and queue a batch of pages, end completed partitions, and commit a large or old transaction.

        Partitions follow one another: only the last partition of a batch may continue in the next.

        1. End if another slot of the task failed.
        2. Convert the entries, queue their records, and count entries without a record.
        3. Queue the offset record of each unit that ends in the batch.
        4. Commit if the transaction is large or old, and no unit is half sent.
        """
        # 1. end
        if self._turn.stop.is_set():
            raise _Stopped
        # 2. records
        if any(page.rows for page in batch):
            partitions = np.repeat([page.partition for page in batch], [page.rows for page in batch])
            sent = self._sender.send(writer, self._slot, cache, info, EntryBatch(batch, partitions))
            records = sent.records
            count_left_out(self._unit, partitions, sent)
            if records.key_kinds and not self._key_kinds:  # the topic may hold keys of former snapshots
                self._key_kinds = kinds_of_keys(writer.state.by_cache.get(cache.name, {}).values())
            self._key_kinds |= records.key_kinds
            count.bytes += records.nbytes
            self._batch_bytes = batch_bytes(
                self._settings.page_bytes, sum(len(page.data) for page in batch), records.nbytes
            )
        # 3. offset records
        for page in batch:
            self._unit(page.partition).read += page.rows
            if page.last:
                self._end_unit(writer, cache, page.partition, count)
        # 4. commit
        if writer.past_limits and not self._units:
            self._commit(writer)

    def _unit(self, partition: int) -> UnitCounts:
        return self._units.setdefault(partition, UnitCounts())

    def _end_unit(self, writer: SlotWriter, cache: CachePlan, partition: int, count: CacheCount) -> None:
        """Queue the offset record of a partition whose pages are all sent, and add its counts to the cache's."""
        unit = self._units.pop(partition)
        key = (cache.name, partition, cache.incarnation, self._plan.snapshot_id)
        left_out = unit.dropped, unit.dead_letters
        writer.unit_done(*key, unit.records, unit.bad, cache.topic_id, self._key_kinds, *left_out)
        sent = CacheCount(entries=unit.entries, records=unit.records, units=1, bad=unit.bad, filtered=unit.filtered)
        sent.dead_letters = unit.dead_letters
        count.add(sent)

    def _commit(self, writer: SlotWriter) -> None:
        writer.commit()
        self._budget.reset()


def same_cache(cluster: Cluster, planned: CachePlan) -> CacheInfo:
    """Read the cache's description again, to check that it was not destroyed or recreated since planning.

    :raises CacheDestroyed: the cache was destroyed, or created again, after it was planned.
    """
    remedy = "Begin a new snapshot."
    try:
        info = cluster.cache(planned.name)
    except CacheNotFound as cause:
        raise CacheDestroyed(
            "the cache was destroyed after the snapshot was planned", remedy, cache=planned.name
        ) from cause
    unknown = not info.incarnation or not planned.incarnation
    same = (info.cache_id, info.partitions) == (planned.cache_id, planned.partitions) and (
        unknown or info.incarnation == planned.incarnation
    )
    if not same:
        raise CacheDestroyed(
            "the cache was destroyed and made again after the snapshot was planned", remedy, cache=planned.name
        )
    return info
