"""Spark task of a sink: stores batch after batch of its partitions, until their ends or until its epoch ends.

A batch is read and converted while the nodes store the one before. Every push_interval_ms, and when a batch has bad
records, the task waits until the nodes have acknowledged all entries; then it commits the group's offsets, their copies
and the dead letters, in one transaction a slot. After a task that dies before its commit, the next one stores the same
entries again.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np

from .. import events
from ..common.deadline import Deadline, Interval
from ..common.measurements import BATCH, observe
from ..convert.rules.failure_stages import policy_of
from ..errors import EntriesRefused, IgniteKafkaError, RecordsLost, RecordsOvertaken
from ..ignite.cluster import Cluster
from ..ignite.write_fence import WriteFence, WriterToken
from ..kafka.consumer import BatchLimits, RecordReader
from ..kafka.dead_letters import DeadLetter
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from ..plan.sink_offsets import SKIP_REMEDY
from ..plan.sink_plan import SinkPlan
from ..plan.slots import Owner
from ..runtime.clients import ignite_cluster, slot_clients
from ..runtime.counts import SlotResult
from ..runtime.epoch import Epoch, EpochEnd
from ..runtime.latencies import observe_latencies
from ..runtime.memory import tune_allocation
from ..runtime.task_loop import TaskLoop, TaskServices
from ..settings.error_policies import DEAD_LETTER
from ..settings.secrets import Secrets
from ..settings.sink import NONE
from ..state.status import CacheCount
from .dead_letters import dead_letters
from .entry_router import EntryRouter
from .slots import SinkSlots
from .store import Store, Stored

log = logging.getLogger(__name__)
# interval of checks for deleted topics: offsets of a topic made again must not be committed for the deleted topic
_CHECK_S = 5.0
_GATHER_S = 0.2  # maximum wait for more records of a batch, in a run that ends at the topics' ends


def sink_slots(
    plan: SinkPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch
) -> Iterator[SlotResult]:
    """Run the Spark task: store the records of its slots until the partitions' ends or the epoch's end.

    :param slots: numbers of the slots of this task.
    :param attempt: number of the task's attempt; a later attempt takes the slots over.
    :returns: one result a slot, with the counts of this epoch.
    """
    tune_allocation()
    yield from SinkTask(plan, secrets, slots, attempt, epoch).run()


class SinkTask(TaskLoop):
    """Spark task that stores the records of its slots until the epoch ends, and retries within its budget."""

    RETRIED = events.WRITE_FAILED

    def __init__(
        self,
        plan: SinkPlan,
        secrets: Secrets,
        slots: Sequence[int],
        attempt: int,
        epoch: Epoch,
        services: TaskServices | None = None,
    ) -> None:
        self._clients = slot_clients(plan.settings, secrets)
        super().__init__(plan, slots, epoch, services or TaskServices.of(plan, self._clients, epoch), attempt)
        self._plan = plan
        self._secrets = secrets
        self._settings = plan.settings
        self._owner = Owner(plan.generation, epoch=epoch.number, attempt=attempt)
        self._caches = {topic.name: topic.cache for topic in plan.topics}
        self._counts = {slot: {topic.cache: CacheCount() for topic in plan.topics} for slot in slots}
        self._wait_s = self._settings.push_interval_ms / 1000 if self._settings.streams else _GATHER_S
        self._commit_s = self._settings.push_interval_ms / 1000
        self._finished = False
        self._checks = Interval(_CHECK_S)
        self._in_order = False
        self._token = WriterToken(plan.generation, epoch.number, attempt)

    def _results(self) -> list[SlotResult]:
        return [SlotResult(slot, self._counts[slot], None, self._finished) for slot in self._slots]

    def _attempt(self, end: EpochEnd) -> None:
        try:
            self._copy_all(end)
        except RecordsLost as lost:
            raise self._overtaken(lost) from lost

    def _overtaken(self, lost: RecordsLost) -> IgniteKafkaError:
        """Turn an error about lost records into a retriable error, unless ``auto_offset_reset`` is none."""
        if self._settings.auto_offset_reset == NONE:
            return RecordsLost(lost.what, SKIP_REMEDY, **lost.where)
        return RecordsOvertaken(lost.what, lost.remedy, **lost.where)

    def _copy_all(self, end: EpochEnd) -> None:
        with ignite_cluster(
            self._settings, self._secrets
        ) as cluster:  # one cluster for both: it remembers classes that nodes cannot load
            try:
                self._copy(cluster, end)
            except EntriesRefused as refused:
                # the refusal does not name the record, so entries are put in order from the last commit on
                log.warning("a cache refused entries; they are put in order, to find the refused ones: %s", refused)
                self._in_order = True
                self._copy(cluster, end)

    def _copy(self, cluster: Cluster, end: EpochEnd) -> None:
        limits = BatchLimits(self._settings.batch_size, self._settings.batch_bytes)
        ends = (
            None
            if self._settings.streams
            else {(t.name, p): t.ends[p] for _, t, p in self._plan.partitions(self._slots)}
        )
        router = EntryRouter(self._plan, cluster, self._clients)
        with (
            closing(SinkSlots(self._plan, self._clients, self._slots, self._owner)) as slots,
            self._fence(cluster) as fence,
            closing(
                Store(
                    router,
                    cluster,
                    self._settings,
                    in_order=self._in_order,
                    fence=fence,
                    confirm=slots.confirm if fence is None and self._settings.process_updates else None,
                )
            ) as store,
        ):
            starts = slots.starts()
            needed = {"timed": router.needs_times, "headers": router.needs_headers}
            group = self._settings.group_id
            with closing(
                RecordReader(self._clients, group, starts.offsets, ends, limits, **needed, head_of=router.head_of)
            ) as reader:
                slots.commit({place: starts.offsets[place] for place in starts.unrecorded}, {}, reader.group_metadata)
                self._batches(reader, store, slots, end)

    @contextmanager
    def _fence(self, cluster: Cluster) -> Iterator[WriteFence | None]:
        """Establish the task's right to write for its slots, if the delivery is strict.

        Slots are opened before: only their owner asks. Each use takes a new turn, so that nothing of an earlier one of
        this task is stored after it.
        """
        if not self._plan.fence:
            yield None
            return
        fence = WriteFence(
            cluster,
            self._plan.fence,
            self._slots,
            self._token,
            self._plan.caches,
            order_field=self._settings.order_field,
        )
        fence.establish()
        try:
            yield fence
        finally:
            self._token = replace(fence.token, turn=fence.token.turn + 1)

    def _batches(self, reader: RecordReader, store: Store, slots: SinkSlots, end: EpochEnd) -> None:
        committed = dict(reader.positions)
        due = Deadline.after(self._commit_s)
        pending: list[tuple[TopicPartition, CacheCount]] = []
        begun_ms: list[int] = []
        while not reader.finished:
            batch = reader.read(self._wait_s)
            started = time.time()
            stored = store.store(batch)
            if batch:
                observe(BATCH, time.time() - started)
            begun_ms += [consumed.first_ms for consumed in batch]
            pending += _counted(batch, stored, started)
            ends = reader.finished or end.reached()
            if not (ends or due.expired or stored.stopped or stored.skipped):
                continue
            store.flush()
            moved = {place: position for place, position in reader.positions.items() if position != committed[place]}
            for place, error in stored.stopped.items():
                moved[place] = int(error.where["offset"])
            if self._checks.due():
                slots.check_topics()
            letters = self._dead_letters(stored, slots)
            pending += [(place, CacheCount(dead_letters=len(of_place))) for place, of_place in letters.items()]
            slots.commit(moved, letters, reader.group_metadata)
            observe_latencies(np.array(begun_ms, np.int64))
            begun_ms = []
            committed = committed | moved
            due = Deadline.after(self._commit_s)
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

    def _dead_letters(self, stored: Stored, slots: SinkSlots) -> dict[TopicPartition, list[DeadLetter]]:
        """Build dead letters of skipped records and, as Kafka Connect does, of the record that stops the run."""
        if not self._settings.dead_letter_topic:
            return {}
        letters_of: dict[TopicPartition, list[DeadLetter]] = defaultdict(list)
        settings = self._settings
        topic = self._settings.dead_letter_topic
        letters = [
            (consumed, [record for record in bad if policy_of(settings, record.stage, record.where) == DEAD_LETTER])
            for consumed, bad in stored.skipped
        ]
        for consumed, bad in (*letters, *stored.stopping):
            if bad:
                place = consumed.topic, consumed.partition
                number = slots.slot_of[place]  # used as the task's number, because Spark's numbers differ between runs
                letters_of[place] += dead_letters(self._clients, topic, self._plan.connector, number, consumed, bad)
        return letters_of

    def _count(self, done: Sequence[tuple[TopicPartition, CacheCount]], slots: SinkSlots) -> None:
        """Add the counts of batches, once committed, to the counts of their slots."""
        for place, count_of_place in done:
            count = self._counts[slots.slot_of[place]][self._caches[place[0]]]
            count_of_place.ended = time.time()
            count.add(count_of_place)


def _counted(batch: Sequence[Consumed], stored: Stored, started: float) -> Iterator[tuple[TopicPartition, CacheCount]]:
    """Yield entry, record and byte counts of a stored batch, by topic partition."""
    skipped = {(consumed.topic, consumed.partition): len(records) for consumed, records in stored.skipped}
    for consumed in batch:
        place = consumed.topic, consumed.partition
        size = consumed.read_bytes
        filtered = stored.filtered.get(place, 0)
        yield (
            place,
            CacheCount(
                stored.entries[place],
                len(consumed),
                size,
                started=started,
                bad=skipped.get(place, 0),
                filtered=filtered,
            ),
        )
