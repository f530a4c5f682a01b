"""Progress reports of a run's tasks, as the driver reads them from the status topic."""

from __future__ import annotations

import time

from ..common.deadline import Clock
from ..plan.source_plan import RunPlan
from ..state.internal_records import InternalRecord
from ..state.status import TaskProgress, progress_of, slot_of_progress
from .counts import Counts, counts_of
from .measurement_reports import RunMeasurements


class TaskReports:
    """Last progress report of each task of a run, by the task's first slot."""

    def __init__(self, plan: RunPlan, clock: Clock = time.monotonic) -> None:
        self._plan = plan
        self._clock = clock
        self.tasks: dict[int, TaskProgress] = {}
        self.reported_at: dict[int, float] = {}
        """Time of the last report of each task, on the clock."""
        self.measured = RunMeasurements()
        self._repeated: list[TaskProgress] = []

    def add(self, record: InternalRecord) -> None:
        """Add a record of the status topic; reports of other runs and records of other kinds are ignored.

        So are reports of an attempt that Spark has replaced.
        """
        slot = slot_of_progress(record)
        if slot is None or record.name != self._plan.connector:
            return
        progress = progress_of(record)
        if progress is None or progress.generation != self._plan.generation:
            return
        before = self.tasks.get(slot)
        if before is not None and before.epoch == progress.epoch and before.attempt != progress.attempt:
            if before.attempt > progress.attempt:
                return
            self._repeated.append(before)
        self.measured.update(slot, (progress.epoch, progress.attempt), progress.measured)
        self.tasks[slot] = progress
        self.reported_at[slot] = self._clock()

    def repeated(self, epoch: int) -> list[Counts]:
        """Return the counts of an epoch's attempts that Spark has repeated.

        A new attempt continues after the commits of the one before, and counts from 0.
        """
        self._repeated = [task for task in self._repeated if task.epoch >= epoch]
        return [counts_of(task) for task in self._repeated if task.epoch == epoch]
