"""Values of metrics: what each field of a status becomes, and that counters never fall."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ignite_kafka.common.measurements import OPERATIONS, Histogram, Measurements
from ignite_kafka.events import EVENTS, RUN_FAILED, RUN_STARTED
from ignite_kafka.metrics import table
from ignite_kafka.metrics.samples import NodeBacklog, RunMetrics
from ignite_kafka.metrics.table import METRICS, Metric
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import FAILED, PAUSED, RUNNING, CacheStatus, RunStatus, Waiting

CACHE = CacheStatus("t-flights", 8, 10, 1_000, 4, 3, 1.5, bad=2, filtered=1, dead_letters=1)
STATUS = RunStatus(
    RUNNING, "c", "r1", generation=7, started_ms=1_500, caches={"flights": CACHE},
    application_id="app-1", versions={"ignite-kafka": "0.1.0"},
)  # fmt: skip
SOURCE = SourceSettings(name="c", run_mode="continuous")
SINK = SinkSettings(name="c", topics=("t-flights",))
LABELS = ("c", "flights", "t-flights")


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def metrics_of(settings: ConnectorSettings = SOURCE, clock: Any = None, *statuses: RunStatus) -> RunMetrics:
    metrics = RunMetrics(replace(STATUS, caches={}), settings, clock or Clock())
    for status in statuses or (STATUS,):
        metrics.update(status)
    return metrics


def values(metrics: RunMetrics, metric: Metric) -> dict[tuple[str, ...], float]:
    return {sample.labels: sample.value for sample in metrics.samples() if sample.metric is metric}


def test_a_source_reads_entries_and_sends_records() -> None:
    metrics = metrics_of()
    expected = {
        table.RECORDS: 10, table.READ: 8, table.BYTES: 1_000, table.SKIPPED: 2, table.FILTERED: 1, table.DEAD_LETTERS: 1,
        table.COPY_SECONDS: 1.5, table.PARTITIONS: 4, table.PARTITIONS_DONE: 3,
    }  # fmt: skip
    assert {metric: values(metrics, metric) for metric in expected} == {metric: {LABELS: value} for metric, value in expected.items()}


def test_a_sink_reads_records_and_stores_entries() -> None:
    metrics = metrics_of(SINK)
    assert values(metrics, table.RECORDS) == {LABELS: 8}
    assert values(metrics, table.READ) == {LABELS: 10}


def test_the_present_state_is_1_and_all_others_0() -> None:
    metrics = metrics_of()
    assert {labels for labels, value in values(metrics, table.STATE).items() if value} == {("c", RUNNING)}
    metrics.update(replace(STATUS, state=PAUSED))
    states = values(metrics, table.STATE)
    assert (states["c", PAUSED], states["c", RUNNING], states["c", FAILED]) == (1, 0, 0)


def test_the_run_is_described_by_labels() -> None:
    metrics = metrics_of()
    assert values(metrics, table.INFO) == {("c", "r1", "source", "continuous", "app-1", "0.1.0"): 1}
    assert [*values(metrics_of(SINK), table.INFO)] == [("c", "r1", "sink", "once", "app-1", "0.1.0")]
    assert values(metrics, table.GENERATION) == {("c",): 7}
    assert values(metrics, table.START_TIME) == {("c",): 1.5}


def test_a_repeated_task_lowers_no_counter() -> None:
    """Prometheus would read the lower sum as the counts since a restart, and add all of them once more."""
    lower = replace(CACHE, entries=6, records=7, bytes=700, seconds=1.0, bad=0, filtered=0, units_done=2)
    metrics = metrics_of(SOURCE, None, replace(STATUS, events={"15100": 2}), replace(STATUS, caches={"flights": lower}, events={}))
    assert [values(metrics, metric)[LABELS] for metric in (table.READ, table.RECORDS, table.BYTES)] == [8, 10, 1_000]
    assert [values(metrics, metric)[LABELS] for metric in (table.COPY_SECONDS, table.SKIPPED, table.FILTERED)] == [1.5, 2, 1]
    assert values(metrics, table.PARTITIONS_DONE) == {LABELS: 2}
    assert values(metrics, table.EVENTS)["c", "15100", "info"] == 2
    metrics.update(replace(STATUS, caches={"flights": replace(CACHE, records=11)}))
    assert values(metrics, table.RECORDS) == {LABELS: 11}


def test_events_have_severities_and_warnings_are_0_before_they_occur() -> None:
    metrics = metrics_of(SOURCE, None, replace(STATUS, events={str(RUN_STARTED.id): 1, str(RUN_FAILED.id): 2, "19999": 3, "x": 4}))
    events = values(metrics, table.EVENTS)
    assert events["c", str(RUN_STARTED.id), "info"] == 1
    assert events["c", str(RUN_FAILED.id), "error"] == 2
    assert events["c", "19999", "unknown"] == 3
    assert events["c", "x", "unknown"] == 4
    later = values(metrics_of(), table.EVENTS)
    assert later
    assert set(later.values()) == {0}
    assert {severity for _, _, severity in later} == {"warning", "error"}
    assert all(int(event) in EVENTS for _, event, _ in later)


def test_the_time_of_progress_is_that_of_the_newest_report_with_more() -> None:
    clock = Clock()
    metrics = metrics_of(SOURCE, clock, replace(STATUS, caches={"flights": CacheStatus("t-flights", units=4)}))
    assert values(metrics, table.PROGRESS_TIME) == {LABELS: STATUS.started_ms / 1000}, "a run that stands from its start is seen"
    clock.now_s = 110.0
    metrics.update(STATUS)
    clock.now_s = 120.0
    metrics.update(STATUS)
    assert values(metrics, table.PROGRESS_TIME) == {LABELS: 110.0}
    assert values(metrics, table.STATUS_TIME) == {("c",): 120.0}
    clock.now_s = 130.0
    metrics.update(replace(STATUS, caches={"flights": replace(CACHE, entries=9)}))
    assert values(metrics, table.PROGRESS_TIME) == {LABELS: 130.0}


def test_lag_of_a_source_is_by_cache_with_the_age_of_its_oldest_change() -> None:
    clock = Clock()
    metrics = metrics_of(SOURCE, clock)
    clock.now_s = 110.0
    metrics.update_waiting({"flights": Waiting(5, 95_500), "new": Waiting(1), "late": Waiting(2, 900_000)})
    assert values(metrics, table.LAG) == {LABELS: 5, ("c", "new", ""): 1, ("c", "late", ""): 2}
    assert values(metrics, table.OLDEST_AGE) == {LABELS: 14.5, ("c", "new", ""): 0, ("c", "late", ""): 0}, "of clocks that differ"
    metrics.update_waiting({"flights": Waiting()})
    assert values(metrics, table.LAG)[LABELS] == values(metrics, table.OLDEST_AGE)[LABELS] == 0
    assert values(metrics, table.OLDEST_AGE)["c", "late", ""] == 0, "a cache that is no longer captured"


def test_the_backlog_of_each_node_is_that_of_the_newest_read() -> None:
    metrics = metrics_of(SOURCE)
    metrics.update_waiting({}, [NodeBacklog("node-1", 3, 300, 0.25), NodeBacklog("node-2", 0, 0, 0.5)])
    assert values(metrics, table.BACKLOG_FILL) == {("c", "node-1"): 0.25, ("c", "node-2"): 0.5}
    assert values(metrics, table.BUFFERED)["c", "node-1"] == 3
    assert values(metrics, table.BUFFERED_BYTES)["c", "node-1"] == 300
    metrics.update_waiting({}, [NodeBacklog("node-2", 1, 90, 0.5)])
    assert values(metrics, table.BACKLOG_FILL) == {("c", "node-2"): 0.5}, "a node that has left"


def test_a_heartbeat_has_a_time_once_one_came_back() -> None:
    metrics = metrics_of(SOURCE)
    metrics.update_heartbeat(0.0)
    assert values(metrics, table.HEARTBEAT_TIME) == {}
    metrics.update_heartbeat(99.5)
    assert values(metrics, table.HEARTBEAT_TIME) == {("c",): 99.5}


def test_histograms_and_retries_exist_from_the_beginning() -> None:
    metrics = metrics_of(SOURCE)
    histograms = {sample.metric: sample for sample in metrics.samples() if sample.histogram is not None}
    assert {metric for metric in METRICS if metric.kind == "histogram"} == histograms.keys()
    assert {sample.value for sample in histograms.values()} == {0}
    assert values(metrics, table.RETRIES) == {("c", operation): 0 for operation in OPERATIONS}
    metrics.update_measured(Measurements({"commit": Histogram(seconds=1.0)}, {"put": 2}))
    assert values(metrics, table.RETRIES)["c", "put"] == 2


def test_lag_is_by_topic_and_becomes_0() -> None:
    metrics = metrics_of(SINK)
    assert values(metrics, table.LAG) == {}
    metrics.update_lag({"t-flights": 5, "t-new": 1})
    assert values(metrics, table.LAG) == {LABELS: 5, ("c", "", "t-new"): 1}
    metrics.update_lag({"t-new": 2})
    assert values(metrics, table.LAG) == {LABELS: 0, ("c", "", "t-new"): 2}
    metrics.update(STATUS)
    assert values(metrics, table.LAG)[LABELS] == 0
