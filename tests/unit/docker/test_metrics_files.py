"""The Grafana dashboard and the alert rules use metrics and labels that the table has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ignite_kafka.metrics.samples import STATES
from ignite_kafka.metrics.table import METRICS, PREFIX

DOCKER = Path(__file__).parents[3] / "docker"
DASHBOARD = json.loads((DOCKER / "grafana-dashboard.json").read_text())
RULES = [rule for group in yaml.safe_load((DOCKER / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
NAMES = {series: metric for metric in METRICS for series in metric.series}
OF_TARGETS = {"instance", "job", "le"}  # labels that Prometheus adds, and that of buckets
FUNCTIONS = {
    "histogram_quantile",
    "time",
    "rate",
    "increase",
    "deriv",
    "max",
    "sum",
    "max_over_time",
    "last_over_time",
    "label_values",
    "by",
    "on",
}


def _expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in RULES)
    yield from (target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])
    yield from (variable["definition"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query")


EXPRESSIONS = list(_expressions())


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_metrics_and_labels_are_those_of_the_table(expression: str) -> None:
    names = set(re.findall(rf"{PREFIX}_\w+", expression))
    assert names
    assert names <= NAMES.keys()
    for name, selector in re.findall(rf"({PREFIX}_\w+)\{{([^}}]*)\}}", expression):
        assert set(re.findall(r"(\w+)\s*(?:=|!)", selector)) <= set(NAMES[name].labels), selector
    labels = {label for name in names for label in NAMES[name].labels} | OF_TARGETS
    for grouping in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression):
        assert {label.strip() for label in grouping.split(",")} <= labels, grouping
    for states in re.findall(r'\bstate=~?"([^"]+)"', expression):
        assert set(states.split("|")) <= set(STATES)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_counters_alone_are_given_to_functions_of_counters_and_brackets_close(expression: str) -> None:
    for function, name in re.findall(rf"(\w+)\(({PREFIX}_\w+)", expression):
        if function in ("rate", "increase"):
            assert NAMES[name].kind in ("counter", "histogram"), expression
        elif function in ("deriv", "max_over_time", "last_over_time"):
            assert NAMES[name].kind != "counter", expression
    assert set(re.findall(r"(\w+)\s*\(", expression)) - {"and", "unless"} <= FUNCTIONS
    assert [expression.count(left) - expression.count(right) for left, right in ("()", "{}", "[]")] == [0, 0, 0]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_rule_says_what_happened_and_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert set(rule["annotations"]) == {"summary", "description"}
    labels = {label for name in re.findall(rf"{PREFIX}_\w+", rule["expr"]) for label in NAMES[name].labels}
    assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= labels


def test_the_rules_cover_what_ends_or_delays_a_copy() -> None:
    alerts = {rule["alert"].removeprefix("IgniteKafka") for rule in RULES}
    assert alerts >= {
        "LagGrows",
        "ChangesOld",
        "NoProgress",
        "RunFailed",
        "RunFenced",
        "RunGone",
        "RecordsSkipped",
        "DeadLetters",
        "BacklogFull",
    }


def test_panels_have_places_of_their_own() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
