"""States of all connectors of an internal topic prefix, as `status` without a name shows them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..admin.lag_by_name import sink_lag
from ..admin.lost_run import LOST, silent_s
from ..admin.overview import ConnectorOverview, OverviewReader
from ..admin.recorded_settings import recorded_settings
from ..errors import IgniteKafkaError
from ..event_descriptions import severity_of
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..settings.sink import SinkSettings
from .progress_bar import format_rate
from .tables import table

_MOST_LAGS = 20
"""Active sinks whose lag is read, because each takes requests of its own; others have what their runs recorded."""
_WARNING = logging.getLevelName(logging.WARNING)
_ERROR = logging.getLevelName(logging.ERROR)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConnectorLine:
    """A connector in a list.

    :param direction: ``Ignite to Kafka``, ``Kafka to Ignite``, or empty before the first run.
    :param state: state of the newest run, ``LOST`` if it no longer reports.
    :param target: requested target state; None: no request yet.
    :param records: records of the newest run.
    :param rate: records per second; None: unknown.
    :param lag: records or changes that an active connector has not copied; None: unknown.
    :param warnings: events of severity WARNING of all kept runs.
    :param errors: events of severity ERROR.
    :param error: error that ended the newest run; None without one.
    """

    name: str
    direction: str
    state: str
    target: str | None
    run_id: str
    records: int
    rate: float | None
    lag: int | None
    warnings: int
    errors: int
    error: str | None


@dataclass(frozen=True)
class ConnectorList:
    """All connectors, sorted by name."""

    connectors: tuple[ConnectorLine, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the connectors as JSON values."""
        return asdict(self)

    def text(self) -> str:
        """Return a table of the connectors."""
        rows = [row_of(line) for line in self.connectors]
        return table(HEAD, rows) if rows else "no connector was ever started"


HEAD = ("connector", "direction", "state", "run", "records", "rate", "lag", "warnings", "errors", "error")
"""Heads of the columns of :func:`row_of`."""


def row_of(line: ConnectorLine) -> tuple[object, ...]:
    """Return the cells of a connector in a table."""
    state = f"{line.state}, to be {line.target}" if _is_pending(line) else line.state
    lag = "" if line.lag is None else line.lag
    counts = line.records, format_rate(line.rate, "records"), lag, line.warnings, line.errors
    return line.name, line.direction, state, line.run_id, *counts, line.error or ""


def _is_pending(line: ConnectorLine) -> bool:
    return line.target not in (None, line.state) and line.state in ("RUNNING", "PAUSED")


def read_connectors(clients: KafkaClients, reader: OverviewReader, name: str | None = None) -> ConnectorList:
    """Read the states of all connectors, or of one.

    :param reader: reader of the connectors of a prefix, which reads on where it stopped.
    :param name: name of the connector; None: all. An unknown name gives no connector.
    :raises IgniteKafkaError: Kafka did not answer, or refused.
    """
    topics = Topics(clients)
    read = reader.read(clients, topics)
    overviews = [overview for overview in read.values() if name in (None, overview.name)]
    lags = _read_lags(topics, overviews)
    return ConnectorList(
        tuple(make_line(each, time.time() * 1000, lags.get(each.name, each.recorded_lag())) for each in overviews)
    )


def make_line(overview: ConnectorOverview, now_ms: float, lag: int | None = None) -> ConnectorLine:
    """Return a connector's line.

    :param now_ms: current time in milliseconds since 1970.
    """
    newest = overview.newest
    run = newest.run
    reported_ms = overview.reports[-1].at_ms if overview.reports else 0
    lost = silent_s(run, newest.connector, reported_ms, now_ms) is not None
    severities = {id: severity_of(id) for id in overview.events}
    error = overview.unreadable or (overview.shown_error(run) if run is not None else None)
    return ConnectorLine(
        overview.name,
        overview.direction,
        LOST if lost else newest.state,
        overview.target.state if overview.target is not None else None,
        newest.run_id,
        sum(cache.records for cache in run.caches.values()) if run is not None else 0,
        None if lost or not overview.rates else sum(overview.rates.values()),
        lag,
        _count(overview, severities, _WARNING),
        _count(overview, severities, _ERROR),
        None if error is None else f"{type(error).__name__}: {error}",
    )


def _count(overview: ConnectorOverview, severities: dict[int, str], severity: str) -> int:
    return sum(count.count for id, count in overview.events.items() if severities[id] == severity)


def _read_lags(topics: Topics, overviews: Sequence[ConnectorOverview]) -> dict[str, int]:
    """Return the lag of active sinks by name; a sink without a readable lag is left out."""
    from ..admin.connector_lag import list_topics

    lags: dict[str, int] = {}
    sinks = [overview for overview in overviews if overview.active and not _is_source(overview)]
    for overview in sinks[:_MOST_LAGS]:
        assert overview.state.connector is not None
        try:
            settings = recorded_settings(SinkSettings, overview.state.connector)
            lags[overview.name] = sum(sink_lag(topics, settings.group_id, list_topics(settings, topics)).values())
        except IgniteKafkaError as error:
            log.debug("the lag of %s is unknown: %s", overview.name, error)
    return lags


def _is_source(overview: ConnectorOverview) -> bool:
    return overview.state.connector is None or overview.state.connector.is_source
