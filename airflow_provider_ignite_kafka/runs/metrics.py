"""Metrics of runs in Airflow's own backends.

The backends are StatsD, Datadog or OpenTelemetry, as configured in section ``[metrics]``.

================================ ========= ===========================================================
metric                           kind      value
================================ ========= ===========================================================
``ignite_kafka.records``         counter   records sent; of a sink, entries stored or removed
``ignite_kafka.bytes``           counter   size of their keys and values
``ignite_kafka.skipped``         counter   entries or records that were skipped or became dead letters
``ignite_kafka.events``          counter   health events of the driver, tag ``event``
``ignite_kafka.lag``             gauge     changes or records left to copy
================================ ========= ===========================================================

Tags are ``connector``, and ``cache``, ``topic`` or ``event``. StatsD without tags would add all connectors up. So, as
Airflow does for its own metrics, each value is exported under a name with its tags as well,
``ignite_kafka.records.<connector>.<cache>``, unless option ``legacy_names_on`` of section ``[metrics]`` is false.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from airflow.providers.common.compat.sdk import Stats, conf

from ignite_kafka.state.status import CacheStatus, RunStatus

_PREFIX = "ignite_kafka"
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
        for name, now in status.caches.items():
            before = self._counted.get(name, CacheStatus(""))
            done = (now.records, before.records) if self._to_kafka else (now.entries, before.entries)
            for metric, (value, counted) in (
                ("records", done),
                ("bytes", (now.bytes, before.bytes)),
                ("skipped", (now.bad, before.bad)),
            ):
                self._count(metric, value - counted, status.connector, "cache", name)
        for event, count in status.events.items():
            self._count("events", count - self._events.get(event, 0), status.connector, "event", event)
        self._counted = {**self._counted, **status.caches}
        self._events = status.events

    def lag(self, connector: str, lag: Mapping[str, int]) -> None:
        """Export the lag of a connector.

        :param lag: lag by cache, or for a sink by topic.
        """
        tag = "cache" if self._to_kafka else "topic"
        for name, value in lag.items():
            Stats.gauge(f"{_PREFIX}.lag", value, tags={"connector": connector, tag: name})
            if self._with_names:
                Stats.gauge(_named("lag", connector, name), value)

    def _count(self, metric: str, difference: int, connector: str, tag: str, name: str) -> None:
        if difference <= 0:
            return
        Stats.incr(f"{_PREFIX}.{metric}", difference, tags={"connector": connector, tag: name})
        if self._with_names:
            Stats.incr(_named(metric, connector, name), difference)


def enabled() -> bool:
    """Return whether Airflow exports metrics; if not, no values are read for metrics."""
    return any(
        conf.getboolean("metrics", name, fallback=False) for name in ("statsd_on", "statsd_datadog_enabled", "otel_on")
    )


def _named(metric: str, *parts: str) -> str:
    return ".".join([_PREFIX, metric, *(_SEPARATOR.sub("_", part) for part in parts)])
