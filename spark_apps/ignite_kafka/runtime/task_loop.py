"""The attempts of a Spark task that goes on until its epoch ends: of a stream, and of a sink."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import closing

from .. import events
from ..common.deadline import Interval
from ..errors import IgniteKafkaError, TransactionTimeout
from ..kafka.clients import KafkaClients
from ..plan.source_plan import RunPlan
from ..state.status import StatusWriter, TaskProgress
from .counts import Counts, SlotResult, summed
from .epoch import Epoch, EpochEnd

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 2.0


class TaskLoop(ABC):
    """The slots of one task from the beginning of an epoch to its end, over as many attempts as the retry budget allows."""

    def __init__(self, plan: RunPlan, clients: KafkaClients, slots: Sequence[int], epoch: Epoch) -> None:
        self._slots, self._epoch = slots, epoch
        self._run_plan, self._loop_clients = plan, clients
        self._failing_since: float | None = None
        self._status = StatusWriter(clients, plan.settings.internal_topic_prefix)
        self._tells = Interval(plan.settings.progress_interval_ms / 1000)

    @abstractmethod
    def _attempt(self, end: EpochEnd) -> None:
        """Work until the epoch ends, or until there is nothing more to do."""

    @abstractmethod
    def _results(self) -> list[SlotResult]:
        """What the slots have done, without an error."""

    def _verdict(self, error: IgniteKafkaError) -> IgniteKafkaError:
        """The error that a last failure ends the task with."""
        return error

    def progressed(self) -> None:
        """Something is committed: the time that failures may take begins anew."""
        self._failing_since = None

    def tell(self, slots: Iterable[Counts], *, loaded: bool, at_once: bool = False) -> None:
        """Let the driver know how far this task is, at times or at once.

        :param slots: what each slot has done in this epoch.
        """
        if not self._tells.due() and not at_once:
            return
        caches = {name: vars(count) for name, count in summed(slots).items()}
        progress = TaskProgress(self._run_plan.generation, self._epoch.number, loaded, caches)
        self._status.progress(self._run_plan.connector, min(self._slots), progress)

    def run(self) -> list[SlotResult]:
        """One result a slot."""
        error = self._attempts()
        results = self._results()
        for result in results:
            result.error = error
        return results

    def _attempts(self) -> IgniteKafkaError | None:
        wait = _FIRST_WAIT_S
        with closing(EpochEnd(self._loop_clients, self._run_plan, self._epoch)) as end:
            while True:
                try:
                    self._attempt(end)
                    return None
                except IgniteKafkaError as failure:
                    self._failing_since = self._failing_since or time.monotonic()
                    budget_s = self._run_plan.settings.retry_timeout_ms / 1000
                    # a task that stood still goes on from what is committed; one that is always too slow ends when its time is over
                    lasting = failure.final and not isinstance(failure, TransactionTimeout)
                    if lasting or time.monotonic() - self._failing_since > budget_s:
                        return self._verdict(failure)
                    events.emit(events.UNIT_REDONE, slot=", ".join(map(str, self._slots)), reason=str(failure))
                if end.told(wait):  # its time alone is no way out while nothing works: the time that failures may take goes on
                    return None
                wait = min(wait * 2, _LONGEST_WAIT_S)
