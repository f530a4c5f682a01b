"""The driver keeps the last report of each task of its own run, and when it came."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any

from ignite_kafka.common.measurements import BOUNDS_S, COMMIT, Histogram, Measurements
from ignite_kafka.runtime.task_reports import TaskReports
from ignite_kafka.state.internal_records import FORMAT, InternalRecord
from ignite_kafka.state.status import CacheCount, TaskProgress


def report(
    slot: int, records: int, *, connector: str = "c", generation: int = 3, epoch: int = 1, attempt: int = 0, commits: int = 0
) -> InternalRecord:
    measured = Measurements({COMMIT: Histogram((commits, *[0] * len(BOUNDS_S)), commits * 1.0)}) if commits else Measurements()
    caches = {"trades": CacheCount(records=records)}
    progress = TaskProgress(generation, epoch, False, caches, attempt=attempt, measured=measured)
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


def test_what_an_attempt_committed_that_spark_has_repeated_counts_once() -> None:
    plan: Any = SimpleNamespace(connector="c", generation=3)
    reports = TaskReports(plan)
    for record in (report(0, 7), report(0, 9), report(4, 1), report(0, 2, attempt=1), report(0, 99)):
        reports.add(record)
    assert reports.tasks[0].caches["trades"].records == 2, "a late report of the first attempt is ignored"
    assert [counts["trades"].records for counts in reports.repeated(1)] == [9]
    reports.add(report(0, 5, epoch=2))
    assert reports.repeated(2) == []


def test_measurements_add_up_over_attempts_and_epochs_and_never_fall() -> None:
    plan: Any = SimpleNamespace(connector="c", generation=3)
    reports = TaskReports(plan)
    totals = []
    for record in (
        report(0, 1, commits=3), report(4, 1, commits=2), report(0, 1, commits=5), report(0, 1, attempt=1, commits=1),
        report(0, 1, commits=6), report(0, 1, epoch=2, commits=2), report(0, 1, attempt=1, commits=4),
    ):  # fmt: skip
        reports.add(record)
        totals.append(reports.measured.total().durations[COMMIT].count)
    assert totals == [3, 5, 7, 8, 8, 10, 10]
