"""Metrics of runs: what Airflow's own Stats sends to a StatsD socket and to a collector of OpenTelemetry."""

from __future__ import annotations

import atexit
import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import Stats
from opentelemetry.metrics import get_meter_provider
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from airflow_provider_ignite_kafka.runs import report as run_report
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.lag import RunLag
from airflow_provider_ignite_kafka.runs.metrics import RunMetrics
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING, CacheStatus, RunStatus, now_ms
from tests.support.airflow_versions import initialize_stats
from tests.unit.airflow.bench import Bench, FakeMonitor, context, operator, run_status, sink

Received = Callable[[], list[str]]
CACHE = CacheStatus("t-flights", 8, 10, 1000, bad=2, dead_letters=1)
RUN = RunStatus(RUNNING, "a.b", "r2", started_ms=2, caches={"flights": CACHE}, events={"15100": 1, "15070": 2})


@pytest.fixture
def statsd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Received]:
    """A StatsD server; the call returns what it has received since the last call."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_ON", "True")
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_HOST", "127.0.0.1")
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_PORT", str(server.getsockname()[1]))
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_PREFIX", "airflow")
        made = initialize()

        def received() -> list[str]:
            Stats.incr("test.end")
            found: list[str] = []
            server.settimeout(10)
            while (line := server.recv(65_536).decode()) != "airflow.test.end:1|c":
                found.append(line.removeprefix("airflow."))
            return sorted(line for line in found if line.startswith("ignite_kafka"))

        yield received
    monkeypatch.undo()
    close(made)
    initialize()


_LOGGERS: list[Any] = []


def initialize() -> list[Any]:
    """Have Stats read its configuration anew; the loggers that it makes from now on."""
    initialize_stats(_LOGGERS)
    return _LOGGERS


def close(loggers: list[Any]) -> None:
    for logger in loggers:
        logger.statsd.close()
    loggers.clear()


def test_counters_are_the_differences_between_records(statsd: Received) -> None:
    metrics = RunMetrics(to_kafka=True)
    metrics.update(RUN)
    assert statsd() == [
        "ignite_kafka.bytes.a_b.flights:1000|c",
        "ignite_kafka.bytes:1000|c",
        "ignite_kafka.dead_letters.a_b.flights:1|c",
        "ignite_kafka.dead_letters:1|c",
        "ignite_kafka.events.a_b.15070:2|c",
        "ignite_kafka.events.a_b.15100:1|c",
        "ignite_kafka.events:1|c",
        "ignite_kafka.events:2|c",
        "ignite_kafka.records.a_b.flights:10|c",
        "ignite_kafka.records:10|c",
        "ignite_kafka.skipped.a_b.flights:2|c",
        "ignite_kafka.skipped:2|c",
    ]
    metrics.update(RUN)
    assert statsd() == []
    metrics.update(replace(RUN, caches={"flights": replace(CACHE, records=11), "air": CacheStatus("t-air", records=1)}))
    assert [line for line in statsd() if ".a_b." in line] == ["ignite_kafka.records.a_b.air:1|c", "ignite_kafka.records.a_b.flights:1|c"]


def test_tags_go_to_statsd_that_knows_them(statsd: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__METRICS__LEGACY_NAMES_ON", "False")
    initialize()
    metrics = RunMetrics(to_kafka=False)
    metrics.update(replace(RUN, events={"15070": 2}))
    metrics.lag("a.b", {"t-flights": 5})
    assert statsd() == [
        "ignite_kafka.bytes,connector=a.b,cache=flights:1000|c",
        "ignite_kafka.dead_letters,connector=a.b,cache=flights:1|c",
        "ignite_kafka.events,connector=a.b,event=15070:2|c",
        "ignite_kafka.lag,connector=a.b,topic=t-flights:5|g",
        "ignite_kafka.records,connector=a.b,cache=flights:8|c",
        "ignite_kafka.skipped,connector=a.b,cache=flights:2|c",
    ]


@pytest.fixture
def otel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """A collector of OpenTelemetry; the call flushes and returns ``name{tags} value`` of all that it has received last."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AIRFLOW__METRICS__OTEL_ON", "True")
        monkeypatch.setenv("AIRFLOW__METRICS__OTEL_HOST", "127.0.0.1")
        monkeypatch.setenv("AIRFLOW__METRICS__OTEL_PORT", str(server.server_address[1]))
        monkeypatch.setattr(atexit, "register", lambda function, *_: function)  # Airflow flushes at the end, when there is no collector
        initialize()

        def received() -> list[str]:
            provider: Any = get_meter_provider()
            assert provider.force_flush(30_000)
            return sorted(_points(bodies[-1]))

        yield received
        provider: Any = get_meter_provider()
        provider.shutdown()
        server.shutdown()
    _LOGGERS.clear()
    monkeypatch.undo()
    initialize()


