"""Planning of the micro-batches of data source `ignite-backlog`.

It reads the changes of each batch of Structured Streaming, and acknowledges them.

Spark identifies a batch by its end offset. It requests the end (:meth:`BacklogBatchPlanner.latest`), logs it, has the
batch read, logs that it is done, and requests the next end. So a batch is read from the backlog when its end is
requested. It is acknowledged once Spark commits it, or requests the next batch's end, which happens only after that.
After a restart of the query a batch that was not done is read from the backlog again, up to the update counters in its
end offset.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .. import events
from ..common.arrays import Int64Array
from ..common.deadline import Deadline
from ..common.retry import retry
from ..errors import IgniteKafkaError
from ..ignite.backlog_changes import Changes
from ..ignite.cluster import Cluster
from ..source.stream.batch import ChangeBatch
from ..source.stream.capture import Capture, Captured
from .backlog_offset import UNITS, Offset
from .backlog_rows import ChangeRows, split_rows
from .partition_reader import PartitionReader, compute_digest, cut_above
from .streamed_cache import OWNER, StreamedCache

log = logging.getLogger(__name__)

T = TypeVar("T")
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Batch:
    """Content of a micro-batch: changes, in pieces of any order, and partitions to load from the cache afterwards."""

    pieces: tuple[ChangeRows, ...] = ()
    load: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Planned:
    end: Offset
    batch: Batch
    acknowledgements: tuple[bytes, ...]


class BacklogBatchPlanner:
    """Plans the micro-batches of one cache's changes, one after the other; not thread-safe.

    Calls that fail with a temporary error are repeated for a minute, each time with a new reader, as after a restart of
    the query.

    :param connect: opens a connection to the cluster.
    :param find_streamed: finds the cache to read in the cluster.
    """

    def __init__(self, connect: Callable[[], Cluster], find_streamed: Callable[[Cluster], StreamedCache]) -> None:
        self._connect = connect
        self._find_streamed = find_streamed
        self._planned: dict[int, _Planned] = {}
        self._cluster: Cluster | None = None
        self._reader: PartitionReader | None = None
        self._until: Int64Array | None = None
        self._lost = False
        self._next_poll = Deadline.after(0.0)

    def beginning(self) -> Offset:
        """Return the start offset of a new query: before all captured, unacknowledged changes."""
        return self._retry(
            lambda: Offset.beginning(
                self._open().capture_id, self._streamed.cache.incarnation, self._streamed.cache.partitions
            )
        )

    def end_here(self) -> None:
        """End the query with the changes captured so far, for the trigger availableNow."""

        def read_highest() -> Int64Array:
            self._open()
            until = np.full(self._streamed.cache.partitions, -1)
            for (_, partition), high in (
                Capture(self._streamed.settings, self._open_cluster, OWNER).highest_numbers().items()
            ):
                until[partition] = high
            return until

        self._until = self._retry(read_highest)

    def plan_next(self, start: Offset) -> Offset:
        """Read the next micro-batch and return its end offset; `start` while there is no change.

        :raises ChangesLost: changes were lost, and the option on_loss does not reload them.
        """
        return self._retry(lambda: self._plan_next(start))

    def batch(self, start: Offset, end: Offset) -> Batch:
        """Return the content of the micro-batch between two offsets, read again after a restart."""
        return self._retry(lambda: self._get_batch(start, end))

    def acknowledge(self, end: Offset) -> None:
        """Acknowledge the changes of micro-batches up to an offset, so that the nodes drop them."""
        self._retry(lambda: self._acknowledge_until(end))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = self._reader = None

    def _plan_next(self, start: Offset) -> Offset:
        self._acknowledge_until(start)
        if start.batch + 1 in self._planned:
            return self._planned[start.batch + 1].end
        reader = self._open_reader(start)
        time.sleep(self._next_poll.remaining())
        pieces: list[ChangeRows] = []
        while True:
            before = int(reader.open.sum())
            batches = reader.read_changes()
            self._streamed.check(reader.marks)
            pieces = self._split(batches)
            acknowledgements = [sent for sent in map(reader.remember, batches) if sent]
            load = tuple(range(self._streamed.cache.partitions)) if self._lost else tuple(sorted(reader.marks))
            if pieces or load:
                end = self._make_end(start, batches, load)
                self._planned[end.batch] = _Planned(end, Batch(tuple(pieces), load), tuple(acknowledgements))
                return end
            self._acknowledge(acknowledgements)  # changes of an earlier batch, written again by a slow node
            if self._until is None or not (acknowledgements or int(reader.open.sum()) < before):
                self._next_poll = Deadline.after(self._streamed.settings.poll_interval_ms / 1000)
                return start

    def _make_end(self, start: Offset, batches: Sequence[ChangeBatch], load: tuple[int, ...]) -> Offset:
        reader = self._open_reader(start)
        cache = self._streamed.cache
        units = np.zeros(cache.partitions, UNITS)
        units["high"] = [reader.high(unit) for unit in range(cache.partitions)]
        units["topology"] = reader.topology
        for batch in batches:
            units["touched"][[unit for unit, _ in batch.states]] = 1
            units["touched"][batch.classified.unit[batch.settled]] = 1
            for unit in np.unique(batch.classified.unit[batch.settled]).tolist():
                span = batch.rows_of(unit, unit)
                rows = np.flatnonzero(batch.settled[span] & (batch.changes.number[span] >= 0)) + span.start
                units["digest"][unit] = compute_digest(batch.changes, rows)
        return Offset(start.batch + 1, self._capture_id, cache.incarnation, units, load)

    def _get_batch(self, start: Offset, end: Offset) -> Batch:
        if start.batch == end.batch:
            return Batch()
        if end.batch not in self._planned:
            self._planned[end.batch] = self._plan_again(start, end)
        batch = self._planned[end.batch].batch
        if batch.load:
            self._open_reader(end).clear(batch.load)
            self._lost = False
        return batch

    def _plan_again(self, start: Offset, end: Offset) -> _Planned:
        """Rebuild a micro-batch after a restart of the query, from its changes, which the backlog still has."""
        reader = self._open_reader(start)
        if (end.capture_id, end.incarnation) != (self._capture_id, self._streamed.cache.incarnation):
            return _Planned(end, Batch(), ())  # lost changes: the next batch loads the cache, or raises an error
        batches = []
        for unit in np.flatnonzero(end.units["touched"]).tolist():
            read = reader.read_all(unit)
            self._check_repeated(unit, read[0].changes, int(end.units["high"][unit]))
            batches += [cut_above(batch, end.units["high"]) for batch in read]
        pieces = self._split(batches)
        return _Planned(
            end, Batch(tuple(pieces), end.load), tuple(sent for sent in map(reader.remember, batches) if sent)
        )

    def _check_repeated(self, unit: int, changes: Changes, high: int) -> None:
        """Check that a micro-batch read again has all the changes it had before.

        :raises IgniteKafkaError: an answer does not reach the batch's end, because changes with lower numbers have
            arrived since, or because the node has a smaller heap than the node that answered before.
        """
        if changes.more.any() and (not changes.number.size or int(changes.number.max()) < high):
            raise IgniteKafkaError(
                "a batch that is to be read again is larger than a node answers at once",
                "Give the nodes more heap (an answer has at most a sixteenth of it, and 64 MiB); or begin with a new "
                "checkpoint and read the cache with source ignite.",
                connector=self._streamed.settings.name,
                cache=self._streamed.cache.name,
                partition=unit,
            )

    def _split(self, batches: Sequence[ChangeBatch]) -> list[ChangeRows]:
        now_ms = int(time.time() * 1000)
        return [piece for batch in batches for piece in split_rows(batch, now_ms, self._streamed.pieces)]

    def _acknowledge_until(self, end: Offset) -> None:
        for number in sorted(number for number in self._planned if number <= end.batch):
            self._open()
            self._acknowledge(self._planned[number].acknowledgements)
            del self._planned[number]

    def _acknowledge(self, acknowledgements: Sequence[bytes]) -> None:
        client = self._streamed.client(self._open_cluster)
        for sent in acknowledgements:
            client.acknowledge(sent)

    def _open(self) -> Captured:
        """Connect and start the capture on the first call; return the capture."""
        if self._cluster is None:
            self._cluster = self._connect()
            self._streamed, self._captured = self._find_streamed(self._cluster).start_capture(self._cluster)
            if self._cluster.credentials.backlog_secret is None:
                events.emit(events.CAPTURE_OPEN, connector=self._streamed.settings.name)
        return self._captured

    def _open_reader(self, offset: Offset) -> PartitionReader:
        """Return the open reader; without one, open a reader that continues at an offset.

        :raises ChangesLost: the changes behind the offset are lost, and the option on_loss does not reload them.
        """
        if self._reader is None:
            captured = self._open()
            cache = self._streamed.cache
            reader = self._streamed.reader(self._open_cluster)
            self._lost = (offset.capture_id, offset.incarnation) != (captured.capture_id, cache.incarnation)
            if self._lost and not self._streamed.reload:
                why = "lost with the whole backlog, or the cache was made again"
                raise self._streamed.loss_error(why, range(cache.partitions))
            reader.begin(
                Offset.beginning(captured.capture_id, cache.incarnation, cache.partitions) if self._lost else offset,
                self._until,
            )
            self._reader = reader
        return self._reader

    @property
    def _capture_id(self) -> int:
        return self._open().capture_id

    @property
    def _open_cluster(self) -> Cluster:
        self._open()
        assert self._cluster is not None
        return self._cluster

    def _retry(self, request: Callable[[], T]) -> T:
        def call() -> T:
            try:
                return request()
            except IgniteKafkaError:
                self.close()
                raise

        return retry(
            call,
            _PATIENCE_S,
            lambda error: not error.final,
            failed=lambda error: log.warning("the backlog cannot be read now: %s", error),
        )
