"""Storing of batches in caches: one put or removal a key; a batch is stored before the next is sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from ..convert.rules.failure_stages import Stage, policy_of
from ..convert.to_ignite import BadRecord, Entries, concat_entries, last_per_key
from ..errors import EntriesRefused, RecordRefused
from ..ignite.cache_writer import CacheWriter
from ..ignite.cluster import Cluster
from ..ignite.write_fence import WriteFence
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from ..settings.error_policies import STOP
from ..settings.sink import SinkSettings
from .dead_letters import report_bad_record
from .entry_router import CachePart, EntryRouter
from .repetition import Repetition
from .table_growth import TableGrowth


@dataclass
class Stored:
    """Counts and bad records of a batch that was stored.

    :param entries: number of entries to put or remove, by partition.
    :param filtered: number of entries that the filter left out, by partition; no number without a filter.
    :param skipped: bad records, each with its batch of records.
    :param stopped: error of the first bad record of a partition, if the error policy is to stop.
    :param stopping: the bad records of ``stopped``, in the form of ``skipped``.
    """

    entries: dict[TopicPartition, int] = field(default_factory=dict)
    filtered: dict[TopicPartition, int] = field(default_factory=dict)
    skipped: list[tuple[Consumed, tuple[BadRecord, ...]]] = field(default_factory=list)
    stopped: dict[TopicPartition, RecordRefused] = field(default_factory=dict)
    stopping: list[tuple[Consumed, tuple[BadRecord, ...]]] = field(default_factory=list)


class Store:
    """Converts the records of one task and stores them in caches; not thread-safe, unusable after an error.

    :param in_order: whether records of a partition are put in parts, one after the other. This finds the records that a
        cache refuses, which become bad records; else they end :meth:`store` or :meth:`flush`.
    :param fence: right of the task to write, if the delivery is strict.
    :param repetition: records that may be stored already, of which superseded ones are not put; None: there are none.
    :param confirm: checks, before each request that puts records, that the task owns the slots of their topic
        partitions; called with these. None: nothing is checked, as with a fence, or where entries are not overwritten.
    """

    def __init__(
        self,
        router: EntryRouter,
        cluster: Cluster,
        settings: SinkSettings,
        *,
        in_order: bool = False,
        fence: WriteFence | None = None,
        confirm: Callable[[Sequence[TopicPartition]], None] | None = None,
        repetition: Repetition | None = None,
    ) -> None:
        self._fence = fence
        self._confirm = confirm
        self._repetition = repetition or Repetition()
        self._in_flight: list[TopicPartition] = []
        self._router = router
        self._cluster = cluster
        self._settings = settings
        self._in_order = in_order
        self._overwrite = settings.process_updates
        self._writers: dict[str, CacheWriter] = {}
        self._growth = TableGrowth(cluster)

    def store(self, batch: Sequence[Consumed]) -> Stored:
        """Convert a batch, wait until the previous batch is stored, then send the new one to the nodes.

        :meth:`flush` waits for this batch.

        Records of one key are of one partition, or a field or versions order them, or they have no order. So one
        operation a key and cache is kept: the last one, the greatest by field or version, or the first if entries are
        not overwritten.

        :param batch: records of several partitions.
        :raises EntriesRefused: a cache refuses an entry of this batch, or of the previous batch.
        :raises TypeClash: an SQL table that grows has a column of another type than a field.
        :raises ProgramFault: the conversion failed by a fault of this program.
        """
        stored = Stored()
        by_cache = defaultdict(list)
        places = [(consumed.topic, consumed.partition) for consumed in batch]
        self._in_flight += places
        self._router.begin_batch()
        for consumed in batch:
            place = consumed.topic, consumed.partition
            routed = self._router.route(consumed)
            if routed.filtered is not None:
                stored.filtered[place] = routed.filtered
            parts = self._repetition.without_superseded(consumed, routed.parts)
            self._grow_tables(parts)
            parts, bad = self._put_in_order(parts, routed.bad) if self._in_order else (parts, routed.bad)
            parts = self._apply_error_policy(consumed, parts, bad, stored)
            stored.entries[place] = sum(len(entries) for _, entries in parts)
            for cache, entries in parts:
                by_cache[cache].append(entries)
        if self._in_order:
            return stored
        kept = [(self._writer(cache), self._last_per_key(parts)) for cache, parts in by_cache.items()]
        self.flush()
        self._in_flight = places
        for writer, entries in kept:
            _write(writer, entries)
        return stored

    def _last_per_key(self, parts: Sequence[Entries]) -> Entries:
        return last_per_key(concat_entries(parts), overwrite=self._overwrite)

    def flush(self) -> None:
        """Wait until the nodes have acknowledged all entries sent."""
        for writer in self._writers.values():
            writer.flush()
        self._in_flight = []

    def _grow_tables(self, parts: Sequence[CachePart]) -> None:
        """Add the columns that entries need, to the tables of caches with schema contract `evolve`."""
        for cache, entries in parts:
            days = self._router.days(cache) if len(entries) else None
            if days is not None:
                self._growth.grow(self._router.cache(cache), days)

    def _writer(self, cache: str) -> CacheWriter:
        if cache not in self._writers:
            target = self._router.cache(cache)
            self._writers[cache] = CacheWriter(
                self._cluster,
                target,
                overwrite=self._overwrite,
                fence=self._fence,
                before_request=self._confirm_owner,
            )
        return self._writers[cache]

    def _confirm_owner(self) -> None:
        if self._confirm is not None:
            self._confirm(self._in_flight)

    def _put_in_order(
        self, parts: Sequence[CachePart], bad: Sequence[BadRecord]
    ) -> tuple[list[CachePart], list[BadRecord]]:
        """Put entries in the order of their records, to find the records that a cache refuses.

        Return the accepted entries, and all bad records, which now include the refused entries' records.
        """
        records = list(bad)
        done = []
        for cache, entries in parts:
            refused = self._put_part(self._writer(cache), entries, records)
            records = sorted([*records, *refused], key=lambda record: record.row)
            done.append((cache, entries.without(refused)))
        return done, records

    def _put_part(self, writer: CacheWriter, entries: Entries, before: Sequence[BadRecord]) -> list[BadRecord]:
        """Put entries, and find the refused ones by halving refused groups down to single records.

        :param before: bad records, by row.
        :returns: the refused records; at most one if the error policy for them is to stop. No entry behind a bad record
            that stops the run is put.
        """
        stops = self._settings.error_handling_policy == STOP
        stopping = self._stopping(before)
        end = len(entries) if stopping is None else int(np.searchsorted(entries.rows, stopping.row))
        bad: list[BadRecord] = []
        at = 0
        size = end
        while at < end and not (stops and bad):
            part = entries.part(at, min(at + size, end))
            error = _refusal(writer, last_per_key(part, overwrite=self._overwrite))
            if error is not None and len(part) > 1:
                size = len(part) // 2
                continue
            if error is not None:
                bad.append(BadRecord(int(part.rows[0]), Stage.PUT, error.what, {"cache": writer.cache.name}))
            at = at + len(part)
            size = size * 2
        return bad

    def _apply_error_policy(
        self, consumed: Consumed, parts: list[CachePart], bad: Sequence[BadRecord], stored: Stored
    ) -> list[CachePart]:
        """Apply the error policy to bad records: note them in `stored`, and return the entries to store."""
        stopping = self._stopping(bad)
        skipped = bad if stopping is None else [record for record in bad if record.row < stopping.row]
        if skipped:
            stored.skipped.append((consumed, tuple(skipped)))
        for record in skipped:
            report_bad_record(consumed, record)
        if stopping is None:
            return parts
        stored.stopped[consumed.topic, consumed.partition] = report_bad_record(consumed, stopping)
        stored.stopping.append((consumed, (stopping,)))
        return [(cache, entries.before(stopping.row)) for cache, entries in parts]

    def _stopping(self, bad: Sequence[BadRecord]) -> BadRecord | None:
        return stopping_record(self._settings, bad)

    def close(self) -> None:
        """Wait until no request is in flight, so that no older entry overwrites a newer entry of the next task.

        :raises OutcomeUnknown: a request got no reply.
        """
        for writer in self._writers.values():
            writer.close()


def stopping_record(settings: SinkSettings, bad: Sequence[BadRecord]) -> BadRecord | None:
    """Return the first bad record that stops the run by the error policy; None without one."""
    return next((record for record in bad if policy_of(settings, record.stage, record.where) == STOP), None)


def _write(writer: CacheWriter, entries: Entries) -> None:
    """Send the entries of a batch with one entry a key: a put for a value, a removal for a null."""
    if not entries.values.null_count:
        writer.put(entries.keys, entries.values, entries.versions)
        return
    is_put = np.asarray(entries.values.is_valid())
    put, removed = (entries.take(np.flatnonzero(rows)) for rows in (is_put, ~is_put))
    writer.put(put.keys, put.values, put.versions)
    writer.remove(removed.keys, removed.versions)


def _refusal(writer: CacheWriter, entries: Entries) -> EntriesRefused | None:
    """Store entries and wait; return the cache's error if it refuses some, None if all are stored.

    No request is in flight afterwards.
    """
    try:
        _write(writer, entries)
        writer.flush()
    except EntriesRefused as error:
        with suppress(EntriesRefused):
            writer.flush()
        return error
    return None
