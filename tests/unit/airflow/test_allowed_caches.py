"""No form and no other task widens the author's list of caches."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ignite_kafka.allowed_caches import check_allowed_caches
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.unit.airflow.bench import Bench, context, operator, rendered, sink

ALLOWED = ["flights.*", "air", r"a\.b"]
KAFKA = "org.apache.kafka.connect.transforms."
TO_SALARIES = {"type": f"{KAFKA}RegexRouter", "regex": ".*", "replacement": "salaries"}


def transforms(config: dict[str, str]) -> dict[str, Any]:
    """Settings with one transform."""
    return {"transforms": ["t"], "transform_config": {"t": config}}


@pytest.mark.parametrize("caches", [["flights.*"], ["flights-2024", "flights"], ["air"], [r"a\.b"]])
def test_listed_expressions_and_plain_names_are_allowed(caches: list[str]) -> None:
    check_allowed_caches(SourceSettings.from_dict({"name": "c", "cache_whitelist": caches}), ALLOWED)


@pytest.mark.parametrize("caches", [[".*"], ["flights", "salaries"], ["flights.+"], ["a.b"], ["flights|salaries"], ["air "], ["Air"]])
def test_other_caches_and_expressions_are_refused(caches: list[str]) -> None:
    with pytest.raises(SettingsError, match="caches that the Dag does not allow") as refused:
        check_allowed_caches(SourceSettings.from_dict({"name": "c", "cache_whitelist": caches}), ALLOWED)
    assert refused.value.where["value"] == caches[-1]
    assert refused.value.where["allowed_caches"] == ALLOWED


def test_all_caches_are_refused() -> None:
    with pytest.raises(SettingsError, match="all caches would be copied"):
        check_allowed_caches(SourceSettings.from_dict({"name": "c"}), ALLOWED)


@pytest.mark.parametrize(
    "settings",
    [
        {"topics": ["t-air"], "topic_prefix": "t-"},
        {"topics": ["t-2024"], "topic_prefix": "t-", "cache_prefix": "flights-"},
        {"topics": ["x"], "cache_names": {"x": "flights"}},
        {"topics": ["x"], "overrides": {"x": {"cache": "air"}}},
        {"topics": ["x"], **transforms({"type": f"{KAFKA}RegexRouter", "regex": "x", "replacement": "air"})},
        {"topics": ["air"], **transforms({"type": f"{KAFKA}InsertField$Value", "topic.field": "salaries"})},
    ],
)
def test_a_sink_writes_to_allowed_caches(settings: dict[str, Any]) -> None:
    check_allowed_caches(SinkSettings.from_dict({"name": "c", **settings}), ALLOWED)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topics": ["t-air", "t-salaries"], "topic_prefix": "t-"}, "topic t-salaries would be stored in a cache .*value salaries"),
        ({"topics": ["t-air"], "topic_prefix": "t-", "cache_prefix": "x-"}, "value x-air"),
        ({"topics": ["air"], "cache_names": {"air": "salaries"}}, "value salaries"),
        ({"topics": ["air"], "overrides": {"air": {"cache": "salaries"}}}, "value salaries"),
        ({"topics_regex": "air"}, "topics_regex would reach is not known"),
        ({"topics": ["air"], **transforms(TO_SALARIES)}, "value salaries"),
        ({"topics": ["air"], "overrides": {"a.*": transforms(TO_SALARIES)}}, "value salaries"),
        ({"topics": ["t-air"], "topic_prefix": "t-", **transforms({**TO_SALARIES, "replacement": "t-salaries"})}, "value salaries"),
        ({"topics": ["air"], **transforms({"type": f"{KAFKA}TimestampRouter", "topic.format": "salaries"})}, "give each record .* another"),
        (
            {
                "topics": ["air"],
                **transforms({**TO_SALARIES, "predicate": "p"}),
                "predicates": ["p"],
                "predicate_config": {"p": {"type": f"{KAFKA}predicates.RecordIsTombstone"}},
            },
            "give each record .* another",
        ),
        ({"topics": ["air"], **transforms({"type": "no_such_module:any"})}, "give each record .* another"),
    ],
)
def test_a_sink_is_refused_other_caches(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        check_allowed_caches(SinkSettings.from_dict({"name": "c", **settings}), ALLOWED)


def test_an_expression_of_the_author_that_cannot_be_used_is_named() -> None:
    with pytest.raises(SettingsError, match="allowed_caches has an expression that cannot be used"):
        check_allowed_caches(SourceSettings.from_dict({"name": "c", "cache_whitelist": ["air"]}), ["("])


def test_the_worker_refuses_what_a_template_gave_before_anything_starts(bench: Bench) -> None:
    task = rendered(operator({"cache_whitelist": "{{ params.caches }}"}, allowed_caches=ALLOWED), cache_whitelist=["salaries"])
    with pytest.raises(AirflowFailException, match="caches that the Dag does not allow"):
        task.execute(context())
    with pytest.raises(AirflowFailException, match="would be stored in a cache"):
        sink(allowed_caches=["restored-.*"]).execute(context())
    assert not (bench.folder / "seen.json").exists()
    assert rendered(task, cache_whitelist=["air"]).execute(context())["state"] == "COMPLETED"


def test_lineage_names_no_column_of_another_cache(bench: Bench) -> None:
    with pytest.raises(SettingsError, match="does not allow"):
        operator({"cache_whitelist": ["salaries"]}, allowed_caches=ALLOWED).get_openlineage_facets_on_start()
