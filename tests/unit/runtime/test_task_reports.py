"""The driver keeps the last report of each task of its own run, and when it came."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any

from ignite_kafka.runtime.task_reports import TaskReports
from ignite_kafka.state.internal_records import FORMAT, InternalRecord
from ignite_kafka.state.status import CacheCount, TaskProgress


def report(slot: int, records: int, *, connector: str = "c", generation: int = 3) -> InternalRecord:
    progress = TaskProgress(generation, 1, False, {"trades": CacheCount(records=records)})
    return InternalRecord("progress", connector, (slot,), progress.to_json(), FORMAT, {"topic": "in-status", "offset": records})


def test_the_last_report_of_each_task_is_kept_with_its_time() -> None:
    plan: Any = SimpleNamespace(connector="c", generation=3)
    times = count(100.0)
    reports = TaskReports(plan, lambda: next(times))
    for record in (report(0, 1), report(4, 2), report(0, 3)):
        reports.add(record)
    assert {slot: task.caches["trades"].records for slot, task in reports.tasks.items()} == {0: 3, 4: 2}
    assert reports.reported_at == {0: 102.0, 4: 101.0}


def test_reports_of_other_runs_and_other_records_are_ignored() -> None:
    plan: Any = SimpleNamespace(connector="c", generation=3)
    reports = TaskReports(plan)
    reports.add(report(0, 1, connector="other"))
    reports.add(report(0, 1, generation=2))
    reports.add(InternalRecord("run", "c", ("id",), b"{}", FORMAT, {}))
    reports.add(InternalRecord("progress", "c", (0,), None, FORMAT, {}))
    assert reports.tasks == {}
    assert reports.reported_at == {}
