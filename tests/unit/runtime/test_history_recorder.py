"""What a run records of each minute."""

from __future__ import annotations

from typing import Any, cast

from ignite_kafka.common.measurements import Collector, Histogram
from ignite_kafka.runtime.history_recorder import HistoryRecorder
from ignite_kafka.state.history_records import HistoryPoint, history_of
from ignite_kafka.state.status import CacheStatus, RunStatus, StatusWriter
from tests.unit.state.test_history_records import MINUTE, Queue

NONE = Histogram()


class Recorded:
    """A recorder with a clock of its own."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.now_ms = MINUTE * 60_000
        self.recorder = HistoryRecorder(cast(StatusWriter, self.queue), lambda: self.now_ms)

    def record(self, minute: float, records: int, bad: int = 0, lag: int | None = None, latency: Histogram = NONE, **more: Any) -> None:
        self.now_ms = int((MINUTE + minute) * 60_000)
        caches = {"a": CacheStatus("t", 5, records=records, bad=bad), "b": CacheStatus("u")}
        self.recorder.record(RunStatus("RUNNING", "c", "r", generation=3, caches=caches, **more), lag, latency)

    def points(self) -> list[HistoryPoint]:
        return history_of(self.queue.records, self.now_ms // 60_000)


def test_a_minute_has_what_was_copied_since_the_point_before() -> None:
    recorded = Recorded()
    recorded.record(0, 0)
    recorded.record(0.5, 10)
    recorded.record(1, 25, 1, lag=4)
    recorded.record(3, 65, 3, lag=0)
    assert recorded.points() == [HistoryPoint(MINUTE, 0, 0, None), HistoryPoint(MINUTE + 1, 25, 1, 4), HistoryPoint(MINUTE + 3, 40, 2, 0)]


def test_what_earlier_runs_of_a_snapshot_have_copied_does_not_count() -> None:
    recorded = Recorded()
    recorded.record(0, 1_000, 5)
    recorded.record(1, 1_010, 5)
    assert [(point.records, point.skipped) for point in recorded.points()] == [(0, 0), (10, 0)]


def test_the_last_status_of_a_short_run_counts() -> None:
    recorded = Recorded()
    recorded.record(0, 0)
    recorded.record(0.1, 7, ended_ms=5)
    assert recorded.points() == [HistoryPoint(MINUTE, 7, 0, None)]


def test_a_repeated_task_lowers_no_minute_below_zero() -> None:
    recorded = Recorded()
    recorded.record(0, 0)
    recorded.record(1, 10)
    recorded.record(2, 4)
    recorded.record(3, 12)
    assert [point.records for point in recorded.points()] == [0, 10, 0, 8]


def test_a_part_that_begins_keeps_the_one_before() -> None:
    recorded = Recorded()
    for minute in range(25):
        recorded.record(minute, minute)
    assert len(recorded.queue.kept) == 3
    assert len(recorded.points()) == 25


def test_the_latency_of_a_minute_is_the_mean_of_its_changes() -> None:
    recorded = Recorded()
    collector = Collector()

    def latency(*seconds: float) -> Histogram:
        for each in seconds:
            collector.observe("latency", each)
        return collector.measured().durations.get("latency", Histogram())

    recorded.record(0, 0, latency=latency())
    recorded.record(1, 2, latency=latency(0.1, 0.3))
    recorded.record(2, 2, latency=latency())
    recorded.record(3, 3, latency=latency(2.0))
    assert [point.latency_ms for point in recorded.points()] == [None, 200, None, 2_000]
