"""Progress reports of a stream's tasks, as the driver reads them from the status topic."""

from __future__ import annotations

import time

from ..common.deadline import Clock
from ..plan.source_plan import RunPlan
from ..state.internal_records import InternalRecord
from ..state.status import TaskProgress, progress_of, slot_of_progress


class TaskReports:
    """Last progress report of each task of a run, by the task's first slot."""

    def __init__(self, plan: RunPlan, clock: Clock = time.monotonic) -> None:
        self._plan = plan
        self._clock = clock
        self.tasks: dict[int, TaskProgress] = {}
        self.reported_at: dict[int, float] = {}
        """Time of the last report of each task, on the clock."""

    def add(self, record: InternalRecord) -> None:
        """Add a record of the status topic; reports of other runs and records of other kinds are ignored."""
        slot = slot_of_progress(record)
        if slot is None or record.name != self._plan.connector:
            return
        progress = progress_of(record)
        if progress is not None and progress.generation == self._plan.generation:
            self.tasks[slot] = progress
            self.reported_at[slot] = self._clock()
