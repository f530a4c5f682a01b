"""Base class of a stream task's senders: entries are queued in the slots' transactions, and counted once committed."""

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
    """Base class of a stream's senders, with the open slots of one task; unusable after an error, except to close.

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
        """Whether a requested commit of any slot got no reply, so that its outcome is unknown."""
        return self._writers.in_doubt

    def commit(self) -> int:
        """Commit the transactions of all slots, and return the number of committed records."""
        records = sum(count.records for counts in self._batch.values() for count in counts.values())
        self._writers.each(self._commit_slot, self._writers)
        return records

    def _commit_slot(self, slot: int) -> None:
        self._writers[slot].commit()
        for name, count in self._batch.pop(slot, {}).items():
            self._counts[slot][name].add(count)

    def _queue(self, slot: int, cache: CachePlan, info: CacheInfo, batch: EntryBatch) -> Sent:
        """Queue a batch of entries in a slot's transaction, and count them; errors are those of `EntrySender.send`."""
        self._entries.note_key_types(cache.name, remembered(self._key_kinds[cache.name]))
        sent = self._entries.send(self._writers[slot], slot, cache, info, batch)
        self._key_kinds[cache.name] |= sent.records.key_kinds
        count = self._batch[slot][cache.name]
        count.bad += sent.bad.size
        count.filtered += sent.filtered.size
        count.dead_letters += sent.dead_letters.size
        count.records += len(sent.records)
        count.bytes += sent.records.nbytes
        count.started = count.started or time.time()
        count.ended = time.time()
        return sent

    def send_heartbeat(self, topic: str, key: bytes, value: bytes) -> None:
        """Queue a record of the topic of heartbeats in the transaction of slot 0, which must be open here."""
        self._writers[0].send_heartbeat(topic, key, value)

    def close(self) -> None:
        """Close the producers of all slots; open transactions are aborted."""
        self._writers.close()
