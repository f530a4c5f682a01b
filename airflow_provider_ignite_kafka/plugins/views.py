"""Rows and texts for the page's templates, computed from the data read, without any input or output."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from airflow_provider_ignite_kafka.plugins.charts import Chart, HourRow, charts, hours
from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReading, unexpected
from airflow_provider_ignite_kafka.plugins.task_links import TaskOfRun
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from ignite_kafka.admin.dead_letters import DeadLetterList
from ignite_kafka.admin.delivery import SinkDelivery, delivery_of
from ignite_kafka.admin.lost_run import LOST, silent_s
from ignite_kafka.admin.overview import ConnectorOverview
from ignite_kafka.admin.signals import SignalList
from ignite_kafka.admin.timeline import TimedEvent, timeline
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import CacheStatus, RunStatus
from ignite_kafka.state.target_state import RUNNING

log = logging.getLogger(__name__)
T = TypeVar("T")
NEVER_REPORTED = "STARTING"
UNREADABLE = "UNREADABLE"
WITH_PROBLEM = "PROBLEM"
"""Choice of connectors with an error or without reports, whatever their state."""
_RUNS = 20
_EVENTS = 20
_SEARCHED_CACHES = 100
_MINUTE_S = 60


@dataclass(frozen=True)
class Problem:
    """An error as the page shows it: class name, message, place and remedy."""

    kind: str
    what: str
    where: str
    remedy: str

    @staticmethod
    def of(error: IgniteKafkaError) -> Problem:
        """Split an error into the texts for the page."""
        where = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in error.where.items())
        return Problem(type(error).__name__, error.what, where, error.advice)


@dataclass(frozen=True)
class CacheRow:
    """Table row of a cache or topic: counts of the newest run, rate and lag (None: unknown)."""

    cache: str
    counts: CacheStatus
    rate: float | None
    lag: int | None


@dataclass(frozen=True)
class Section(Generic[T]):
    """A section of a connector's page: its content, or why it cannot be read; neither: the connector has none."""

    content: T | None = None
    problem: Problem | None = None

    @staticmethod
    def of(value: T | IgniteKafkaError | None) -> Section[T]:
        """Tell content and error apart."""
        return Section(problem=Problem.of(value)) if isinstance(value, IgniteKafkaError) else Section(value)


@dataclass(frozen=True)
class RunRow:
    """Table row of a run, with its error and the Airflow task that started it, if any."""

    run: RunStatus
    records: int
    skipped: int
    seconds: float | None
    task: TaskOfRun | None
    problem: Problem | None


@dataclass(frozen=True)
class ConnectorRow:
    """Table row of a connector in the page's list.

    :param target: requested target state; RUNNING without a request.
    :param lag: sum of the lag of all caches or topics; None: unknown.
    :param problem: error of the newest run.
    :param silent_s: seconds since the last report of a lost run; None: the run is not lost.
    :param caches: caches of the newest run.
    """

    cluster: MonitoredCluster
    name: str
    direction: str
    state: str
    target: str
    active: bool
    reported_ms: int | None
    rate: float | None
    records: int
    skipped: int
    lag: int | None
    lag_problem: Problem | None
    problem: Problem | None
    silent_s: float | None
    caches: tuple[str, ...] = ()

    @property
    def searched_text(self) -> str:
        """Text in which the words of a search are looked up: name, direction, caches and error."""
        problem = () if self.problem is None else (self.problem.kind, self.problem.what)
        return " ".join((self.name, self.direction, *self.caches[:_SEARCHED_CACHES], *problem))

    @property
    def searched_states(self) -> tuple[str, ...]:
        """States under which a search finds the connector: its own, and PROBLEM with an error or without reports."""
        has_problem = self.problem is not None or self.silent_s is not None
        return (self.state, WITH_PROBLEM) if has_problem else (self.state,)


@dataclass(frozen=True)
class ConnectorPage:
    """Data for the template of a connector's page: caches, runs, events, charts and its further sections."""

    row: ConnectorRow
    connector: ConnectorOverview
    caches: tuple[CacheRow, ...]
    runs: tuple[RunRow, ...]
    events: tuple[TimedEvent, ...]
    charts: tuple[Chart, ...] = ()
    hours: tuple[HourRow, ...] = ()
    comparisons: Section[ConnectorComparisons] = field(default_factory=Section)
    letters: Section[DeadLetterList] = field(default_factory=Section)
    signals: Section[SignalList] = field(default_factory=Section)

    @property
    def delivery(self) -> SinkDelivery | None:
        """Delivery of a sink; None for a source."""
        return delivery_of(self.connector.state.connector)


