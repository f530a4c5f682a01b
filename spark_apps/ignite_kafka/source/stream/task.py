"""The Spark task of a stream: sends batch after batch of its slots until its epoch ends, and reports its progress to the driver.

A cycle: read changes, send them in one transaction a slot, acknowledge them; then load a few units from the cache in the same way. So the
initial load delays a change, or a stop, by at most ``batch_bytes`` of entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from ...common.deadline import Deadline, Interval
from ...errors import IgniteKafkaError, OutcomeUnknown
from ...events import QUERY_FAILED
from ...kafka.topics import Topics
from ...plan.slots import Owner
from ...plan.source_plan import TransferPlan
from ...runtime.clients import ignite_cluster, slot_clients, slot_opener
from ...runtime.counts import CacheCount, SlotResult
from ...runtime.epoch import Epoch, EpochEnd
from ...runtime.memory import tune_allocation
from ...runtime.task_loop import TaskLoop, TaskServices
from ...settings.secrets import Secrets
from .backlog_client import BacklogClient
from .backlog_reader import BacklogReader
from .batch import ChangeBatch
from .cache_infos import CacheInfos
from .rate_limit import RateLimiter
from .sender import SlotsSender
from .unit_table import UnitTable

_RECONCILE_COMMIT_S = 20.0


def stream_slots(plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> Iterator[SlotResult]:
    """Stream slots until the epoch ends.

    :param slots: numbers of the slots of this task.
    :param attempt: number of the task's attempt: a later one takes the slots over.
    :returns: one result a slot, with what was sent in this epoch.
    """
    tune_allocation()
    yield from TaskStream(plan, secrets, slots, attempt, epoch).run()


class BatchRunner:
    """Moves batches one way: the reader makes a batch, the sender commits it, then the reader remembers and acknowledges it."""

    def __init__(self, reader: BacklogReader, sender: SlotsSender, limiter: RateLimiter) -> None:
        self._reader, self._sender, self._limiter = reader, sender, limiter

    def changes(self) -> None:
        """Send the changes that one read of the backlog gives."""
        self._commit(self._reader.changes())

    def load(self) -> None:
        """Send the next units from the cache."""
        self._commit(self._reader.load())

    def reconcile(self, *, ends: bool = False) -> None:
        """Do the next step of tombstone reconciliation.

        :param ends: whether the task ends: the tombstones found so far are sent.
        """
        for batch in self._reader.reconcile(ends=ends):
            self._commit([batch])

    def _commit(self, batches: Sequence[ChangeBatch]) -> None:
        self._sender.send(batches)
        records = self._sender.commit()
        for batch in batches:
            self._reader.remember(batch)
            self._reader.acknowledge(batch)
        self._limiter.sent(records)


class TaskStream(TaskLoop):
    """The slots of one task from the beginning of an epoch to its end, over as many attempts as the retry budget allows."""

    RETRIED = QUERY_FAILED

    def __init__(
        self, plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch, services: TaskServices | None = None
    ) -> None:
        self._settings, self._clients = plan.settings, slot_clients(plan.settings, secrets)
        super().__init__(plan, slots, epoch, services or TaskServices.of(plan, self._clients, epoch))
        self._plan, self._secrets = plan, secrets
        self._owner = Owner(plan.generation, epoch=epoch.number, attempt=attempt)
        self._table = UnitTable.of(plan, slots)
        self._counts = {slot: {cache.name: CacheCount() for cache in plan.caches} for slot in slots}
        self._limiter = RateLimiter.of_task(self._settings.max_records_per_second, len(slots), plan.slots, epoch.ahead_s)
        self._in_doubt = self._finished = self._loaded = False
        self._reported_loaded = False
        self._reconcile_commits = Interval(_RECONCILE_COMMIT_S)  # so that a later task continues where this one was

    def _results(self) -> list[SlotResult]:
        ahead_s = self._limiter.ahead_s
        return [SlotResult(slot, self._counts[slot], None, self._finished, self._loaded, ahead_s) for slot in self._slots]

    def _attempt(self, end: EpochEnd) -> None:
        secret = end.capture_secret(self._clients.patience_s)
        with ignite_cluster(self._settings, self._secrets, secret) as cluster:
            infos, topics = CacheInfos(cluster), Topics(self._clients)
            open_slot = slot_opener(self._plan, self._clients, topics, self._owner)
            sender = SlotsSender(self._plan, self._table, cluster, infos, self._counts, open_slot)
            client = BacklogClient(cluster, self._plan.connector)
            most_records = self._limiter.batch_records
            try:
                with closing(BacklogReader(self._plan, self._table, client, infos, self._clients, topics, most_records)) as reader:
                    reader.restore(sender.offsets())
                    self._in_doubt = False
                    self._batches(BatchRunner(reader, sender, self._limiter), reader, end)
            finally:
                self._in_doubt = self._in_doubt or sender.in_doubt
                sender.close()

    def _batches(self, runner: BatchRunner, reader: BacklogReader, end: EpochEnd) -> None:
        if self._limiter.ahead_s and end.reached(self._limiter.ahead_s):
            return
        while True:
            next_poll = Deadline.after(self._settings.poll_interval_ms / 1000)
            runner.changes()
            if self._epoch.until is not None and reader.caught_up(self._epoch.until):
                self._finished = self._loaded = True
                return
            runner.load()
            runner.reconcile(ends=self._reconcile_commits.due())
            self.progressed()
            self._loaded = reader.all_loaded
            self.report_progress(self._counts.values(), loaded=self._loaded, at_once=self._loaded != self._reported_loaded)
            self._reported_loaded = self._loaded
            reader.forget()
            if end.reached(max(self._limiter.ahead_s, 0.0 if reader.more else next_poll.remaining())):
                runner.reconcile(ends=True)
                return

    def _final_error(self, error: IgniteKafkaError) -> IgniteKafkaError:
        if self._in_doubt and not error.final:
            return OutcomeUnknown(
                f"a commit got no answer and the slots could not be read since: {error}",
                "Start the connector again: it continues from what was committed.",
                connector=self._plan.connector,
                slots=", ".join(map(str, self._slots)),
            )
        return error
