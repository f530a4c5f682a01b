"""Metrics of real runs, scraped by this test and by a real Prometheus with the alert rules; and a port that is taken."""

from __future__ import annotations

import json
import logging
import re
import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from ignite_kafka.admin import backlog
from ignite_kafka.errors import PortTaken
from ignite_kafka.events import OBJECT_NOT_BUILT
from ignite_kafka.metrics import table
from ignite_kafka.metrics.table import METRICS, Metric
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.sink import run
from ignite_kafka.source.stream import run as stream_run
from ignite_kafka.state.status import FAILED, PAUSED, RUNNING, read_runs
from tests.support.sink_connector import Running, Sink, trade
from tests.support.stream_world import World, await_that
from tests.support.waiting import DEADLINE_S, REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker
from tools.servers.prometheus import Prometheus, check_rules

DOCKER = Path(__file__).parents[3] / "docker"
RULES, DASHBOARD = DOCKER / "alerts.yml", DOCKER / "grafana-dashboard.json"
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def sink(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[Sink]:
    made = Sink(spark, ignite, kafka)
    yield made
    ignite.destroy_caches(made.cache)


def scraped(address: str) -> Series:
    with urllib.request.urlopen(address, timeout=REQUEST_S) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return {(sample.name, frozenset(sample.labels.items())): sample.value for family in families for sample in family.samples}


def value(series: Series, name: str, **labels: str) -> float | None:
    return next((found for (named, its), found in series.items() if named == f"ignite_kafka_{name}" and its >= labels.items()), None)


def endpoint(caplog: pytest.LogCaptureFixture) -> str:
    """Address of the metrics, once the driver has logged it."""
    wait_until(lambda: "metrics for Prometheus" in caplog.text, "the endpoint")
    (address,) = re.findall(r"http://127\.0\.0\.1:\d+/metrics", caplog.text)
    return str(address)


OF_ACTIVE_ACTIVE = (table.REFUSED_WRITES, table.FORGOTTEN_REMOVALS)
"""Metrics of sinks of caches that several clusters write."""


def of_others(metric: Metric) -> bool:
    """Whether only sources, or active-active sinks, have a metric."""
    of_sources = (table.OLDEST_AGE, table.BACKLOG_FILL, table.BUFFERED, table.BUFFERED_BYTES, table.HEARTBEAT_TIME)
    return metric in (*of_sources, *OF_ACTIVE_ACTIVE)


def labels_of(series: Series, name: str) -> list[dict[str, str]]:
    return [dict(labels) for (named, labels) in series if named == f"ignite_kafka_{name}"]


def test_a_run_exposes_every_metric_while_it_copies(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "CHECK_S", 0.2)
    caplog.set_level(logging.INFO)
    sink.send([trade(number) for number in range(6)])
    sink.send([(b"7", b'{"id":')], partition=0)
    letters = f"{sink.name}-letters"
    changed: dict[str, Any] = {"metrics_port": 0, "progress_interval_ms": 200, "error_handling_policy": "DEAD_LETTER"}
    with Running(sink, **changed, dead_letter_topic=letters) as running:
        address = endpoint(caplog)
        labels = {"connector": sink.name, "cache": sink.cache, "topic": sink.topic}
        with Prometheus(tmp_path / "prometheus", urlsplit(address).netloc, RULES) as prometheus:
            wait_until(lambda: running.alive and value(scraped(address), "records_total", **labels) == 6, "six entries")
            wait_until(lambda: running.alive and value(scraped(address), "skipped_total", **labels) == 1, "the bad record")
            wait_until(lambda: running.alive and value(scraped(address), "lag", **labels) == 0, "no lag")
            series = scraped(address)
            exposed = {metric for metric in METRICS if not of_others(metric)}
            assert {name for name, _ in series} == {name for metric in exposed for name in metric.series}
            assert value(series, "read_total", **labels) == 7
            assert value(series, "dead_letters_total", **labels) == len(sink.messages(letters)) == 1
            assert value(series, "run_state", connector=sink.name, state=RUNNING) == 1
            assert value(series, "run_info", run_id=running.run_id, direction="sink", run_mode="continuous") == 1
            assert value(series, "events_total", event=str(OBJECT_NOT_BUILT.id), severity="error") == 1
            for name in ("latency", "batch", "commit", "put"):
                count = value(series, f"{name}_seconds_count", connector=sink.name)
                assert count, name
                assert value(series, f"{name}_seconds_bucket", connector=sink.name, le="+Inf") == count
                assert (value(series, f"{name}_seconds_sum", connector=sink.name) or 0) > 0, name
            assert value(series, "retries_total", operation="attempt") == 0
            sink.send([trade(number) for number in range(6, 9)])
            wait_until(lambda: running.alive and value(scraped(address), "records_total", **labels) == 9, "nine entries")
            assert_scraped_and_judged(prometheus, sink)
    with pytest.raises(OSError, match="refused"):
        scraped(address)


def assert_scraped_and_judged(prometheus: Prometheus, sink: Sink) -> None:
    """Assert that Prometheus has every series of the run, and evaluates each rule and each panel's expression."""
    assert "SUCCESS" in check_rules(RULES)
    selector = f'{{connector="{sink.name}"}}'
    wait_until(
        lambda: [float(found["value"][1]) for found in prometheus.series(f"ignite_kafka_records_total{selector}")] == [9.0], "a scrape"
    )
    for metric in METRICS:
        for name in metric.series:
            assert bool(prometheus.series(name + selector)) != of_others(metric), name
    wait_until(lambda: {rule["health"] for rule in prometheus.rules()} == {"ok"}, "each rule evaluated")
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            prometheus.series(target["expr"].replace("$connector", ".*").replace("$__rate_interval", "1m"))


@pytest.fixture
def stream(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))
    ignite.destroy_caches(made.stem)


