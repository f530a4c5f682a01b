"""Spark task of a stream that captures changes by continuous queries, without the backlog service.

It follows whole caches with continuous queries until its epoch ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import IgniteKafkaError
from ...kafka.topics import Topics
from ...plan.source_plan import TransferPlan
from ...runtime.clients import ignite_cluster
from ...runtime.counts import SlotResult
from ...runtime.epoch import Epoch, EpochEnd
from ...runtime.memory import tune_allocation
from ...settings.secrets import Secrets
from .query_follower import QueryFollower
from .query_sender import QuerySender, slot_of_cache
from .sending_task import SendingTask


def query_slots(
    plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch
) -> Iterator[SlotResult]:
    """Run the Spark task: send the changes of the slots' caches until the epoch ends.

    :param slots: numbers of the slots of this task.
    :param attempt: number of the task's attempt; a later attempt takes over the slots.
    :returns: a result for each slot, with the counts of this epoch.
    """
    tune_allocation()
    yield from QueryTask(plan, secrets, slots, attempt, epoch).run()


class QueryTask(SendingTask):
    """Spark task that sends whole caches and their changes, captured by continuous queries.

    The queries and the uncommitted changes outlast an attempt that fails because of Kafka.
    """

    IN_DOUBT_REMEDY = "Start the connector again; its last changes may be in the topics twice."

    def __init__(self, plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> None:
        slot_of = {cache: slot_of_cache(cache, plan.slots) for cache in plan.caches}
        super().__init__(plan, secrets, slots, attempt, epoch, len(set(slot_of.values())))
        self._caches = [cache for cache in plan.caches if slot_of[cache] in slots]
        gap = "the stream was interrupted" if epoch.number > 1 or attempt > 0 else ""
        self._follower = QueryFollower(plan, self._caches, self._limiter, gap)

    def run(self) -> list[SlotResult]:
        """Run the task until the epoch ends, and return a result for each slot."""
        try:
            return super().run()
        finally:
            self._follower.close()

    def _attempts(self) -> IgniteKafkaError | None:
        error = super()._attempts()
        if error is None:  # else the next start reports the gap
            self._follower.report_unsent()
        return error

    def _results(self) -> list[SlotResult]:
        self._loaded = self._follower.all_loaded
        return super()._results()

    def _attempt(self, end: EpochEnd) -> None:
        with ignite_cluster(self._settings, self._secrets) as cluster:
            sender = QuerySender(self._plan, self._caches, cluster, self._counts, self._opener(Topics(self._clients)))
            self._in_doubt = False
            with self._closed(sender):
                self._follower.begin(cluster, sender)
                while not end.reached(self._limiter.ahead_s):
                    self._follower.step(cluster, sender)
                    self.progressed()
                    self._report(loaded=self._follower.all_loaded, waiting=self._follower.waiting)
                self._follower.drain(cluster, sender)
