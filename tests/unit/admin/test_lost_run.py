"""Which runs are lost: those that should report and do not."""

from __future__ import annotations

import pytest

from ignite_kafka.admin.lost_run import silent_s
from ignite_kafka.state.configs import ConnectorRecord
from ignite_kafka.state.status import RunStatus

NOW_MS = 10_000_000


def run(state: str = "RUNNING", ended_ms: int | None = None) -> RunStatus:
    return RunStatus(state, "c", "r1", ended_ms=ended_ms)


def record(interval_ms: object) -> ConnectorRecord:
    return ConnectorRecord(1, 2, run_id="r1", settings={"progress_interval_ms": interval_ms})


@pytest.mark.parametrize(
    ("interval_ms", "silent_ms", "lost"),
    [(5_000, 60_000, False), (5_000, 60_001, True), (40_000, 120_000, False), (40_000, 120_001, True), ("x", 60_001, True)],
)
def test_a_run_is_lost_after_three_intervals_and_a_minute(interval_ms: object, silent_ms: int, lost: bool) -> None:
    found = silent_s(run(), record(interval_ms), NOW_MS - silent_ms, NOW_MS)
    assert found == (silent_ms / 1000 if lost else None)


@pytest.mark.parametrize("newest", [None, run("PAUSED"), run("FAILED", NOW_MS - 10**6)])
def test_a_run_that_need_not_report_is_not_lost(newest: RunStatus | None) -> None:
    assert silent_s(newest, record(5_000), NOW_MS - 10**6, NOW_MS) is None


def test_without_a_record_of_its_time_nothing_is_known() -> None:
    assert silent_s(run(), None, 0, NOW_MS) is None
    assert silent_s(run(), None, NOW_MS - 60_001, NOW_MS) == 60.001
