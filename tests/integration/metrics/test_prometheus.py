"""Metrics of a real run, scraped while it copies, and a port that is taken."""

from __future__ import annotations

import logging
import re
import socket
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from ignite_kafka.errors import PortTaken
from ignite_kafka.events import OBJECT_NOT_BUILT
from ignite_kafka.metrics.table import METRICS
from ignite_kafka.sink import run
from ignite_kafka.state.status import FAILED, RUNNING, read_runs
from tests.support.sink_connector import Running, Sink, trade
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker

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


def test_a_run_exposes_every_metric_while_it_copies(sink: Sink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(run, "CHECK_S", 0.2)
    caplog.set_level(logging.INFO)
    sink.send([trade(number) for number in range(6)])
    sink.send([(b"7", b'{"id":')], partition=0)
    changed: dict[str, Any] = {"metrics_port": 0, "progress_interval_ms": 200, "error_handling_policy": "LOG_ONLY"}
    with Running(sink, **changed) as running:
        wait_until(lambda: running.alive and "metrics for Prometheus" in caplog.text, "the endpoint")
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+/metrics", caplog.text)
        labels = {"connector": sink.name, "cache": sink.cache, "topic": sink.topic}
        wait_until(lambda: running.alive and value(scraped(address), "records_total", **labels) == 6, "six entries")
        wait_until(lambda: running.alive and value(scraped(address), "skipped_total", **labels) == 1, "the bad record")
        wait_until(lambda: running.alive and value(scraped(address), "lag", **labels) == 0, "no lag")
        series = scraped(address)
        assert {name for name, _ in series} == {metric.name for metric in METRICS}
        assert value(series, "read_total", **labels) == 7
        assert value(series, "run_state", connector=sink.name, state=RUNNING) == 1
        assert value(series, "run_info", run_id=running.run_id, direction="sink", run_mode="continuous") == 1
        assert value(series, "events_total", event=str(OBJECT_NOT_BUILT.id), severity="error") == 1
        sink.send([trade(number) for number in range(6, 9)])
        wait_until(lambda: running.alive and value(scraped(address), "records_total", **labels) == 9, "nine entries")
    with pytest.raises(OSError, match="refused"):
        scraped(address)


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
