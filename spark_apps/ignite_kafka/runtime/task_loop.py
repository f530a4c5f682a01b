"""Base class of the Spark tasks of streams and sinks, with retries until the epoch ends."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from .. import events
from ..common import measurements
from ..common.deadline import Clock, Interval
from ..common.event_log import EventLog, format_counts
from ..common.retry import GROWING, RetryBudget, retry
from ..errors import IgniteKafkaError, TransactionTimeout
from ..kafka.clients import KafkaClients
from ..plan.source_plan import RunPlan
from ..state.status import StatusWriter, TaskProgress, Waiting
from .counts import Counts, SlotResult, sum_counts
from .epoch import Epoch, EpochEnd
from .failure_events import report_retry
from .silent_tasks import watched_task

_MOST_EVENT_BYTES = 20_000  # of a report, which each task repeats at every interval


class _EpochOver(Exception):
    """Raised to end a task's retries, because the driver ended the epoch while the task waited."""


@dataclass(frozen=True)
class TaskServices:
    """What a task uses of its surroundings: status topic, end of the epoch, clock; tests replace it.

    :param open_end: creates the detector of the epoch's end.
    """

    status: StatusWriter
    open_end: Callable[[], EpochEnd]
    clock: Clock = time.monotonic

    @staticmethod
    def of(plan: RunPlan, clients: KafkaClients, epoch: Epoch) -> TaskServices:
        """Make the services that a task of an epoch uses in a real run."""
        return TaskServices(
            StatusWriter(clients, plan.settings.internal_topic_prefix), partial(EpochEnd, clients, plan, epoch)
        )


class TaskLoop(ABC):
    """Base class of a Spark task that works on its slots until the epoch ends, and retries within its budget."""

    RETRIED: ClassVar[events.Event]
    """Event to emit for a retry that is caused by Ignite."""

    def __init__(
        self, plan: RunPlan, slots: Sequence[int], epoch: Epoch, services: TaskServices, attempt: int = 0
    ) -> None:
        self._run_plan = plan
        self._slots = slots
        self._epoch = epoch
        self._services = services
        self._budget = RetryBudget(plan.settings.retry_timeout_ms / 1000, services.clock)
        self._reports = Interval(plan.settings.progress_interval_ms / 1000)
        self._reported = TaskProgress(plan.generation, epoch.number, False, {}, attempt=attempt)
        self._events: EventLog | None = None
        self._measured = measurements.Collector()

    @abstractmethod
    def _attempt(self, end: EpochEnd) -> None:
        """Open the slots and copy until the epoch ends or everything is done; called again after a retriable error."""

    @abstractmethod
    def _results(self) -> list[SlotResult]:
        """Return a result for each slot with its counts; :meth:`run` adds the error."""

    def _final_error(self, error: IgniteKafkaError) -> IgniteKafkaError:
        """Translate the last failure of the attempts to the error that the task reports."""
        return error

    def progressed(self) -> None:
        """Record a commit, which restarts the time limit for retries."""
        self._budget.reset()

    def report_progress(
        self,
        slots: Iterable[Counts],
        *,
        loaded: bool,
        at_once: bool = False,
        waiting: Mapping[str, Waiting] | None = None,
    ) -> None:
        """Report the task's counts to the driver in the status topic, at intervals or at once.

        :param slots: counts of each slot in this epoch.
        :param waiting: see :class:`.TaskProgress`.
        """
        if not self._reports.due() and not at_once:
            return
        self._reported = replace(self._reported, loaded=loaded, caches=sum_counts(slots), waiting=waiting or {})
        self._send_report()

    def _still_alive(self) -> None:
        """Repeat the last report as a sign of life, while a batch or a retry takes longer than the interval."""
        if self._reports.due():
            self._send_report()

    def _send_report(self) -> None:
        emitted = {} if self._events is None else format_counts(self._events.counts(), _MOST_EVENT_BYTES)
        progress = replace(self._reported, events=emitted, measured=self._measured.measured())
        self._services.status.progress(self._run_plan.connector, min(self._slots), progress)

    def run(self) -> list[SlotResult]:
        """Run all attempts of the task, and return a result for each slot."""
        with (
            events.collect() as self._events,
            measurements.collect() as self._measured,
            watched_task(self._run_plan.settings, self._still_alive),
        ):
            error = self._attempts()
        results = self._results()
        for result in results:
            result.error = error
            result.attempt = self._reported.attempt
            if result.slot == min(self._slots):
                result.measured = self._measured.measured()
        return results

    def _attempts(self) -> IgniteKafkaError | None:
        with closing(self._services.open_end()) as end:

            def pause(seconds: float) -> None:
                if end.ended(seconds):  # the end by time alone does not end retries: their own deadline does
                    raise _EpochOver

            try:
                retry(
                    lambda: self._attempt(end),
                    self._budget,
                    _may_pass,
                    failed=self._retried,
                    backoff=GROWING,
                    sleep=pause,
                )
            except _EpochOver:
                return None
            except IgniteKafkaError as failure:
                return self._final_error(failure)
            return None

    def _retried(self, error: IgniteKafkaError) -> None:
        measurements.count_retry(measurements.ATTEMPT)
        report_retry(error, self.RETRIED, ", ".join(map(str, self._slots)))


def _may_pass(error: IgniteKafkaError) -> bool:
    # a task that stood still goes on from what is committed; one that is always too slow ends when its time is over
    return not error.final or isinstance(error, TransactionTimeout)
