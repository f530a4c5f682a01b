"""Spark task of a sink: stores batch after batch of its partitions, until their ends or until its epoch ends.

A batch is read and converted while the nodes store the one before. Every push_interval_ms, and when a batch has bad
records, the task waits until the nodes have acknowledged all entries; then it commits the group's offsets, their copies
and the dead letters, in one transaction a slot. After a task that dies before its commit, the next one stores the same
entries again; a strict one stores only the last one of each key of those that may be stored already.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

from .. import events
from ..common.deadline import Deadline, Interval
from ..common.measurements import BATCH, observe
from ..convert.rules.failure_stages import policy_of
from ..errors import EntriesRefused, IgniteKafkaError, RecordsLost, RecordsOvertaken
from ..ignite.cluster import Cluster
from ..ignite.write_fence import WriteFence, WriterToken
from ..kafka.consumer import BatchLimits, RecordReader
from ..kafka.dead_letters import DeadLetter
from ..kafka.topics import TopicPartition
from ..plan.sink_offsets import SKIP_REMEDY
from ..plan.sink_plan import SinkPlan
from ..plan.slots import Owner
from ..runtime.clients import ignite_cluster, slot_clients
from ..runtime.counts import SlotResult
from ..runtime.epoch import Epoch, EpochEnd
from ..runtime.memory import tune_allocation
from ..runtime.task_loop import TaskLoop, TaskServices
from ..settings.error_policies import DEAD_LETTER
from ..settings.secrets import Secrets
from ..settings.sink import NONE
from ..state.status import CacheCount
from .commits import Commits
from .dead_letters import dead_letters
from .entry_router import EntryRouter
from .put_limits import least_ahead
from .repetition import Repetition, read_repetition
from .slots import SinkSlots
from .start_offsets import Starts
from .store import Store, Stored, stopping_record

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
        router = EntryRouter(self._plan, cluster, self._clients)
        with (
            closing(SinkSlots(self._plan, self._clients, self._slots, self._owner)) as slots,
            self._fence(cluster) as fence,
        ):
            starts = slots.starts()
            limits = slots.committed_limits(starts) if self._repeats_in_order else None
            repetition = self._read_repetition(router, slots, starts, limits, end)
            if repetition.ends and end.reached():
                return
            ends = self._ends(repetition)
            store = Store(
                router,
                cluster,
                self._settings,
                in_order=self._in_order,
                fence=fence,
                confirm=slots.confirm if fence is None and self._settings.process_updates else None,
                repetition=repetition,
            )
            with closing(store), closing(self._reader(router, starts.offsets, ends)) as reader:
                least = least_ahead(self._settings.batch_size, len(starts.offsets))
                commits = Commits(slots, reader, repetition, limits, least)
                commits.begin(starts.unrecorded)
                self._batches(reader, store, slots, commits, end)

    @property
    def _repeats_in_order(self) -> bool:
        """Whether a strict sink would take a key back to an older record if it put records again in their order.

        Nodes leave existing entries without `process_updates`, and greater ones with `order_field`.
        """
        return bool(self._plan.fence) and self._settings.process_updates and not self._settings.order_field

    def _ends(self, repetition: Repetition) -> dict[TopicPartition, int] | None:
        """Return the end of each partition; None if the run has no ends.

        A run that ends before what an earlier one may have stored reads that, too: part of it would be a step back.
        """
        if self._settings.streams:
            return None
        ends = {(topic.name, number): topic.ends[number] for _, topic, number in self._plan.partitions(self._slots)}
        return {place: max(offset, repetition.ends.get(place, 0)) for place, offset in ends.items()}

    def _reader(
        self, router: EntryRouter, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int] | None
    ) -> RecordReader:
        limits = BatchLimits(self._settings.batch_size, self._settings.batch_bytes)
        needed = {"timed": router.needs_times, "headers": router.needs_headers}
        group = self._settings.group_id
        return RecordReader(self._clients, group, starts, ends, limits, **needed, head_of=router.head_of)

    def _read_repetition(
        self,
        router: EntryRouter,
        slots: SinkSlots,
        starts: Starts,
        limits: Mapping[TopicPartition, int] | None,
        end: EpochEnd,
    ) -> Repetition:
        """Find the records that an earlier task may have stored, once its writes are refused.

        None are left out while records are put in order, since a cache may refuse the one that supersedes another.
        """
        if limits is None or self._in_order:
            return Repetition()
        ends = slots.repeated_ends(starts, limits)
        if not ends:
            return Repetition()
        repeated = {place: starts.offsets[place] for place in ends}
        with closing(self._reader(router, repeated, ends)) as reader:
            return read_repetition(reader, router, ends, partial(stopping_record, self._settings), end.reached)

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

    def _batches(self, reader: RecordReader, store: Store, slots: SinkSlots, commits: Commits, end: EpochEnd) -> None:
        due = Deadline.after(self._commit_s)
        while not reader.finished:
            batch = reader.read(self._wait_s)
            if batch:
                commits.raise_limits()
            started = time.time()
            stored = store.store(batch)
            if batch:
                observe(BATCH, time.time() - started)
            commits.add(batch, stored, self._dead_letters(stored, slots), started)
            ends = reader.finished or end.reached()
            if not (ends or due.expired or stored.stopped or stored.skipped):
                continue
            store.flush()
            if self._checks.due():
                slots.check_topics()
            stops = {place: int(error.where["offset"]) for place, error in stored.stopped.items()}
            clean = ends and not stops and not self._in_order
            self._count(commits.commit({**reader.positions, **stops}, last=clean), slots)
            due = Deadline.after(self._commit_s)
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
        for place, count in done:
            self._counts[slots.slot_of[place]][self._caches[place[0]]].add(count)
