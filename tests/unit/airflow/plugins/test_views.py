"""Rows and pages of connectors: order, sums, lag by cache or topic, runs that should report and do not."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ignite_kafka.plugins import views
from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReading, has_backlog
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from ignite_kafka.admin.overview import ConnectorOverview, Report, TargetRequest
from ignite_kafka.errors import CacheDestroyed, KafkaUnavailable, NewerFormat
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import CacheStatus, RunStatus, now_ms

CACHES = {"a": CacheStatus("t-a", 1, 10, bad=2), "b": CacheStatus("t-b", 1, 20)}
DETAILS = ConnectorDetails(ConnectorComparisons("c", ()))
ERROR = CacheDestroyed("the cache is gone", "Start again", cache="a").to_dict()


def connector(name: str = "c", state: str = "RUNNING", *, silent_ms: int = 0, error: Any = None, **settings: Any) -> ConnectorOverview:
    at_ms = now_ms() - silent_ms
    ended = None if state in ("RUNNING", "PAUSED") else at_ms
    run = RunStatus(state, name, "r1", "", 1, "w", at_ms - 10_000, ended, CACHES, error)
    return ConnectorOverview(
        name, ConnectorState(ConnectorRecord(1, 2, run_id="r1", settings=settings)), {"r1": run}, (Report(at_ms, run),)
    )


def reading(*connectors: ConnectorOverview, **more: Any) -> ClusterReading:
    return ClusterReading(MonitoredCluster("k"), {one.name: one for one in connectors}, **more)


def page_of(connector: ConnectorOverview, details: ConnectorDetails = DETAILS, **more: Any) -> views.ConnectorPage:
    return views.page(reading(connector, **more), connector, details)


def test_problems_come_first_then_active_connectors() -> None:
    failed, silent = connector("z", "FAILED", error=ERROR), connector("y", silent_ms=10**7)
    shown = views.rows(reading(connector("done", "COMPLETED"), connector("b"), connector("a"), failed, silent))
    assert [row.name for row in shown] == ["y", "z", "a", "b", "done"]


def test_a_row_has_sums_and_the_last_error_with_its_remedy() -> None:
    [row] = views.rows(reading(connector(state="FAILED", error=ERROR), lags={"c": {"a": 3, "b": 4}}))
    assert (row.records, row.skipped, row.lag, row.rate) == (30, 2, 7, 3.0)
    assert row.problem == views.Problem("CacheDestroyed", "the cache is gone", "cache a", "Start again")


@pytest.mark.parametrize(
    ("state", "silent_ms", "silent"),
    [("RUNNING", 1_000, False), ("RUNNING", 90_000, True), ("PAUSED", 10**8, False), ("FAILED", 10**8, False)],
)
def test_a_running_run_that_is_silent_stands_out(state: str, silent_ms: int, silent: bool) -> None:
    [row] = views.rows(reading(connector(state=state, silent_ms=silent_ms)))
    assert (row.silent_s is not None, row.state) == (silent, "LOST" if silent else state)


def test_a_run_that_reports_rarely_by_its_settings_is_not_silent() -> None:
    [row] = views.rows(reading(connector(silent_ms=90_000, progress_interval_ms=60_000)))
    assert row.silent_s is None


@pytest.mark.parametrize(("lags", "expected"), [({"a": 3}, [("a", 3), ("b", None)]), ({"t-b": 5}, [("a", None), ("b", 5)])])
def test_lag_is_that_of_the_cache_or_of_its_topic(lags: dict[str, int], expected: list[tuple[str, int | None]]) -> None:
    page = page_of(connector(), lags={"c": lags})
    assert [(cache.cache, cache.lag) for cache in page.caches] == expected


def test_a_captured_cache_without_counts_is_shown_too() -> None:
    page = page_of(connector(), lags={"c": {"new": 9}})
    assert [(cache.cache, cache.lag) for cache in page.caches] == [("a", None), ("b", None), ("new", 9)]


def test_a_connector_that_cannot_be_read_says_why() -> None:
    shown = ConnectorOverview("c", unreadable=NewerFormat("a newer version wrote it", "Use that version"))
    [row] = views.rows(reading(shown))
    assert (row.state, row.active) == (views.UNREADABLE, False)
    assert row.problem is not None
    assert row.problem.remedy == "Use that version"


def test_a_run_that_wrote_nothing_yet_is_starting() -> None:
    taken = ConnectorOverview("c", ConnectorState(ConnectorRecord(1, 2, run_id="r1")), target=TargetRequest("PAUSED", 1))
    [row] = views.rows(reading(taken))
    assert (row.state, row.target, row.active, row.lag) == (views.NEVER_REPORTED, "PAUSED", True, None)


def test_a_section_has_its_content_or_why_it_cannot_be_read() -> None:
    details = ConnectorDetails(ConnectorComparisons("c", ()), KafkaUnavailable("away", "Wait."))
    page = page_of(connector(), details)
    assert page.comparisons == views.Section(ConnectorComparisons("c", ()))
    assert page.letters == views.Section(problem=views.Problem("KafkaUnavailable", "away", "", "Wait."))
    assert page.signals == views.Section()


@pytest.mark.parametrize(
    ("settings", "captures"),
    [
        ({}, False),
        ({"failover_policy": "NONE", "run_mode": "once"}, False),
        ({"failover_policy": "BACKLOG"}, True),
        ({"run_mode": "continuous"}, True),
        ({"run_mode": "continuous", "topics": ["t"]}, False),
    ],
)
def test_sources_that_capture_changes_have_a_backlog(settings: dict[str, Any], captures: bool) -> None:
    assert has_backlog(connector(**settings)) is captures
