"""Measurements of a run's tasks: reported by tasks that report nothing else, and added up by the driver."""

from __future__ import annotations

from collections.abc import Callable

from ..common.deadline import Interval
from ..common.measurements import Collector, Measurements, add_measurements
from ..kafka.clients import KafkaClients
from ..plan.source_plan import RunPlan
from ..settings.metrics import exposes_metrics
from ..state.status import StatusWriter, TaskProgress

Attempt = tuple[int, int]
"""Epoch and attempt of a task, which rise."""


def measurement_report(
    plan: RunPlan, clients: KafkaClients, slot: int, attempt: int, collector: Collector
) -> Callable[[], None]:
    """Return a function that reports a snapshot task's measurements at intervals.

    It does nothing without an exporter.

    :param slot: first slot of the task.
    """
    settings = plan.settings
    if not exposes_metrics(settings):
        return lambda: None
    reports = Interval(settings.progress_interval_ms / 1000)
    status = StatusWriter(clients, settings.internal_topic_prefix)

    def report() -> None:
        if reports.due():
            measured = collector.measured()
            progress = TaskProgress(plan.generation, 0, False, {}, attempt=attempt, measured=measured)
            status.progress(plan.connector, slot, progress)

    return report


class RunMeasurements:
    """Sum of the measurements of all tasks of a run; it never falls.

    Each attempt of a task measures from 0, and reports what it has measured so far.
    """

    def __init__(self) -> None:
        self._ended = Measurements()
        self._newest: dict[int, tuple[Attempt, Measurements]] = {}

    def update(self, slot: int, attempt: Attempt, measured: Measurements) -> None:
        """Take a report of a task; a late report of an earlier attempt is ignored.

        :param slot: first slot of the task.
        """
        newest, before = self._newest.get(slot, (attempt, Measurements()))
        if attempt < newest or (attempt == newest and measured.size <= before.size):
            return
        if attempt > newest:
            self._ended = add_measurements((self._ended, before))
        self._newest[slot] = attempt, measured

    def total(self) -> Measurements:
        """Return the sum over all attempts of all tasks."""
        return add_measurements((self._ended, *(measured for _, measured in self._newest.values())))
