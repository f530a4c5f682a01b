"""Values of the metrics of :mod:`.table`, from the newest status of a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..event_descriptions import severity_of
from ..events import EVENTS as TYPES
from ..settings.connector import ConnectorSettings
from ..state import status as states
from ..state.status import CacheStatus, RunStatus
from . import table
from .table import Metric

STATES = (
    states.RUNNING,
    states.PAUSED,
    states.COMPLETED,
    states.STOPPED,
    states.FAILED,
    states.FENCED,
    states.UNKNOWN,
)
"""All states of a run: the values of label ``state``."""
_SECOND_MS = 1000
_SEEN_LATER = {str(id): 0 for id, event in sorted(TYPES.items()) if event.severity > logging.INFO}
"""Warnings and errors, which are 0 before they occur: Prometheus sees no increase of a series that begins with 1."""


@dataclass(frozen=True)
class Sample:
    """Value of a metric, with the values of its labels in the order of :attr:`.Metric.labels`."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class Newest:
    """Newest values of a run, replaced as a whole, so that other threads need no lock to read them.

    :param status: the run's status, whose counts are the highest so far.
    :param progress: time of the newest progress of each cache, in seconds since 1970.
    :param lag: number of records to copy, by topic.
    :param time_s: time of the status, in seconds since 1970.
    """

    status: RunStatus
    progress: Mapping[str, float] = field(default_factory=dict)
    lag: Mapping[str, int] = field(default_factory=dict)
    time_s: float = 0.0


class RunMetrics:
    """Metrics of a run. The run's thread calls :meth:`update`; any thread may call :meth:`samples`.

    A task that Spark repeats counts anew, and so lowers the sum of a cache. A counter that falls would be read as a
    restart, which counts the whole sum again. So a counter keeps its highest value.

    :param clock: returns the seconds since 1970.
    """

    def __init__(self, status: RunStatus, settings: ConnectorSettings, clock: Callable[[], float] = time.time) -> None:
        self._to_kafka = not settings.reads_records
        self._kind = "source" if self._to_kafka else "sink", settings.run_mode
        self._clock = clock
        self._newest = Newest(status, time_s=clock())

    def update(self, status: RunStatus) -> None:
        """Take a new status of the run."""
        before = self._newest
        now = self._clock()
        progress = dict(before.progress)
        caches = dict(before.status.caches)
        for name, cache in status.caches.items():
            previous = caches.get(name, CacheStatus(""))
            if cache.records > previous.records or cache.entries > previous.entries:
                progress[name] = now
            caches[name] = _highest(previous, cache)
        events = dict(before.status.events)
        for event, count in status.events.items():
            events[event] = max(count, events.get(event, 0))
        self._newest = replace(
            before, status=replace(status, caches=caches, events=events), progress=progress, time_s=now
        )

    def update_lag(self, lag: Mapping[str, int]) -> None:
        """Take a new lag by topic; a topic that was behind, and no longer is, has 0."""
        self._newest = replace(self._newest, lag={**dict.fromkeys(self._newest.lag, 0), **lag})

    @property
    def lag(self) -> int | None:
        """Number of records or changes to copy, of all topics or caches; None: unknown."""
        lag = self._newest.lag
        return sum(lag.values()) if lag else None

    def samples(self) -> Iterator[Sample]:
        """Yield the present value of each series."""
        newest = self._newest
        connector = newest.status.connector
        for name, cache in newest.status.caches.items():
            labels = (connector, name, cache.topic)
            for metric, value in cache_values(cache, to_kafka=self._to_kafka).items():
                yield Sample(metric, labels, value)
            progress = newest.progress.get(name, newest.status.started_ms / _SECOND_MS)
            yield Sample(table.PROGRESS_TIME, labels, progress)
        caches = {cache.topic: name for name, cache in newest.status.caches.items()}
        for topic, lag in newest.lag.items():
            yield Sample(table.LAG, (connector, caches.get(topic, ""), topic), lag)
        for event, count in {**_SEEN_LATER, **newest.status.events}.items():
            yield Sample(table.EVENTS, (connector, event, _severity_label(event)), count)
        yield from self._of_run(newest)

    def _of_run(self, newest: Newest) -> Iterator[Sample]:
        status = newest.status
        for state in STATES:
            yield Sample(table.STATE, (status.connector, state), float(state == status.state))
        version = status.versions.get("ignite-kafka", "")
        info = (status.connector, status.run_id, *self._kind, status.application_id, version)
        yield Sample(table.INFO, info, 1)
        labels = (status.connector,)
        yield Sample(table.GENERATION, labels, status.generation)
        yield Sample(table.START_TIME, labels, status.started_ms / _SECOND_MS)
        yield Sample(table.STATUS_TIME, labels, newest.time_s)


def cache_values(cache: CacheStatus, *, to_kafka: bool) -> dict[Metric, float]:
    """Return the values of the metrics of a cache.

    :param to_kafka: True for a source, False for a sink.
    """
    read, records = (cache.entries, cache.records) if to_kafka else (cache.records, cache.entries)
    return {
        table.RECORDS: records,
        table.READ: read,
        table.BYTES: cache.bytes,
        table.SKIPPED: cache.bad,
        table.FILTERED: cache.filtered,
        table.COPY_SECONDS: cache.seconds,
        table.PARTITIONS: cache.units,
        table.PARTITIONS_DONE: cache.units_done,
    }


def _severity_label(event: str) -> str:
    """Return the severity of an event's id in lower case; ``unknown`` for an id of a newer version."""
    severity = severity_of(int(event)) if event.isascii() and event.isdigit() else ""
    return severity.lower() or "unknown"


def encodable(value: str) -> str:
    """Return a label's value without lone surrogates, which a name of a cache may have and UTF-8 has not."""
    return value.encode("utf-8", "replace").decode()


def _highest(before: CacheStatus, now: CacheStatus) -> CacheStatus:
    return replace(
        now,
        entries=max(before.entries, now.entries),
        records=max(before.records, now.records),
        bytes=max(before.bytes, now.bytes),
        seconds=max(before.seconds, now.seconds),
        bad=max(before.bad, now.bad),
        filtered=max(before.filtered, now.filtered),
    )
