"""Spark task of a stream that captures changes by the backlog service.

It sends batch after batch of its slots until its epoch ends, and reports its progress to the driver.

A cycle: read changes, send them in one transaction per slot, acknowledge them; then load a few units from the cache in
the same way. So the initial load delays a change, or a stop, by at most ``batch_bytes`` of entries.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from ...common.deadline import Deadline, Interval
from ...common.measurements import BATCH, observe
from ...kafka.topics import Topics
from ...plan.source_plan import TransferPlan
from ...runtime.clients import ignite_cluster
from ...runtime.counts import SlotResult
from ...runtime.epoch import Epoch, EpochEnd
from ...runtime.latencies import observe_latencies
from ...runtime.memory import tune_allocation
from ...settings.secrets import Secrets
from .backlog_client import BacklogClient
from .backlog_reader import BacklogReader
from .batch import ChangeBatch
from .cache_infos import CacheInfos
from .heartbeats import HeartbeatRelay
from .rate_limit import RateLimiter
from .sender import SlotsSender
from .sending_task import SendingTask
from .unit_table import UnitTable

_RECONCILE_COMMIT_S = 20.0


def stream_slots(
    plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch
) -> Iterator[SlotResult]:
    """Run the Spark task: send the entries and changes of its slots until the epoch ends.

    :param slots: numbers of the slots of this task.
    :param attempt: number of the task's attempt; a later attempt takes over the slots.
    :returns: a result for each slot, with the counts of this epoch.
    """
    tune_allocation()
    yield from TaskStream(plan, secrets, slots, attempt, epoch).run()


class BatchRunner:
    """Moves batches through a task: the reader builds one, the sender commits it, the reader acknowledges it."""

    def __init__(self, reader: BacklogReader, sender: SlotsSender, limiter: RateLimiter) -> None:
        self._reader = reader
        self._sender = sender
        self._limiter = limiter

    def changes(self) -> None:
        """Poll the backlog once, and send and commit the changes."""
        began_at = time.monotonic()
        batches = self._reader.changes()
        self._commit(batches)
        if any(batch.active.size for batch in batches):
            observe(BATCH, time.monotonic() - began_at)
            for batch in batches:
                observe_latencies(batch.changes.time_ms[batch.classified.new])

    def load(self) -> None:
        """Load the next cache partitions, and send and commit their entries."""
        began_at = time.monotonic()
        batches = self._reader.load()
        self._commit(batches)
        if batches:
            observe(BATCH, time.monotonic() - began_at)

    def reconcile(self, *, ends: bool = False) -> None:
        """Read a few more records of the topic being reconciled, and send the tombstones that are due.

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


class TaskStream(SendingTask):
    """Spark task that sends the changes of its cache partitions, read from the backlog service."""

    IN_DOUBT_REMEDY = "Start the connector again: it continues from what was committed."

    def __init__(self, plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> None:
        super().__init__(plan, secrets, slots, attempt, epoch, plan.slots)
        self._table = UnitTable.of(plan, slots)
        self._heartbeats: HeartbeatRelay | None = None
        self._reconcile_commits = Interval(_RECONCILE_COMMIT_S)  # so that a later task continues where this one was

    def _attempt(self, end: EpochEnd) -> None:
        secret = end.capture_secret(self._clients.patience_s)
        with ignite_cluster(self._settings, self._secrets, secret) as cluster:
            infos = CacheInfos(cluster)
            topics = Topics(self._clients)
            sender = SlotsSender(self._plan, self._table, cluster, infos, self._counts, self._opener(topics))
            client = BacklogClient(cluster, self._plan.connector)
            most_records = self._limiter.batch_records
            with (
                self._closed(sender),
                closing(
                    BacklogReader(self._plan, self._table, client, infos, self._clients, topics, most_records)
                ) as reader,
            ):
                reader.restore(sender.offsets())
                self._in_doubt = False
                self._heartbeats = None
                if self._plan.heartbeat_incarnation and 0 in self._slots:
                    self._heartbeats = HeartbeatRelay(self._plan, client, sender.send_heartbeat, sender.commit)
                self._batches(BatchRunner(reader, sender, self._limiter), reader, end)

    def _batches(self, runner: BatchRunner, reader: BacklogReader, end: EpochEnd) -> None:
        """Send batches until the epoch ends, or until a run with ``run_mode`` once has caught up.

        1. Send the changes that are in the backlog; end if the run has caught up.
        2. Send the entries of the next partitions that are to be loaded.
        3. Reconcile a part of the topics' keys: send tombstones of keys that the caches no longer have.
        4. Report progress, and forget changes that can no longer come twice.
        5. Wait for the rate limit or the next poll; end if the epoch ends.
        """
        if self._limiter.ahead_s and end.reached(self._limiter.ahead_s):
            return
        while True:
            # 1. changes
            next_poll = Deadline.after(self._settings.poll_interval_ms / 1000)
            runner.changes()
            if self._heartbeats is not None:
                self._heartbeats.forward()
            if self._epoch.until is not None and reader.caught_up(self._epoch.until):
                self._finished = self._loaded = True
                return
            # 2. initial load
            runner.load()
            # 3. reconciliation
            runner.reconcile(ends=self._reconcile_commits.due())
            # 4. progress
            self.progressed()
            self._report(loaded=reader.all_loaded)
            reader.forget()
            # 5. wait
            if end.reached(max(self._limiter.ahead_s, 0.0 if reader.more else next_poll.remaining())):
                runner.reconcile(ends=True)
                return
