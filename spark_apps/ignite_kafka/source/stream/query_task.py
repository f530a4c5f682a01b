"""The Spark task of a stream without the backlog service: follows whole caches with continuous queries until its epoch ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from .query_follower import QueryFollower
from .query_sender import QuerySender, slot_of_cache
from .rate_limit import RateLimiter


def query_slots(plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> Iterator[SlotResult]:
    """Follow the caches of some slots until the epoch ends.

    :param slots: numbers of the slots of this task.
    :param attempt: number of the task's attempt; a later attempt takes over the slots.
    :returns: one result a slot, with what was sent in this epoch.
    """
    tune_allocation()
    yield from QueryTask(plan, secrets, slots, attempt, epoch).run()


class QueryTask(TaskLoop):
    """The caches of one task from the beginning of an epoch to its end, over as many attempts as the retry budget allows.

    The queries and the uncommitted changes outlast an attempt that fails because of Kafka.
    """

    RETRIED = QUERY_FAILED

    def __init__(self, plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> None:
        self._settings, self._clients = plan.settings, slot_clients(plan.settings, secrets)
        super().__init__(plan, slots, epoch, TaskServices.of(plan, self._clients, epoch))
        self._plan, self._secrets = plan, secrets
        self._owner = Owner(plan.generation, epoch=epoch.number, attempt=attempt)
        self._caches = [cache for cache in plan.caches if slot_of_cache(cache, plan.slots) in slots]
        self._counts = {slot: {cache.name: CacheCount() for cache in plan.caches} for slot in slots}
        every_slot = {slot_of_cache(cache, plan.slots) for cache in plan.caches}
        self._limiter = RateLimiter.of_task(self._settings.max_records_per_second, len(slots), len(every_slot), epoch.ahead_s)
        gap = "the stream was interrupted" if epoch.number > 1 or attempt > 0 else ""
        self._follower = QueryFollower(plan, self._caches, self._limiter, gap)
        self._in_doubt = self._reported_loaded = False

    def run(self) -> list[SlotResult]:
        """One result a slot."""
        try:
            return super().run()
        finally:
            self._follower.close()

    def _results(self) -> list[SlotResult]:
        loaded, ahead_s = self._follower.all_loaded, self._limiter.ahead_s
        return [SlotResult(slot, self._counts[slot], None, False, loaded, ahead_s) for slot in self._slots]

    def _attempt(self, end: EpochEnd) -> None:
        with ignite_cluster(self._settings, self._secrets) as cluster:
            open_slot = slot_opener(self._plan, self._clients, Topics(self._clients), self._owner)
            sender = QuerySender(self._plan, self._caches, cluster, self._counts, open_slot)
            self._in_doubt = False
            try:
                self._follower.begin(cluster, sender)
                while not end.reached(self._limiter.ahead_s):
                    self._follower.step(cluster, sender)
                    self.progressed()
                    self._report()
                self._follower.drain(sender)
            finally:
                self._in_doubt = self._in_doubt or sender.in_doubt
                sender.close()

    def _report(self) -> None:
        loaded = self._follower.all_loaded
        self.report_progress(self._counts.values(), loaded=loaded, at_once=loaded != self._reported_loaded)
        self._reported_loaded = loaded

    def _final_error(self, error: IgniteKafkaError) -> IgniteKafkaError:
        if self._in_doubt and not error.final:
            what = f"a commit got no answer and the slots could not be read since: {error}"
            remedy = "Start the connector again; its last changes may be in the topics twice."
            return OutcomeUnknown(what, remedy, connector=self._plan.connector, slots=", ".join(map(str, self._slots)))
        return error
