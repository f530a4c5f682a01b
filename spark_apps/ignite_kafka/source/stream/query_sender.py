"""Sender for streams by continuous queries: changes and scanned entries of whole caches.

A cache has one slot, so that its changes and entries are sent in one order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...ignite.cluster import Cluster
from ...ignite.continuous_query import CacheEvents, joined
from ...ignite.types.model import Page
from ...plan.slots import kinds_of_keys, slot_of, slots_of_tasks
from ...plan.source_plan import CachePlan, TransferPlan
from ...state.sent_topics import check_units
from ...state.slot_writer import SlotWriter
from ...state.status import CacheCount
from ..counted_slots import CountedSlots, Counts
from ..entry_sender import EntryBatch, Sent, rows_by_partition
from .cache_infos import CacheInfos

NO_PARTITION = -1
"""Replacement for the partition of a change, which continuous queries do not report."""


def slot_of_cache(cache: CachePlan, slots: int) -> int:
    """Return the slot that sends all partitions of a cache; it is the same in every run."""
    return slot_of(cache.name, 0, slots)


def tasks_of_caches(plan: TransferPlan, most: int) -> tuple[tuple[int, ...], ...]:
    """Distribute the slots that have a cache over at most `most` Spark tasks."""
    slots = sorted({slot_of_cache(cache, plan.slots) for cache in plan.caches})
    return tuple(tuple(slots[at] for at in group) for group in slots_of_tasks(len(slots), most))


class QuerySender(CountedSlots):
    """Queues changes and scanned entries of whole caches in the open slots of one task.

    :param caches: caches of the task.
    :ivar infos: descriptions of the caches.
    :raises TopicError: a cache's offsets belong to another topic than the plan's.
    """

    def __init__(
        self,
        plan: TransferPlan,
        caches: Sequence[CachePlan],
        cluster: Cluster,
        counts: Counts,
        open_slot: Callable[[int], SlotWriter],
    ) -> None:
        self._slots = {cache.name: slot_of_cache(cache, plan.slots) for cache in caches}
        super().__init__(plan, cluster, counts, open_slot, sorted(set(self._slots.values())))
        self.infos = CacheInfos(cluster)
        self._records: dict[str, Counter[int]] = defaultdict(Counter)  # records of partitions that are being loaded
        try:
            self._restore(caches)
        except BaseException:
            self.close()
            raise

    def _restore(self, caches: Iterable[CachePlan]) -> None:
        for cache in caches:
            offsets = self._writers[self._slots[cache.name]].state.by_cache.get(cache.name, {})
            check_units(self._plan, cache, offsets)
            self._key_kinds[cache.name] = kinds_of_keys(offsets.values())

    def loaded(self, cache: CachePlan) -> set[int]:
        """Return the partitions of a cache that the snapshot id has already loaded and committed."""
        state = self._writers[self._slots[cache.name]].state
        return set(state.done(self._plan.snapshot_id, cache.name, cache.incarnation))

    def send_changes(self, cache: CachePlan, events: Sequence[CacheEvents]) -> None:
        """Queue changes of a cache in the transaction of its slot, in their order."""
        changes = joined(events)
        self._send(cache, EntryBatch([changes.page], np.full(changes.page.rows, NO_PARTITION), changes.removed))

    def send_entries(self, cache: CachePlan, pages: Sequence[Page]) -> None:
        """Queue scanned entries of a cache; :meth:`end_partitions` must follow once their partitions are fully read."""
        partitions = np.repeat([page.partition for page in pages], [page.rows for page in pages])
        if not partitions.size:
            return
        sent = self._send(cache, EntryBatch(pages, partitions))
        count = self._count(cache)
        count.entries += partitions.size - sent.filtered.size
        left_out = np.concatenate([sent.bad, sent.filtered, sent.dropped])
        self._records[cache.name].update(rows_by_partition(np.delete(partitions, left_out)))

    def past_limits(self, cache: CachePlan) -> bool:
        """Return whether the open transaction of a cache's slot should be committed now."""
        return self._writers[self._slots[cache.name]].past_limits

    def end_partitions(self, cache: CachePlan, partitions: Iterable[int]) -> None:
        """Queue offset records that mark cache partitions as loaded."""
        writer = self._writers[self._slots[cache.name]]
        for partition in partitions:
            records = self._records[cache.name].pop(partition, 0)
            unit = cache.name, partition, cache.incarnation, self._plan.snapshot_id
            writer.unit_done(*unit, records, topic_id=cache.topic_id, key_kinds=self._key_kinds[cache.name])
            self._count(cache).units += 1

    def _count(self, cache: CachePlan) -> CacheCount:
        return self._batch[self._slots[cache.name]][cache.name]

    def _send(self, cache: CachePlan, batch: EntryBatch) -> Sent:
        return self._queue(self._slots[cache.name], cache, self.infos.of(cache), batch)
