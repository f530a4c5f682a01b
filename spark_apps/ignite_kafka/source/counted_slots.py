"""Open slots of a stream's task: entries are queued in the slots' transactions, and counted after the commit."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from ..convert.to_kafka.key_types import remembered
from ..ignite.cluster import Cluster
from ..ignite.types.key_kind import KeyKind
from ..ignite.types.model import CacheInfo
from ..plan.source_plan import CachePlan, TransferPlan
from ..state.open_slots import OpenSlots
from ..state.slot_writer import SlotWriter
from ..state.status import CacheCount
from .entry_sender import EntryBatch, EntrySender, Sent

Counts = Mapping[int, Mapping[str, CacheCount]]


class CountedSlots:
    """Base class of the senders of streams; after any error it must be closed and not used again.

    :param counts: counts of sent records by slot and cache, increased by each commit.
    :param open_slot: opens a slot; called in several threads.
    :param slots: numbers of the slots.
    """

    def __init__(
        self,
        plan: TransferPlan,
        cluster: Cluster,
        counts: Counts,
        open_slot: Callable[[int], SlotWriter],
        slots: Iterable[int],
    ) -> None:
        self._plan = plan
        self._counts = counts
        self._entries = EntrySender(plan, cluster)
        # not committed yet
        self._batch: dict[int, dict[str, CacheCount]] = defaultdict(lambda: defaultdict(CacheCount))
        self._key_kinds: dict[str, set[KeyKind]] = defaultdict(set)
        self._writers = OpenSlots(open_slot, slots)

    @property
    def in_doubt(self) -> bool:
        """Whether a commit was requested and got no reply."""
        return self._writers.in_doubt

    def commit(self) -> int:
        """Commit the queued records, and return their number."""
        records = sum(count.records for counts in self._batch.values() for count in counts.values())
        self._writers.each(self._commit_slot, self._writers)
        return records

    def _commit_slot(self, slot: int) -> None:
        self._writers[slot].commit()
        for name, count in self._batch.pop(slot, {}).items():
            self._counts[slot][name].add(count)

    def _queue(self, slot: int, cache: CachePlan, info: CacheInfo, batch: EntryBatch) -> Sent:
        """Queue the entries of a batch in a slot, and count them; raise the errors of :meth:`.EntrySender.send`."""
        self._entries.note_key_types(cache.name, remembered(self._key_kinds[cache.name]))
        sent = self._entries.send(self._writers[slot], slot, cache, info, batch)
        self._key_kinds[cache.name] |= sent.records.key_kinds
        count = self._batch[slot][cache.name]
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
