"""Values of the metrics of :mod:`.table`, from the newest status of a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..common.measurements import BATCH, COMMIT, HEARTBEAT, LATENCY, OPERATIONS, PUT, Histogram, Measurements
from ..event_descriptions import severity_of
from ..events import EVENTS as TYPES
from ..settings.connector import ConnectorSettings
from ..state import status as states
from ..state.status import CacheStatus, RunStatus, Waiting
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
_HISTOGRAMS = {
    LATENCY: table.LATENCY,
    HEARTBEAT: table.HEARTBEAT_LATENCY,
    BATCH: table.BATCH_TIME,
    COMMIT: table.COMMIT_TIME,
    PUT: table.PUT_TIME,
}
_SEEN_LATER = {str(id): 0 for id, event in sorted(TYPES.items()) if event.severity > logging.INFO}
"""Warnings and errors, which are 0 before they occur: Prometheus sees no increase of a series that begins with 1."""


@dataclass(frozen=True)
class Sample:
    """Value of a metric, with the values of its labels in the order of :attr:`.Metric.labels`.

    :param value: of a histogram, its number of durations.
    :param histogram: the durations of a histogram; None for other kinds of metrics.
    """

    metric: Metric
    labels: tuple[str, ...]
    value: float
    histogram: Histogram | None = None


@dataclass(frozen=True)
class NodeBacklog:
    """Backlog of a connector on one node.

    :param node: consistent id of the node.
    :param buffered: captured changes in the node's buffer, with their size in bytes.
    :param fill: used part of the backlog's memory region, from 0 to 1.
    """

    node: str
    buffered: int
    buffered_bytes: int
    fill: float


@dataclass(frozen=True)
class Newest:
    """Newest values of a run, replaced as a whole, so that other threads need no lock to read them.

    :param status: the run's status, whose counts are the highest so far.
    :param progress: time of the newest progress of each cache, in seconds since 1970.
    :param lag: number of records or changes to copy, by topic of a sink or cache of a source.
    :param ages: age of the oldest change by cache, in seconds.
    :param nodes: backlog of each node.
    :param refused: number of writes that nodes did not store because a newer one is there, by cache.
    :param forgotten: number of removed keys whose versions nodes had no memory for, by cache.
    :param measured: measurements of all tasks.
    :param heartbeat_s: time of the newest heartbeat that came back, in seconds since 1970; 0.0: none did.
    :param time_s: time of the status, in seconds since 1970.
    """

    status: RunStatus
    progress: Mapping[str, float] = field(default_factory=dict)
    lag: Mapping[str, int] = field(default_factory=dict)
    ages: Mapping[str, float] = field(default_factory=dict)
    nodes: tuple[NodeBacklog, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    forgotten: Mapping[str, int] = field(default_factory=dict)
    measured: Measurements = field(default_factory=Measurements)
    heartbeat_s: float = 0.0
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
        """Take a new lag by topic or cache; a name that was behind, and no longer is, has 0."""
        self._newest = replace(self._newest, lag={**dict.fromkeys(self._newest.lag, 0), **lag})

    def update_waiting(self, waiting: Mapping[str, Waiting], nodes: Sequence[NodeBacklog] = ()) -> None:
        """Take what a source has not sent yet, by cache, and the backlog of each node."""
        self.update_lag({name: of_cache.changes for name, of_cache in waiting.items()})
        now = self._clock()
        ages = {
            name: max(0.0, now - of_cache.oldest_ms / _SECOND_MS) if of_cache.oldest_ms else 0.0
            for name, of_cache in waiting.items()
        }
        before = self._newest
        self._newest = replace(before, ages={**dict.fromkeys(before.ages, 0.0), **ages}, nodes=tuple(nodes))

    def update_refused(self, refused: Mapping[str, int], forgotten: Mapping[str, int]) -> None:
        """Take the numbers of refused writes and of forgotten removals, by cache; they never fall."""
        self._newest = replace(self._newest, refused=refused, forgotten=forgotten)

    def update_heartbeat(self, sent_s: float) -> None:
        """Take the time of the newest heartbeat that came back, in seconds since 1970; 0.0: none did."""
        self._newest = replace(self._newest, heartbeat_s=sent_s)

    def update_measured(self, measured: Measurements) -> None:
        """Take the measurements of all tasks, which never fall."""
        self._newest = replace(self._newest, measured=measured)

    @property
    def lag(self) -> int | None:
        """Number of records or changes to copy, of all topics or caches; None: unknown."""
        lag = self._newest.lag
        return sum(lag.values()) if lag else None

    @property
    def latency(self) -> Histogram:
        """Latencies of all changes or records of the run so far."""
        return self._newest.measured.durations.get(LATENCY, Histogram())

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
        yield from self._behind(newest)
        yield from _of_tasks(connector, newest.measured)
        for event, count in {**_SEEN_LATER, **newest.status.events}.items():
            yield Sample(table.EVENTS, (connector, event, _severity_label(event)), count)
        yield from self._of_run(newest)

    def _behind(self, newest: Newest) -> Iterator[Sample]:
        connector = newest.status.connector
        topics = {name: cache.topic for name, cache in newest.status.caches.items()}
        caches = {topic: name for name, topic in topics.items()}
        for name, lag in newest.lag.items():
            place = (name, topics.get(name, "")) if self._to_kafka else (caches.get(name, ""), name)
            yield Sample(table.LAG, (connector, *place), lag)
        for name, age_s in newest.ages.items():
            yield Sample(table.OLDEST_AGE, (connector, name, topics.get(name, "")), age_s)
        for name, count in newest.refused.items():
            yield Sample(table.REFUSED_WRITES, (connector, name), count)
        for name, count in newest.forgotten.items():
            yield Sample(table.FORGOTTEN_REMOVALS, (connector, name), count)
        if newest.heartbeat_s:
            yield Sample(table.HEARTBEAT_TIME, (connector,), newest.heartbeat_s)
        for node in newest.nodes:
            yield Sample(table.BACKLOG_FILL, (connector, node.node), node.fill)
            yield Sample(table.BUFFERED, (connector, node.node), node.buffered)
            yield Sample(table.BUFFERED_BYTES, (connector, node.node), node.buffered_bytes)

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


def _of_tasks(connector: str, measured: Measurements) -> Iterator[Sample]:
    """Yield the histograms and the retries; all exist from the beginning, with zeros."""
    for name, metric in _HISTOGRAMS.items():
        histogram = measured.durations.get(name, Histogram())
        yield Sample(metric, (connector,), histogram.count, histogram)
    for operation in OPERATIONS:
        yield Sample(table.RETRIES, (connector, operation), measured.retries.get(operation, 0))


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
        table.DEAD_LETTERS: cache.dead_letters,
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
        dead_letters=max(before.dead_letters, now.dead_letters),
    )
