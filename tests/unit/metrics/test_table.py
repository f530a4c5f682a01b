"""The table of metrics follows the naming rules of Prometheus."""

from __future__ import annotations

import re

import pytest

from ignite_kafka.metrics.table import METRICS, Metric

UNITS = {"seconds": "_seconds", "bytes": "_bytes"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_follow_the_rules_of_prometheus(metric: Metric) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", metric.name)
    assert not metric.short_name.endswith("_total")
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    for unit, end in UNITS.items():
        assert (metric.unit == unit) == metric.name.removesuffix("_total").endswith(end)
    assert not re.search(r"milli|kilo|minute|(^|_)(ms|kb)($|_)", metric.name)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_labels_and_meanings_are_complete(metric: Metric) -> None:
    assert metric.labels[0] == "connector"
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", label) for label in metric.labels)
    assert ("state" in metric.labels) == (metric.kind == "enum")
    assert metric.meaning[0].isupper()
    assert not metric.meaning.endswith(".")


def test_each_metric_is_there_once() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_names_in_airflow_stay() -> None:
    """Dashboards use them."""
    names = {metric.dotted_name for metric in METRICS if metric.in_airflow}
    assert names == {f"ignite_kafka.{name}" for name in ("records", "bytes", "skipped", "dead_letters", "events", "lag")}
