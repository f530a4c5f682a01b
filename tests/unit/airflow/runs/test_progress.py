"""Progress of a followed run as lines of the task's log."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from airflow_provider_ignite_kafka.runs.progress import ProgressLog, progress_lines
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.state.status import PAUSED, RUNNING, CacheStatus, RunStatus

CACHES = {"flights": CacheStatus("t-flights", 8, 1_336_776, 1000, 4, 2), "air": CacheStatus("t-air", 1, 2, 10, 4, 4, bad=3)}
RUN = RunStatus(RUNNING, "c", "r", caches=CACHES)


def test_lines_of_a_run() -> None:
    assert progress_lines(RUN, {"t-flights": 1_000, "t-air": 5}) == (
        "connector c RUNNING: 1,336,778 records, 1,005 records behind",
        "progress flights -> t-flights: 2 of 4 partitions, 1,336,776 records",
        "progress air -> t-air: 4 of 4 partitions, 2 records, 3 skipped",
    )


def test_only_what_has_changed_is_logged_once_in_an_interval_and_a_new_state_at_once() -> None:
    lines: list[str] = []
    now = [0.0]
    log: Any = SimpleNamespace(info=lines.append)
    progress = ProgressLog(log, clock=lambda: now[0])
    progress.show(RUN)
    assert len(lines) == 3
    more = replace(RUN, caches={**CACHES, "air": replace(CACHES["air"], records=4)})
    progress.show(more)
    assert len(lines) == 3, "a minute is not over"
    now[0] = 60.0
    progress.show(more)
    assert lines[3:] == ["connector c RUNNING: 1,336,780 records", "progress air -> t-air: 4 of 4 partitions, 4 records, 3 skipped"]
    progress.show(replace(more, state=PAUSED))
    assert lines[5:] == ["connector c PAUSED: 1,336,780 records"]


def test_a_lag_that_cannot_be_read_is_left_out() -> None:
    def away(_status: RunStatus) -> Any:
        raise KafkaUnavailable("away")

    lines: list[str] = []
    log: Any = SimpleNamespace(info=lines.append)
    ProgressLog(log, away).show(RUN)
    assert lines[0] == "connector c RUNNING: 1,336,778 records"
