"""What a Spark task of a sink does: batch after batch of its partitions, until their ends, or until its epoch ends.

A batch: read records, convert them, and send entries to be put and removed while the next batch is read and converted. Every
push_interval_ms, and where there is something to tell, the task waits until the nodes have acknowledged all, and commits in one transaction
a slot the group's offsets, their copies, and the dead letters. A task that dies before leaves entries that the next one writes again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from ..common.deadline import Interval
from ..errors import EntriesRefused, IgniteKafkaError, RecordsLost, RecordsOvertaken
from ..kafka.consumer import BatchLimits, RecordReader
from ..kafka.dead_letters import DeadLetter
from ..kafka.records import Consumed
from ..kafka.topics import Place
from ..plan.sink_offsets import PASS_OVER
from ..plan.sink_plan import SinkPlan
from ..plan.slots import Owner
from ..runtime.clients import ignite_cluster, slot_clients
from ..runtime.counts import CacheCount, SlotResult
from ..runtime.epoch import Epoch, EpochEnd
from ..runtime.memory import tune_allocation
from ..runtime.task_loop import TaskLoop, TaskServices
from ..settings.connector import DEAD_LETTER
from ..settings.secrets import Secrets
from ..settings.sink import NONE
from .dead_letters import dead_letters
from .slots import SinkSlots
from .store import Store, Stored

log = logging.getLogger(__name__)
_CHECK_S = 5.0  # a topic that is deleted and made again is noticed that soon; its offsets would be those of the one before
_GATHER_S = 0.2  # of a run that ends: how long a batch that is not full waits for more


def sink_slots(plan: SinkPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> Iterator[SlotResult]:
    """Store what slots read until their ends, or until the epoch ends; one result each, with what was stored in this epoch."""
    tune_allocation()
    yield from SinkTask(plan, secrets, slots, attempt, epoch).run()


class SinkTask(TaskLoop):
    """The slots of one task from the beginning of an epoch to its end, over as many attempts as the retry budget allows."""

    def __init__(
        self, plan: SinkPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch, services: TaskServices | None = None
    ) -> None:
        self._clients = slot_clients(plan.settings, secrets)
        super().__init__(plan, slots, epoch, services or TaskServices.of(plan, self._clients, epoch))
        self._plan, self._secrets, self._settings = plan, secrets, plan.settings
        self._owner = Owner(plan.generation, epoch=epoch.number, attempt=attempt)
        self._caches = {topic.name: topic.cache for topic in plan.topics}
        self._counts = {slot: {topic.cache: CacheCount() for topic in plan.topics} for slot in slots}
        self._wait_s = self._settings.push_interval_ms / 1000 if self._settings.streams else _GATHER_S
        self._commit_s = self._settings.push_interval_ms / 1000
        self._finished, self._checks = False, Interval(_CHECK_S)
        self._in_order = False

    def _results(self) -> list[SlotResult]:
        return [SlotResult(slot, self._counts[slot], None, self._finished) for slot in self._slots]

    def _attempt(self, end: EpochEnd) -> None:
        try:
            self._copy_all(end)
        except RecordsLost as lost:
            raise self._overtaken(lost) from lost

    def _overtaken(self, lost: RecordsLost) -> IgniteKafkaError:
        """What lost records are by ``auto_offset_reset``: but for none the next attempt passes over them, from the slots' starts on."""
        if self._settings.auto_offset_reset == NONE:
            return RecordsLost(lost.what, PASS_OVER, **lost.where)
        return RecordsOvertaken(lost.what, lost.remedy, **lost.where)

    def _copy_all(self, end: EpochEnd) -> None:
        try:
            self._copy(end)
        except EntriesRefused as refused:
            # not known which record it was: from what is committed on they are put in their order
            log.warning("a cache refused entries; they are put in order now, to find them: %s", refused)
            self._in_order = True
            self._copy(end)

    def _copy(self, end: EpochEnd) -> None:
        limits = BatchLimits(self._settings.batch_size, self._settings.batch_bytes)
        ends = None if self._settings.streams else {(t.name, p): t.ends[p] for _, t, p in self._plan.places(self._slots)}
        with (
            ignite_cluster(self._settings, self._secrets) as cluster,
            closing(SinkSlots(self._plan, self._clients, self._slots, self._owner)) as slots,
            closing(Store(self._plan, cluster, self._clients, in_order=self._in_order)) as store,
        ):
            starts = slots.starts()
            with closing(RecordReader(self._clients, self._settings.group_id, starts.offsets, ends, limits)) as reader:
                slots.commit({place: starts.offsets[place] for place in starts.unrecorded}, {}, reader.group_metadata)
                self._batches(reader, store, slots, end)

    def _batches(self, reader: RecordReader, store: Store, slots: SinkSlots, end: EpochEnd) -> None:
        committed, committed_at = dict(reader.positions), time.monotonic()
        pending: list[tuple[Place, CacheCount]] = []
        while not reader.finished:
            batch, started = reader.read(self._wait_s), time.time()
            stored = store.store(batch)
            pending += _counted(batch, stored, started)
            ends = reader.finished or end.reached()
            due = time.monotonic() - committed_at >= self._commit_s
            if not (ends or due or stored.stopped or stored.bad):
                continue
            store.flush()
            moved = {place: position for place, position in reader.positions.items() if position != committed[place]}
            for place, error in stored.stopped.items():
                moved[place] = int(error.where["offset"])
            if self._checks.due():
                slots.check_topics()
            slots.commit(moved, self._letters(stored, slots), reader.group_metadata)
            committed, committed_at = committed | moved, time.monotonic()
            self._count(pending, slots)
            pending = []
            self.progressed()
            self.report_progress(self._counts.values(), loaded=True)
            for error in stored.stopped.values():
                raise error
            if ends and not reader.finished:
                return
        self._finished = True
        for place, slot in slots.slot_of.items():
            self._counts[slot][self._caches[place[0]]].units += 1

    def _letters(self, stored: Stored, slots: SinkSlots) -> dict[Place, list[DeadLetter]]:
        if self._settings.error_handling_policy != DEAD_LETTER:
            return {}
        letters = {}
        for consumed, bad in stored.bad:
            place = consumed.topic, consumed.partition
            number = slots.slot_of[place]  # as the number of the task: Spark's differ from run to run
            letters[place] = dead_letters(self._clients, self._settings.dead_letter_topic, self._plan.connector, number, consumed, bad)
        return letters

    def _count(self, done: Sequence[tuple[Place, CacheCount]], slots: SinkSlots) -> None:
        """Add what is committed now."""
        for place, mine in done:
            count = self._counts[slots.slot_of[place]][self._caches[place[0]]]
            mine.ended = time.time()
            count.add(mine)


def _counted(batch: Sequence[Consumed], stored: Stored, started: float) -> Iterator[tuple[Place, CacheCount]]:
    """What a batch has of each partition."""
    bad = {(consumed.topic, consumed.partition): len(records) for consumed, records in stored.bad}
    for consumed in batch:
        place = consumed.topic, consumed.partition
        size = consumed.keys.nbytes + consumed.values.nbytes
        yield place, CacheCount(stored.entries[place], len(consumed), size, started=started, bad=bad.get(place, 0))
