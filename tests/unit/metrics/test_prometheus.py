"""The Prometheus endpoint, scraped over HTTP and parsed by prometheus_client's parser."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import urllib.request
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from ignite_kafka.common.measurements import BOUNDS_S, COMMIT, Histogram, Measurements
from ignite_kafka.errors import PortTaken, SettingsError
from ignite_kafka.metrics import table
from ignite_kafka.metrics.prometheus import metrics_endpoint, registry_of
from ignite_kafka.metrics.samples import NodeBacklog, RunMetrics, Sample
from ignite_kafka.metrics.table import METRICS
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import FAILED, RUNNING, CacheStatus, RunStatus, Waiting

CACHE = CacheStatus("t-flights", 8, 10, 1_000, 4, 3, 1.5, bad=2, filtered=1)
STATUS = RunStatus(RUNNING, "c", "r1", generation=7, started_ms=1_500, caches={"flights": CACHE}, events={"15100": 3})
ON = SourceSettings(name="c", metrics_port=0)


def metrics_of(status: RunStatus = STATUS) -> RunMetrics:
    metrics = RunMetrics(replace(status, caches={}), ON)
    metrics.update(status)
    metrics.update_waiting({"flights": Waiting(5, 1)}, [NodeBacklog("node-1", 3, 300, 0.25)])
    metrics.update_heartbeat(99.5)
    metrics.update_refused({"staff": 3}, {"staff": 2})
    metrics.update_measured(Measurements({COMMIT: Histogram((0, 2, *[0] * 12, 1), 400.015)}))
    return metrics


def parsed(text: str) -> dict[str, list[Any]]:
    return {family.name: family.samples for family in text_string_to_metric_families(text)}


def scraped(port: int, path: str = "metrics", accept: str = "") -> tuple[str, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_every_metric_of_the_table_appears_with_its_labels_and_meaning() -> None:
    text = generate_latest(registry_of(metrics_of().samples)).decode()
    samples = {sample.name: sample for family in parsed(text).values() for sample in family}
    assert samples.keys() == {name for metric in METRICS for name in metric.series}
    for metric in METRICS:
        for name in metric.series:
            assert set(samples[name].labels) - {"le"} == set(metric.labels)
        assert f"# HELP {metric.name} {metric.meaning}\n" in text
        assert f"# TYPE {metric.name} {'gauge' if metric.kind == 'enum' else metric.kind}\n" in text


def test_values_are_those_of_the_status() -> None:
    families = parsed(generate_latest(registry_of(metrics_of().samples)).decode())
    (records,) = families["ignite_kafka_records"]
    assert (records.labels, records.value) == ({"connector": "c", "cache": "flights", "topic": "t-flights"}, 10)
    (lag,) = families["ignite_kafka_lag"]
    assert (lag.labels, lag.value) == ({"connector": "c", "cache": "flights", "topic": "t-flights"}, 5)
    assert {sample.labels["state"] for sample in families["ignite_kafka_run_state"] if sample.value} == {RUNNING}


def test_buckets_of_a_histogram_count_what_is_at_most_their_bound() -> None:
    samples = parsed(generate_latest(registry_of(metrics_of().samples)).decode())["ignite_kafka_commit_seconds"]
    buckets = {sample.labels["le"]: sample.value for sample in samples if sample.name.endswith("_bucket")}
    assert [*buckets] == [*map(str, BOUNDS_S), "+Inf"]
    assert [*buckets.values()] == [0, *[2] * 13, 3]
    assert {sample.name: sample.value for sample in samples if not sample.name.endswith("_bucket")} == {
        "ignite_kafka_commit_seconds_count": 3, "ignite_kafka_commit_seconds_sum": 400.015,
    }  # fmt: skip


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\\nb", "größe ✈", 'x"} 1\nevil{y="', "a,b={}", " a "])
def test_names_of_caches_and_topics_are_escaped(name: str) -> None:
    status = replace(STATUS, caches={name: replace(CACHE, topic=name)})
    (sample,) = parsed(generate_latest(registry_of(metrics_of(status).samples)).decode())["ignite_kafka_records"]
    assert (sample.labels["cache"], sample.labels["topic"], sample.value) == (name, name, 10)


def test_a_name_that_utf_8_cannot_hold_ends_no_scrape() -> None:
    status = replace(STATUS, caches={"a\ud800b": CACHE})
    (sample,) = parsed(generate_latest(registry_of(metrics_of(status).samples)).decode())["ignite_kafka_records"]
    assert sample.labels["cache"] == "a?b"


def test_the_endpoint_is_scraped_while_the_context_is_open(caplog: pytest.LogCaptureFixture) -> None:
    metrics = metrics_of()
    with caplog.at_level(logging.INFO), metrics_endpoint(ON, metrics.samples) as port:
        assert port
        assert f"http://127.0.0.1:{port}/metrics" in caplog.text
        kind, text = scraped(port)
        assert kind.startswith("text/plain")
        assert parsed(text)["ignite_kafka_records"][0].value == 10
        metrics.update(replace(STATUS, state=FAILED, caches={"flights": replace(CACHE, records=11)}))
        _, text = scraped(port)
        assert parsed(text)["ignite_kafka_records"][0].value == 11
        kind, text = scraped(port, accept="application/openmetrics-text; version=1.0.0")
        assert kind.startswith("application/openmetrics-text")
        assert {family.name for family in openmetrics_families(text)} == {metric.name.removesuffix("_total") for metric in METRICS}
    with pytest.raises(OSError):
        scraped(port)
    assert not [thread for thread in threading.enumerate() if "serve_forever" in thread.name]


def test_a_client_that_sends_nothing_delays_neither_scrapes_nor_the_end() -> None:
    with metrics_endpoint(ON, metrics_of().samples) as port:
        assert port
        with socket.create_connection(("127.0.0.1", port), timeout=30):
            assert scraped(port)[1]


def test_two_endpoints_of_one_process_share_nothing() -> None:
    other = metrics_of(replace(STATUS, connector="d"))
    with metrics_endpoint(ON, metrics_of().samples) as first, metrics_endpoint(ON, other.samples) as second:
        assert first is not None
        assert second is not None
        assert 'connector="d"' not in scraped(first)[1]
        assert 'connector="c"' not in scraped(second)[1]


def test_an_endpoint_listens_on_loopback_alone() -> None:
    with metrics_endpoint(ON, metrics_of().samples) as port, socket.socket() as other:
        other.bind(("127.0.0.2", port))


def test_without_a_port_nothing_listens_and_the_library_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with metrics_endpoint(SourceSettings(name="c"), _refuse) as port:
        assert port is None


def test_a_port_that_is_taken_is_an_error_that_a_retry_may_cure() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"metrics_port, value {taken}, host 127\.0\.0\.1") as caught:
            metrics_endpoint(replace(ON, metrics_port=taken), _refuse).__enter__()
    assert not caught.value.final
    assert "0 for any free one" in str(caught.value)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_of_another_host_is_a_wrong_setting(host: str) -> None:
    with pytest.raises(SettingsError, match=r"the metrics endpoint cannot listen.*metrics_host") as caught:
        metrics_endpoint(replace(ON, metrics_host=host), _refuse).__enter__()
    assert caught.value.where["value"] == host


def test_a_sample_has_the_labels_of_its_metric() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        generate_latest(registry_of(lambda: [Sample(table.RECORDS, ("c",), 1)]))


def _refuse() -> Iterable[Sample]:
    raise AssertionError
