"""Table of all metrics, from which the exporters and docs/metrics.md are generated.

A metric has the same meaning in each exporter. Names follow the rules of Prometheus: base units (seconds, bytes), a
unit at the end of the name, and ``_total`` at the end of a counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PREFIX = "ignite_kafka"
Kind = Literal["counter", "gauge", "enum"]
_BY_CACHE = ("connector", "cache", "topic")


@dataclass(frozen=True)
class Metric:
    """A metric.

    :param short_name: name without prefix and ``_total``.
    :param kind: counter, gauge, or enum: one series for each state, of which the present one is 1 and the others 0.
    :param unit: ``seconds``, ``bytes``, or what is counted.
    :param labels: names of the labels.
    :param meaning: description, for the page and for ``HELP``.
    :param twin: metrics of Kafka Connect, Debezium or Kafka's clients with this meaning; empty without one.
    :param in_airflow: whether Airflow's StatsD, Datadog or OpenTelemetry has it, too.
    """

    short_name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    meaning: str
    twin: str = ""
    in_airflow: bool = False

    @property
    def name(self) -> str:
        """Name for Prometheus."""
        return f"{PREFIX}_{self.short_name}" + ("_total" if self.kind == "counter" else "")

    @property
    def dotted_name(self) -> str:
        """Name for OpenTelemetry, and in Airflow's backends after their prefix."""
        return f"{PREFIX}.{self.short_name}"


RECORDS = Metric(
    "records",
    "counter",
    "records",
    _BY_CACHE,
    "Records sent to Kafka; of a sink, entries stored in Ignite or removed",
    "Kafka Connect source-record-write-total, sink-record-send-total",
    in_airflow=True,
)
READ = Metric(
    "read",
    "counter",
    "entries or records",
    _BY_CACHE,
    "Entries and changes read from Ignite; of a sink, records read from Kafka",
    "Kafka Connect source-record-poll-total, sink-record-read-total; Debezium TotalNumberOfEventsSeen",
)
BYTES = Metric(
    "bytes",
    "counter",
    "bytes",
    _BY_CACHE,
    "Size of the keys and values of these records",
    "Kafka producer outgoing-byte-total, consumer bytes-consumed-total",
    in_airflow=True,
)
SKIPPED = Metric(
    "skipped",
    "counter",
    "entries or records",
    _BY_CACHE,
    "Entries or records that could not be copied: skipped, or sent to the dead-letter topic",
    "Kafka Connect total-records-skipped, deadletterqueue-produce-requests; Debezium NumberOfErroneousEvents",
    in_airflow=True,
)
FILTERED = Metric(
    "filtered",
    "counter",
    "entries or records",
    _BY_CACHE,
    "Entries or records left out by the settings where and filter",
    "Debezium NumberOfEventsFiltered",
)
COPY_SECONDS = Metric(
    "copy_seconds",
    "counter",
    "seconds",
    _BY_CACHE,
    "Time from the first read to the last commit, added up over the epochs of a run",
    "Debezium SnapshotDurationInSeconds",
)
PARTITIONS = Metric(
    "partitions",
    "gauge",
    "partitions",
    _BY_CACHE,
    "Partitions of the cache; of a sink, of the topic",
    "Kafka Connect partition-count",
)
PARTITIONS_DONE = Metric(
    "partitions_done",
    "gauge",
    "partitions",
    _BY_CACHE,
    "Partitions of the cache whose initial data is sent",
    "Debezium TotalTableCount less RemainingTableCount",
)
PROGRESS_TIME = Metric(
    "progress_timestamp_seconds",
    "gauge",
    "seconds",
    _BY_CACHE,
    "Time of the newest report with more records or reads than before, else of the run's start, in seconds since 1970",
    "Debezium MilliSecondsSinceLastEvent, as a time",
)
LAG = Metric(
    "lag",
    "gauge",
    "changes or records",
    _BY_CACHE,
    "Changes in the backlog, or records in the topic, that are not copied yet; the endpoint has it for sinks, Airflow "
    "for both directions, by cache or topic",
    "Kafka consumer records-lag",
    in_airflow=True,
)
EVENTS = Metric(
    "events",
    "counter",
    "events",
    ("connector", "event", "severity"),
    "Health events of the driver and of its tasks, by id; Airflow has them without severity",
    "Kafka Connect total-errors-logged, total-record-errors, total-record-failures",
    in_airflow=True,
)
STATE = Metric(
    "run_state",
    "enum",
    "",
    ("connector", "state"),
    "State of the run",
    "Kafka Connect status of a connector",
)
INFO = Metric(
    "run_info",
    "gauge",
    "",
    ("connector", "run_id", "direction", "run_mode", "application_id", "version"),
    "Always 1; its labels describe the run",
    "Kafka Connect connector-type, connector-version",
)
GENERATION = Metric(
    "run_generation",
    "gauge",
    "",
    ("connector",),
    "Generation of the run; a run with a higher one fences it. 0 before the run has claimed the connector",
)
START_TIME = Metric(
    "run_start_timestamp_seconds",
    "gauge",
    "seconds",
    ("connector",),
    "Start of the run, in seconds since 1970",
    "Kafka Connect start-time-ms",
)
STATUS_TIME = Metric(
    "status_timestamp_seconds",
    "gauge",
    "seconds",
    ("connector",),
    "Time of the driver's newest status, in seconds since 1970; a run that works makes one every progress_interval_ms",
)

METRICS = (
    RECORDS,
    READ,
    BYTES,
    SKIPPED,
    FILTERED,
    COPY_SECONDS,
    PARTITIONS,
    PARTITIONS_DONE,
    PROGRESS_TIME,
    LAG,
    EVENTS,
    STATE,
    INFO,
    GENERATION,
    START_TIME,
    STATUS_TIME,
)
"""All metrics, in the order of the page."""
