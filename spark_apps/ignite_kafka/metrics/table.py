"""Table of all metrics, from which the exporters and docs/metrics.md are generated.

A metric has the same meaning in each exporter. Names follow the rules of Prometheus: base units (seconds, bytes), a
unit at the end of the name, and ``_total`` at the end of a counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PREFIX = "ignite_kafka"
Kind = Literal["counter", "gauge", "enum", "histogram"]
_BY_CACHE = ("connector", "cache", "topic")


@dataclass(frozen=True)
class Metric:
    """A metric.

    :param short_name: name without prefix and ``_total``.
    :param kind: counter, gauge, histogram, or enum: one series for each state, of which the present one is 1 and the
        others 0.
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
    def series(self) -> tuple[str, ...]:
        """Names of its series in Prometheus: a histogram has three."""
        return (
            tuple(self.name + end for end in ("_bucket", "_count", "_sum"))
            if self.kind == "histogram"
            else (self.name,)
        )

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
    "Kafka Connect total-records-skipped; Debezium NumberOfErroneousEvents",
    in_airflow=True,
)
DEAD_LETTERS = Metric(
    "dead_letters",
    "counter",
    "records",
    _BY_CACHE,
    "Those of them that became records of the dead-letter topic; of a sink also the record that stopped the run",
    "Kafka Connect deadletterqueue-produce-requests",
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
    "Changes captured by the nodes, or records in the topic, that are not copied yet (how they are counted: "
    "docs/monitor.md); Airflow has it by cache or topic, and not for continuous queries",
    "Kafka consumer records-lag",
    in_airflow=True,
)
OLDEST_AGE = Metric(
    "oldest_change_age_seconds",
    "gauge",
    "seconds",
    _BY_CACHE,
    "Age of the oldest change that is captured and not sent, when the lag was read; 0 without one; of sources only",
    "Debezium MilliSecondsBehindSource",
)
BACKLOG_FILL = Metric(
    "backlog_fill_ratio",
    "gauge",
    "ratio",
    ("connector", "node"),
    "Used part of the backlog's memory region on an Ignite node, by consistent id; partitions are given up above 0.8",
)
BUFFERED = Metric(
    "backlog_buffered",
    "gauge",
    "changes",
    ("connector", "node"),
    "Changes in the capture's buffer on a node, not yet written to the backlog",
    "Debezium QueueTotalCapacity less QueueRemainingCapacity",
)
BUFFERED_BYTES = Metric(
    "backlog_buffered_bytes",
    "gauge",
    "bytes",
    ("connector", "node"),
    "Size of these changes",
    "Debezium CurrentQueueSizeInBytes",
)
REFUSED_WRITES = Metric(
    "refused_writes",
    "counter",
    "writes",
    ("connector", "cache"),
    "Writes that nodes did not store because another cluster's write of the key is newer, since the run's start; of "
    "sinks with active_active only",
)
FORGOTTEN_REMOVALS = Metric(
    "forgotten_removals",
    "counter",
    "keys",
    ("connector", "cache"),
    "Removed keys whose versions nodes had no memory for, since the run's start: an older put of another cluster "
    "brings such a key back; of sinks with active_active only",
)
LATENCY = Metric(
    "latency_seconds",
    "histogram",
    "seconds",
    ("connector",),
    "Time from the capture of a change on its node to the commit of its record; of a sink from the timestamp of a "
    "batch's first record to the commit of its offset, with its entry stored",
    "Debezium MilliSecondsBehindSource",
)
HEARTBEAT_LATENCY = Metric(
    "heartbeat_latency_seconds",
    "histogram",
    "seconds",
    ("connector",),
    "Time from the put of a heartbeat into Ignite until the driver reads it from Kafka, committed; of a stream with "
    "heartbeat_interval_ms",
    "Debezium heartbeat.interval.ms",
)
HEARTBEAT_TIME = Metric(
    "heartbeat_timestamp_seconds",
    "gauge",
    "seconds",
    ("connector",),
    "Time of the newest heartbeat that came back, in seconds since 1970",
)
BATCH_TIME = Metric(
    "batch_seconds",
    "histogram",
    "seconds",
    ("connector",),
    "Time of a task for a batch: of a snapshot to convert and send it; of a stream from the poll of the backlog to the "
    "commit; of a sink to convert it, and to wait for the puts of the batch before",
    "Kafka Connect put-batch-avg-time-ms, poll-batch-avg-time-ms",
)
COMMIT_TIME = Metric(
    "commit_seconds",
    "histogram",
    "seconds",
    ("connector",),
    "Time to commit a transaction of Kafka, after its records are delivered",
    "Kafka Connect offset-commit-avg-time-ms; Kafka producer txn-commit-time-ns-total",
)
PUT_TIME = Metric(
    "put_seconds",
    "histogram",
    "seconds",
    ("connector",),
    "Time from a request that puts or removes entries to its acknowledgement; a sink converts the next batch meanwhile",
)
RETRIES = Metric(
    "retries",
    "counter",
    "operations",
    ("connector", "operation"),
    "Operations repeated after a failure: read (a request to Ignite, or a partition of a scan), put (a request that "
    "stores entries), commit (of a transaction), attempt (a task begins again after what is committed)",
    "Kafka Connect total-retries",
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
    DEAD_LETTERS,
    FILTERED,
    COPY_SECONDS,
    PARTITIONS,
    PARTITIONS_DONE,
    PROGRESS_TIME,
    LAG,
    OLDEST_AGE,
    BACKLOG_FILL,
    BUFFERED,
    BUFFERED_BYTES,
    REFUSED_WRITES,
    FORGOTTEN_REMOVALS,
    LATENCY,
    HEARTBEAT_LATENCY,
    HEARTBEAT_TIME,
    BATCH_TIME,
    COMMIT_TIME,
    PUT_TIME,
    RETRIES,
    EVENTS,
    STATE,
    INFO,
    GENERATION,
    START_TIME,
    STATUS_TIME,
)
"""All metrics, in the order of the page."""
