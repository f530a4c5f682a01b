"""Sends the changes of continuous queries and scanned entries: a cache has one slot, so that they are sent in one order."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ...common.arrays import Int64Array, Mask
from ...convert.to_kafka.key_types import remembered
from ...ignite.cluster import Cluster
from ...ignite.continuous_query import CacheEvents
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo, Page
from ...plan.slots import kinds_of_keys, slot_of, slots_of_tasks
from ...plan.source_plan import CachePlan, TransferPlan
from ...runtime.counts import CacheCount
from ...state.open_slots import OpenSlots
from ...state.sent_topics import check_units
from ...state.slot_writer import SlotWriter
from ..entry_sender import EntrySender, Sent
from .cache_infos import CacheInfos

Counts = Mapping[int, Mapping[str, CacheCount]]
NO_PARTITION = -1
"""Replaces the partition of a change, which continuous queries do not report."""


def slot_of_cache(cache: CachePlan, slots: int) -> int:
    """The slot that sends a whole cache, the same in every run."""
    return slot_of(cache.name, 0, slots)


def tasks_of_caches(plan: TransferPlan, most: int) -> tuple[tuple[int, ...], ...]:
    """The slots with caches, distributed over at most `most` tasks."""
    slots = sorted({slot_of_cache(cache, plan.slots) for cache in plan.caches})
    return tuple(tuple(slots[at] for at in group) for group in slots_of_tasks(len(slots), most))


class QuerySender:
    """The open slots of one task. Close it after any error; it cannot be used again.

    :param caches: caches of the task.
    :param counts: what was sent, by slot and cache; updated at each commit.
    :param open_slot: opens a slot; called in several threads.
    :raises TopicError: a cache's offsets belong to another topic than the plan's.
    """

    def __init__(
        self, plan: TransferPlan, caches: Iterable[CachePlan], cluster: Cluster, counts: Counts, open_slot: Callable[[int], SlotWriter]
    ) -> None:
        self._plan, self._counts = plan, counts
        self._slots = {cache.name: slot_of_cache(cache, plan.slots) for cache in caches}
        self._entries, self._infos = EntrySender(plan, cluster), CacheInfos(cluster)
        self._batch: dict[int, dict[str, CacheCount]] = defaultdict(lambda: defaultdict(CacheCount))  # not committed yet
        self._records: Counter[tuple[str, int]] = Counter()  # records of partitions that are being loaded
        self._kinds: dict[str, set[KeyKind]] = {}
        self._writers = OpenSlots(open_slot, sorted(set(self._slots.values())))
        for cache in caches:
            offsets = self._writers[self._slots[cache.name]].state.by_cache.get(cache.name, {})
            check_units(plan, cache, offsets)
            self._kinds[cache.name] = kinds_of_keys(offsets.values())

    @property
    def in_doubt(self) -> bool:
        """True if a commit was requested and has no answer."""
        return self._writers.in_doubt

    def info(self, cache: CachePlan) -> CacheInfo:
        """The description of a cache."""
        return self._infos.of(cache)

    def loaded(self, cache: CachePlan) -> set[int]:
        """Partitions whose entries are committed under the plan's snapshot id."""
        state = self._writers[self._slots[cache.name]].state
        return set(state.done(self._plan.snapshot_id, cache.name, cache.incarnation))

    def send_changes(self, cache: CachePlan, events: Sequence[CacheEvents]) -> None:
        """Queue changes of a cache, in their order."""
        pages, removed = [one.page for one in events], np.concatenate([one.removed for one in events])
        self._send(cache, pages, np.full(removed.size, NO_PARTITION), removed)

    def send_entries(self, cache: CachePlan, pages: Sequence[Page]) -> None:
        """Queue scanned entries of a cache; call :meth:`end_partitions` once their partitions are fully read."""
        partitions = np.repeat([page.partition for page in pages], [page.rows for page in pages])
        if not partitions.size:
            return
        sent = self._send(cache, pages, partitions, None)
        count = self._count(cache)
        count.entries += partitions.size - sent.filtered.size
        left_out = np.concatenate([sent.bad, sent.filtered, sent.dropped])
        for partition in np.delete(partitions, left_out).tolist():
            self._records[cache.name, partition] += 1
        writer = self._writers[self._slots[cache.name]]
        if writer.past_limits:
            self.commit()

    def end_partitions(self, cache: CachePlan, partitions: Iterable[int]) -> None:
        """Queue the offset records of loaded partitions."""
        writer = self._writers[self._slots[cache.name]]
        for partition in partitions:
            records = self._records.pop((cache.name, partition), 0)
            unit = cache.name, partition, cache.incarnation, self._plan.snapshot_id
            writer.unit_done(*unit, records, topic_id=cache.topic_id, key_kinds=self._kinds[cache.name])
            self._count(cache).units += 1

    def commit(self) -> int:
        """Commit what is queued; return the number of records."""
        records = sum(count.records for counts in self._batch.values() for count in counts.values())
        self._writers.each(self._commit_slot, list(self._batch))
        return records

    def _commit_slot(self, slot: int) -> None:
        self._writers[slot].commit()
        for name, count in self._batch.pop(slot).items():
            self._counts[slot][name].add(count)

    def _count(self, cache: CachePlan) -> CacheCount:
        return self._batch[self._slots[cache.name]][cache.name]

    def _send(self, cache: CachePlan, pages: Sequence[Page], partitions: Int64Array, removed: Mask | None) -> Sent:
        slot, count = self._slots[cache.name], self._count(cache)
        self._entries.note_key_types(cache.name, remembered(self._kinds[cache.name]))
        sent = self._entries.send(self._writers[slot], slot, cache, self._infos.of(cache), pages, partitions, removed)
        self._kinds[cache.name] |= sent.records.key_kinds
        count.bad += sent.bad.size
        count.filtered += sent.filtered.size
        count.records += len(sent.records)
        count.bytes += sent.records.nbytes
        count.started = count.started or time.time()
        count.ended = time.time()
        return sent

    def close(self) -> None:
        """Close every slot; open transactions are aborted."""
        self._writers.close()