def rows(reading: ClusterReading) -> list[ConnectorRow]:
    """Make the list's table rows: failed or lost connectors first, then active ones, then by name."""
    unordered = [_guarded_row(reading, connector) for connector in reading.connectors.values()]
    return sorted(unordered, key=lambda row: (row.problem is None and row.silent_s is None, not row.active, row.name))


def _guarded_row(reading: ClusterReading, connector: ConnectorOverview) -> ConnectorRow:
    try:
        return _row(reading, connector)
    except Exception as error:  # a connector must not hide the others, whatever its records hold
        log.exception("The records of connector %r cannot be shown.", connector.name)
        return unreadable_row(reading, connector.name, unexpected(error))


def unreadable_row(reading: ClusterReading, name: str, error: IgniteKafkaError) -> ConnectorRow:
    """Make a connector's table row with only an error, because its records cannot be shown."""
    problem = Problem.of(error)
    return ConnectorRow(
        reading.cluster, name, "", UNREADABLE, RUNNING, False, None, None, 0, 0, None, None, problem, None
    )


def page(reading: ClusterReading, connector: ConnectorOverview, details: ConnectorDetails) -> ConnectorPage:
    """Collect the data of a connector's page."""
    points = connector.points()
    runs = sorted(connector.runs.values(), key=lambda run: run.started_ms, reverse=True)[:_RUNS]
    return ConnectorPage(
        _row(reading, connector),
        connector,
        tuple(_cache_rows(reading, connector)),
        tuple(_run_row(connector, run) for run in runs),
        tuple(timeline(connector, _EVENTS)),
        tuple(charts(points, int(time.time() // _MINUTE_S))),
        tuple(hours(points)),
        Section.of(details.comparisons),
        Section.of(details.letters),
        Section.of(details.signals),
    )


def _row(reading: ClusterReading, connector: ConnectorOverview) -> ConnectorRow:
    run = connector.newest.run
    lag = reading.lags.get(connector.name)
    lag_error = reading.lag_errors.get(connector.name)
    rates = connector.rates
    caches = run.caches.values() if run is not None else ()
    reported = connector.reports[-1].at_ms if connector.reports else None
    silent = silent_s(run, connector.state.connector, reported or 0, time.time() * 1000)
    return ConnectorRow(
        reading.cluster,
        connector.name,
        connector.direction,
        UNREADABLE
        if connector.unreadable
        else NEVER_REPORTED
        if run is None
        else run.state
        if silent is None
        else LOST,
        connector.target.state if connector.target is not None else RUNNING,
        connector.active,
        reported,
        sum(rates.values()) if rates else None,
        sum(cache.records for cache in caches),
        sum(cache.bad for cache in caches),
        None if lag is None else sum(lag.values()),
        None if lag_error is None else Problem.of(lag_error),
        _problem(connector, run) if connector.unreadable is None else Problem.of(connector.unreadable),
        silent,
        tuple(run.caches) if run is not None else (),
    )


def _problem(connector: ConnectorOverview, run: RunStatus | None) -> Problem | None:
    error = None if run is None else connector.shown_error(run)
    return None if error is None else Problem.of(error)


def _cache_rows(reading: ClusterReading, connector: ConnectorOverview) -> Iterator[CacheRow]:
    run = connector.newest.run
    lags = reading.lags.get(connector.name, {})
    rates = connector.rates
    caches = dict(run.caches) if run is not None else {}
    for name in sorted(caches):
        yield CacheRow(name, caches[name], rates.get(name), lags.get(name, lags.get(caches[name].topic)))
    for name in sorted(lags.keys() - caches.keys() - {cache.topic for cache in caches.values()}):
        yield CacheRow(name, CacheStatus(""), None, lags[name])


def _run_row(connector: ConnectorOverview, run: RunStatus) -> RunRow:
    seconds = None if run.ended_ms is None else (run.ended_ms - run.started_ms) / 1000
    counts = run.caches.values()
    return RunRow(
        run,
        sum(cache.records for cache in counts),
        sum(cache.bad for cache in counts),
        seconds,
        TaskOfRun.of(run.run_id),
        _problem(connector, run),
    )
