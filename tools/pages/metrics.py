"""Page of the metrics, generated from their table."""

from __future__ import annotations

from ignite_kafka.common.measurements import BOUNDS_S
from ignite_kafka.metrics.samples import STATES
from ignite_kafka.metrics.table import METRICS, Metric

_HEAD = """# Metrics

A run exposes these metrics to Prometheus with `metrics_port`, and exports them by OpenTelemetry's protocol with
`metrics_otlp` ([how](monitor.md#metrics)). The operators export those marked in column *Airflow* to
[Airflow's backends](airflow-lineage.md#metrics). One table in the code, `spark_apps/ignite_kafka/metrics/table.py`,
gives all of them their names, labels and meanings.

- A counter begins with the driver. That of a continued snapshot begins with what its earlier runs have sent, except for
  bytes, filtered and events.
- Label `state` has the values {states}.
- OpenTelemetry and Airflow have dots after the prefix, and no `_total`: `ignite_kafka.records`.
- A histogram begins with the driver, and has these buckets, in seconds:
  {bounds}.
  Each commit, put and batch of all tasks is in it, also those of tasks that Spark has repeated. A task's counts arrive
  with its reports, every `progress_interval_ms`.

| metric | kind | unit | labels | meaning | Airflow | in Kafka Connect, Debezium and Kafka's clients |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    states = ", ".join(f"`{state}`" for state in STATES)
    bounds = ", ".join(f"{bound:g}" for bound in BOUNDS_S)
    return _HEAD.replace("{states}", states).replace("{bounds}", bounds) + "".join(map(_format_row, METRICS))


def _format_row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    airflow = "yes" if metric.in_airflow else ""
    cells = [f"`{metric.name}`", metric.kind, metric.unit, labels, f"{metric.meaning}.", airflow, metric.twin]
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |")