def _points(body: bytes) -> Iterator[str]:
    for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics if ".ignite_kafka." in metric.name):
            for point in [*metric.sum.data_points, *metric.gauge.data_points]:
                tags = ",".join(f"{tag.key}={tag.value.string_value}" for tag in sorted(point.attributes, key=lambda tag: tag.key))
                yield f"{metric.name}{{{tags}}} {point.as_int or point.as_double:g}"


def test_opentelemetry_gets_the_same_with_tags(otel: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__METRICS__LEGACY_NAMES_ON", "False")
    metrics = RunMetrics(to_kafka=True)
    metrics.update(replace(RUN, caches={"flights": CACHE, "air traffic": replace(CACHE, records=3, bad=0, dead_letters=0)}))
    metrics.lag("a.b", {"flights": 5})
    assert otel() == [
        "airflow.ignite_kafka.bytes{cache=air traffic,connector=a.b} 1000",
        "airflow.ignite_kafka.bytes{cache=flights,connector=a.b} 1000",
        "airflow.ignite_kafka.dead_letters{cache=flights,connector=a.b} 1",
        "airflow.ignite_kafka.events{connector=a.b,event=15070} 2",
        "airflow.ignite_kafka.events{connector=a.b,event=15100} 1",
        "airflow.ignite_kafka.lag{cache=flights,connector=a.b} 5",
        "airflow.ignite_kafka.records{cache=air traffic,connector=a.b} 3",
        "airflow.ignite_kafka.records{cache=flights,connector=a.b} 10",
        "airflow.ignite_kafka.skipped{cache=flights,connector=a.b} 2",
    ]


def test_retried_snapshot_counts_each_record_once(statsd: Received) -> None:
    earlier = RunStatus(FAILED, "c", "r1", "s", started_ms=1, caches={"flights": replace(CACHE, records=7, bad=2, bytes=700)})
    now = replace(RUN, connector="c", snapshot_id="s", events={})
    metrics = RunMetrics(to_kafka=True, counted=earlier)
    metrics.update(replace(now, caches={"flights": replace(CACHE, bytes=300)}))
    assert [line for line in statsd() if ".c." in line] == ["ignite_kafka.bytes.c.flights:300|c", "ignite_kafka.records.c.flights:3|c"]


def test_operators_export_what_they_copied_also_of_a_failed_run(bench: Bench, statsd: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunLag, "read", lambda _lag, _status: {"t-flights": 4})
    operator().execute(context())
    assert statsd() == [
        "ignite_kafka.bytes.c.flights:1000|c",
        "ignite_kafka.bytes:1000|c",
        "ignite_kafka.lag.c.t-flights:4|g",
        "ignite_kafka.lag:4|g",
        "ignite_kafka.records.c.flights:10|c",
        "ignite_kafka.records:10|c",
    ]
    bench.status = lambda: run_status(FAILED, KafkaUnavailable("gone"))
    with pytest.raises(Exception, match="gone"):
        sink().execute(context())
    assert "ignite_kafka.records:10|c" in statsd()
    bench.status = lambda: replace(run_status(COMPLETED), already_complete=True)
    operator().execute(context())
    assert statsd() == []


def report_of(bench: Bench) -> run_report.RunReport:
    return run_report.RunReport(FakeMonitor(bench, FollowedRun("c", "r2", streams=True)))


def test_progress_is_exported_while_a_run_goes_on(bench: Bench, statsd: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    lags = iter([{"flights": 5}, {"flights": 3}, {"flights": 1}])
    monkeypatch.setattr(RunLag, "read", lambda _lag, _status: next(lags))
    monkeypatch.setattr(run_report, "_LAG_EVERY_S", 0.0)
    report = report_of(bench)
    status = replace(RUN, connector="c", started_ms=now_ms() + 1_000, events={})
    more = replace(status, caches={"flights": replace(CACHE, records=14)})
    for now in (status, more):
        report.progressed(now)
    assert [line for line in statsd() if ".records.c." in line or ".lag.c." in line] == [
        "ignite_kafka.lag.c.flights:3|g",
        "ignite_kafka.lag.c.flights:5|g",
        "ignite_kafka.records.c.flights:10|c",
        "ignite_kafka.records.c.flights:4|c",
    ]
    report.ended(more)
    assert [line for line in statsd() if ".c." in line] == ["ignite_kafka.lag.c.flights:1|g"]


def test_task_that_finds_its_run_begun_counts_from_there(bench: Bench, statsd: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunLag, "read", lambda _lag, _status: {})
    report = report_of(bench)
    begun = replace(RUN, connector="c")
    report.progressed(begun)
    assert statsd() == []
    report.ended(replace(begun, caches={"flights": replace(CACHE, records=12)}))
    assert statsd() == ["ignite_kafka.records.c.flights:2|c", "ignite_kafka.records:2|c"]


def test_nothing_is_read_where_airflow_exports_no_metrics(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(RunLag, "read", refuse)
    monkeypatch.setattr(FakeMonitor, "earlier_run", refuse)
    operator().execute(context())