def test_a_stream_has_its_lag_by_cache_the_age_of_its_changes_and_each_node_s_backlog(
    stream: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While it is paused, its changes wait; a cache that is made again begins anew."""
    monkeypatch.setattr(stream_run, "CHECK_S", 0.2)
    caplog.set_level(logging.INFO)
    stream.put("a", {key: f"v{key}" for key in range(20)})
    with stream.running(metrics_port=0, progress_interval_ms=200, heartbeat_interval_ms=100) as running:
        address = endpoint(caplog)
        labels = {"connector": stream.stem, "cache": f"{stream.stem}-a", "topic": f"{stream.stem}-a"}
        await_that(lambda: value(scraped(address), "records_total", **labels) == 20, "the initial data", running)
        await_that(lambda: value(scraped(address), "lag", **labels) == 0, "no lag", running)
        assert value(scraped(address), "oldest_change_age_seconds", **labels) == 0
        assert not value(scraped(address), "latency_seconds_count"), "entries that were loaded are no changes, nor are heartbeats"
        await_that(lambda: (value(scraped(address), "heartbeat_latency_seconds_count") or 0) >= 3, "heartbeats", running)
        assert (value(scraped(address), "heartbeat_timestamp_seconds", connector=stream.stem) or 0) > time.time() - DEADLINE_S
        assert {labels["cache"] for labels in labels_of(scraped(address), "lag")} == {f"{stream.stem}-a"}
        with stream.ignite.client() as client:  # the driver creates the cache of heartbeats again, and captures the new one
            (beats,) = [name for name in client.get_cache_names() if name.endswith(f"heartbeats:{stream.stem}")]
            client.get_cache(beats).destroy()
        destroyed_s = time.time()
        newest = "heartbeat_timestamp_seconds"
        await_that(lambda: (value(scraped(address), newest, connector=stream.stem) or 0) > destroyed_s, "later heartbeats", running)
        stream.ask(PAUSED)
        await_that(lambda: value(scraped(address), "run_state", state=PAUSED) == 1, "the pause", running)
        stream.put("a", {key: f"w{key}" for key in range(50)})
        await_that(lambda: value(scraped(address), "lag", **labels) == 50, "fifty changes that wait", running)
        await_that(lambda: (value(scraped(address), "oldest_change_age_seconds", **labels) or 0) > 0.5, "their age", running)
        assert 0 < (value(scraped(address), "backlog_fill_ratio", connector=stream.stem) or 0) < 1
        await_that(lambda: value(scraped(address), "backlog_buffered", connector=stream.stem) == 0, "an empty buffer", running)
        stream.ask(RUNNING)
        await_that(lambda: value(scraped(address), "records_total", **labels) == 70, "all changes", running)
        await_that(lambda: value(scraped(address), "lag", **labels) == 0, "no lag", running)
        await_that(lambda: value(scraped(address), "latency_seconds_count", connector=stream.stem) == 50, "their latencies", running)
        series = scraped(address)
        exposed = [metric for metric in METRICS if metric not in OF_ACTIVE_ACTIVE]
        assert {name for name, _ in series} == {name for metric in exposed for name in metric.series}
        assert (value(series, "latency_seconds_sum", connector=stream.stem) or 0) > 50 * 0.5, "the pause is in them"
        assert value(series, "commit_seconds_count", connector=stream.stem)
        assert value(series, "oldest_change_age_seconds", **labels) == 0
        stream.destroy("a")
        stream.put("a", {key: f"x{key}" for key in range(5)})
        await_that(lambda: (value(scraped(address), "records_total", **labels) or 0) >= 75, "the cache that was made again", running)
        await_that(lambda: value(scraped(address), "lag", **labels) == 0, "no lag", running)
    ended = running.status(stream)
    assert ended is not None
    assert ended.caches.keys() == {f"{stream.stem}-a"}
    with stream.ignite.client() as client:
        assert [name for name in client.get_cache_names() if "heartbeats" in name] != []
        backlog.cleanup(stream.settings, Secrets(), force=False)
        assert [name for name in client.get_cache_names() if "heartbeats" in name] == []


def test_a_port_that_is_taken_ends_the_run_before_it_moves_anything(sink: Sink) -> None:
    sink.send([trade(1)])
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(PortTaken):
            sink.run(metrics_port=other.getsockname()[1])
    (ended,) = read_runs(sink.clients, sink.settings.internal_topic_prefix, sink.name).values()
    assert ended.state == FAILED
    assert ended.generation == 0
    assert ended.error is not None
    assert ended.error["type"] == "PortTaken"
    with sink.ignite.client() as client:
        assert sink.cache not in client.get_cache_names()
