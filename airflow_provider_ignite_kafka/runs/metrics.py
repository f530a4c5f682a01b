"""Metrics of runs in Airflow's own backends.

The backends are StatsD, Datadog or OpenTelemetry, as configured in section ``[metrics]``.

Names and meanings are those of :mod:`ignite_kafka.metrics.table`, as far as a metric is ``in_airflow``. Counters are
the differences between two status records; the events are those of driver and tasks.

Tags are ``connector``, and ``cache``, ``topic`` or ``event``. StatsD without tags would add all connectors up. So, as
Airflow does for its own metrics, each value is exported under a name with its tags as well,
``ignite_kafka.records.<connector>.<cache>``, unless option ``legacy_names_on`` of section ``[metrics]`` is false.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from airflow.providers.common.compat.sdk import Stats, conf

from ignite_kafka.metrics import table
from ignite_kafka.metrics.samples import cache_values
from ignite_kafka.metrics.table import Metric
from ignite_kafka.state.status import CacheStatus, RunStatus

_BY_CACHE = (table.RECORDS, table.BYTES, table.SKIPPED, table.DEAD_LETTERS)
_SEPARATOR = re.compile(r"[^\w-]", re.ASCII)  # a dot would be another level of the name


class RunMetrics:
    """Exporter of the counts that a run adds from one status record to the next.

    :param to_kafka: True for a source, False for a sink.
    :param counted: status with the counts that were already exported, of an earlier run of the same snapshot or of the
        same run.
    """

    def __init__(self, *, to_kafka: bool, counted: RunStatus | None = None) -> None:
        self._to_kafka = to_kafka
        self._counted: Mapping[str, CacheStatus] = {}
        self._events: Mapping[str, int] = {}
        self._run_id = ""
        if counted is not None:
            self._counted = counted.caches
            self._events = counted.events
            self._run_id = counted.run_id
        self._with_names = conf.getboolean("metrics", "legacy_names_on", fallback=True)

    def update(self, status: RunStatus) -> None:
        """Export the differences from the last status."""
        if status.already_complete:
            return
        # the counts of a snapshot's entries and records include those of its earlier runs; bytes and events do not
        if status.run_id != self._run_id:
            self._counted = {name: replace(counts, bytes=0) for name, counts in self._counted.items()}
            self._events = {}
            self._run_id = status.run_id
        for name, cache in status.caches.items():
            now = cache_values(cache, to_kafka=self._to_kafka)
            before = cache_values(self._counted.get(name, CacheStatus("")), to_kafka=self._to_kafka)
            for metric in _BY_CACHE:
                self._count(metric, int(now[metric] - before[metric]), status.connector, "cache", name)
        for event, count in status.events.items():
            self._count(table.EVENTS, count - self._events.get(event, 0), status.connector, "event", event)
        self._counted = {**self._counted, **status.caches}
        self._events = status.events

    def lag(self, connector: str, lag: Mapping[str, int]) -> None:
        """Export the lag of a connector.

        :param lag: lag by cache, or for a sink by topic.
        """
        tag = "cache" if self._to_kafka else "topic"
        for name, value in lag.items():
            Stats.gauge(table.LAG.dotted_name, value, tags={"connector": connector, tag: name})
            if self._with_names:
                Stats.gauge(_named(table.LAG, connector, name), value)

    def _count(self, metric: Metric, difference: int, connector: str, tag: str, name: str) -> None:
        if difference <= 0:
            return
        Stats.incr(metric.dotted_name, difference, tags={"connector": connector, tag: name})
        if self._with_names:
            Stats.incr(_named(metric, connector, name), difference)


def enabled() -> bool:
    """Return whether Airflow exports metrics; if not, no values are read for metrics."""
    return any(
        conf.getboolean("metrics", name, fallback=False) for name in ("statsd_on", "statsd_datadog_enabled", "otel_on")
    )


def _named(metric: Metric, *parts: str) -> str:
    return ".".join([metric.dotted_name, *(_SEPARATOR.sub("_", part) for part in parts)])
