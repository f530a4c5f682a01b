"""What a collector of OpenTelemetry receives from a run."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from ignite_kafka.common.measurements import BOUNDS_S, COMMIT, Histogram, Measurements
from ignite_kafka.metrics.otlp import metrics_export
from ignite_kafka.metrics.samples import NodeBacklog, RunMetrics
from ignite_kafka.metrics.table import METRICS
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import COMPLETED, RUNNING, CacheStatus, RunStatus, Waiting
from tests.support.waiting import DEADLINE_S, wait_until

CUMULATIVE = 2
ON = SourceSettings(name="c", metrics_otlp=True)
CACHE = CacheStatus("t-flights", 8, 10, 1_000, 4, 3, 1.5, bad=2, filtered=1)
STATUS = RunStatus(RUNNING, "c", "r1", started_ms=1_500, caches={"flights": CACHE}, events={"15100": 3})


class Collector:
    """Requests of an exporter, each with path and body."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any, ExportMetricsServiceRequest]] = []

    def metrics(self) -> dict[str, Any]:
        """Metrics of the last request, by name."""
        _, _, request = self.requests[-1]
        return {
            metric.name: metric for resource in request.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics
        }

    def points(self, name: str) -> dict[tuple[str, ...], float]:
        """Values of a metric's series, by the values of the attributes."""
        metric = self.metrics()[name]
        return {
            tuple(attribute.value.string_value for attribute in point.attributes): point.as_int or point.as_double
            for point in [*metric.sum.data_points, *metric.gauge.data_points]
        }


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    received = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            received.requests.append((self.path, self.headers, ExportMetricsServiceRequest.FromString(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        yield received
        server.shutdown()


def metrics_of(status: RunStatus = STATUS) -> RunMetrics:
    metrics = RunMetrics(replace(status, caches={}), ON)
    metrics.update(status)
    metrics.update_waiting({"flights": Waiting(5, 1)}, [NodeBacklog("node-1", 3, 300, 0.25)])
    metrics.update_heartbeat(99.5)
    metrics.update_refused({"staff": 3}, {"staff": 2})
    metrics.update_measured(Measurements({COMMIT: Histogram((0, 2, *[0] * 12, 1), 400.015)}, {"put": 2}))
    return metrics


def test_every_metric_of_the_table_is_exported_with_its_last_values(collector: Collector) -> None:
    metrics = metrics_of()
    with metrics_export(ON, "r1", metrics.samples):
        metrics.update(replace(STATUS, state=COMPLETED, caches={"flights": replace(CACHE, records=11)}))
    path, _, _ = collector.requests[-1]
    assert path == "/v1/metrics"
    assert collector.metrics().keys() == {metric.dotted_name for metric in METRICS}
    for metric in METRICS:
        exported = collector.metrics()[metric.dotted_name]
        assert exported.description == metric.meaning
        assert exported.sum.is_monotonic == (metric.kind == "counter")
    assert collector.points("ignite_kafka.records") == {("c", "flights", "t-flights"): 11}
    (commits,) = collector.metrics()["ignite_kafka.commit_seconds"].histogram.data_points
    assert (list(commits.bucket_counts), commits.sum, commits.count) == ([0, 2, *[0] * 12, 1], 400.015, 3)
    assert list(commits.explicit_bounds) == list(BOUNDS_S)
    assert collector.metrics()["ignite_kafka.commit_seconds"].histogram.aggregation_temporality == CUMULATIVE
    assert collector.points("ignite_kafka.retries")["c", "put"] == 2
    assert collector.points("ignite_kafka.lag") == {("c", "flights", "t-flights"): 5}
    assert {labels for labels, value in collector.points("ignite_kafka.run_state").items() if value} == {("c", COMPLETED)}
    assert {collector.metrics()[f"ignite_kafka.{name}"].unit for name in ("bytes", "copy_seconds", "records")} == {"By", "s", "{records}"}


def test_address_headers_interval_and_names_are_those_of_the_environment(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    with metrics_export(ON, "r1", metrics_of().samples):
        wait_until(lambda: len(collector.requests) >= 3, "three exports")
    _, headers, request = collector.requests[-1]
    assert headers["x-team"] == "a"
    (resource,) = (resource.resource for resource in request.resource_metrics)
    names = {attribute.key: attribute.value.string_value for attribute in resource.attributes}
    assert names == names | {"service.name": "ignite-kafka", "service.instance.id": "r1", "deployment.environment": "test"}


def test_a_collector_that_is_away_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    begun = time.monotonic()
    with metrics_export(ON, "r1", metrics_of().samples):
        pass
    assert time.monotonic() - begun < DEADLINE_S
