"""Base class of a stream's Spark tasks, for both ways of capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from ...errors import IgniteKafkaError, OutcomeUnknown
from ...events import QUERY_FAILED
from ...kafka.topics import Topics
from ...plan.slots import Owner
from ...plan.source_plan import TransferPlan
from ...runtime.clients import slot_clients, slot_opener
from ...runtime.counts import SlotResult
from ...runtime.epoch import Epoch
from ...runtime.task_loop import TaskLoop, TaskServices
from ...settings.secrets import Secrets
from ...state.open_slots import SlotOpener
from ...state.status import CacheCount, Waiting
from ..counted_slots import CountedSlots
from .rate_limit import RateLimiter


class SendingTask(TaskLoop):
    """Spark task that sends the changes of its slots until the epoch ends, and retries within its retry budget.

    :param all_slots: number of slots that share the rate limit.
    """

    RETRIED = QUERY_FAILED
    IN_DOUBT_REMEDY: ClassVar[str]
    """Remedy for a commit that got no reply."""

    def __init__(
        self, plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch, all_slots: int
    ) -> None:
        self._settings = plan.settings
        self._clients = slot_clients(plan.settings, secrets)
        super().__init__(plan, slots, epoch, TaskServices.of(plan, self._clients, epoch), attempt)
        self._plan = plan
        self._secrets = secrets
        self._owner = Owner(plan.generation, epoch=epoch.number, attempt=attempt)
        self._counts = {slot: {cache.name: CacheCount() for cache in plan.caches} for slot in slots}
        self._limiter = RateLimiter.of_task(self._settings.max_records_per_second, len(slots), all_slots, epoch.ahead_s)
        self._in_doubt = self._finished = self._loaded = False

    def _results(self) -> list[SlotResult]:
        ahead_s = self._limiter.ahead_s
        return [
            SlotResult(slot, self._counts[slot], None, self._finished, self._loaded, ahead_s) for slot in self._slots
        ]

    def _opener(self, topics: Topics) -> SlotOpener:
        return slot_opener(self._plan, self._clients, topics, self._owner)

    @contextmanager
    def _closed(self, sender: CountedSlots) -> Iterator[None]:
        """Context that closes a sender at its end, and remembers whether one of its commits got no reply."""
        try:
            yield
        finally:
            self._in_doubt = self._in_doubt or sender.in_doubt
            sender.close()

    def _report(self, *, loaded: bool, waiting: Mapping[str, Waiting] | None = None) -> None:
        """Report progress at intervals, and immediately when the initial load ends or restarts."""
        at_once = loaded != self._loaded
        self._loaded = loaded
        self.report_progress(self._counts.values(), loaded=loaded, at_once=at_once, waiting=waiting)

    def _final_error(self, error: IgniteKafkaError) -> IgniteKafkaError:
        if self._in_doubt and not error.final:
            what = f"a commit got no answer and the slots could not be read since: {error}"
            slots = ", ".join(map(str, self._slots))
            return OutcomeUnknown(what, self.IN_DOUBT_REMEDY, connector=self._plan.connector, slots=slots)
        return error
