"""Chains that settings describe: what is checked without a cluster, topics by routers, and which sides transforms touch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka import transform_function
from ignite_kafka.convert import check_transforms
from ignite_kafka.convert.transforms.steps import (
    asks_for_tombstones,
    example_topics,
    make_steps,
    reads_headers,
    routed_topic,
    routed_topics,
    routes_records,
)
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.name_rules import NamedBy
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.transforms import chain_of, touches

KAFKA = "org.apache.kafka.connect.transforms."
Config = dict[str, dict[str, str]]
ROUTE = {"type": f"{KAFKA}RegexRouter", "regex": "(.*)", "replacement": "$1-v2"}
TOMBSTONE = {"type": f"{KAFKA}predicates.RecordIsTombstone"}


def values(transforms: Config, predicates: Config | None = None) -> dict[str, Any]:
    more = {"predicates": list(predicates), "predicate_config": predicates} if predicates else {}
    return {"name": "c", "transforms": list(transforms), "transform_config": transforms, **more}


def source(transforms: Config, predicates: Config | None = None, **more: Any) -> SourceSettings:
    return SourceSettings.from_dict({**values(transforms, predicates), **more})


def sink(transforms: Config, predicates: Config | None = None, **more: Any) -> SinkSettings:
    return SinkSettings.from_dict({**values(transforms, predicates), "topics": "t", **more})


def test_steps_are_in_order_with_their_predicates() -> None:
    steps = make_steps(source({"b": {**ROUTE, "predicate": "p", "negate": "true"}, "a": {"type": "Filter"}}, {"p": TOMBSTONE}))
    assert [(step.alias, step.negate, step.predicate is None) for step in steps] == [("b", True, False), ("a", False, True)]
    assert make_steps(source({})) == ()


def test_all_findings_of_all_overrides_come_at_once_and_name_property_and_place() -> None:
    config = {
        "a": {"type": f"{KAFKA}MaskFeild$Value", "fields": "x"},
        "b": {"type": f"{KAFKA}MaskField$Value", "feilds": "x"},
        "c": {"type": "no.such.module:function"},
    }
    settings = source(
        config,
        {"p": {"type": f"{KAFKA}predicates.HasHeaderKey"}},
        overrides={"x": {"transforms": "d", "transform_config": {"d": {"type": "Nope"}}}},
    )
    with pytest.raises(SettingsError) as caught:
        check_transforms(settings)
    found = {str(error.where["setting"]): error for error in caught.value.findings}
    assert set(found) == {"transforms.a.type", "transforms.b.feilds", "transforms.c", "predicates.p.name", "transforms.d.type"}
    assert "Did you mean MaskField$Value" in str(found["transforms.a.type"])
    assert "Did you mean fields" in str(found["transforms.b.feilds"])
    assert found["transforms.b.feilds"].where["set_in"] == "settings"


def test_the_topic_of_a_cache_is_that_of_its_routers() -> None:
    by_topic = {"type": f"{KAFKA}predicates.TopicNameMatches", "pattern": "keep.*"}
    settings = source(
        {"route": {**ROUTE, "predicate": "keep", "negate": "true"}, "mask": {"type": f"{KAFKA}MaskField$Value", "fields": "x"}},
        {"keep": by_topic},
        topic_prefix="k-",
        overrides={"a": {"topic": "keeper"}, "b": {"transforms": []}},
    )
    check_transforms(settings)
    topic_of = routed_topics(settings)
    assert [topic_of(cache).name for cache in ("a", "b", "c")] == ["keeper", "k-b", "k-c-v2"]
    assert topic_of("c").rule == "topic_prefix and RegexRouter"


DAY = {"type": f"{KAFKA}TimestampRouter"}


@pytest.mark.parametrize(
    ("config", "predicates", "by"),
    [({"day": DAY}, {}, "their times"), ({"route": {**ROUTE, "predicate": "p"}}, {"p": TOMBSTONE}, "predicate p")],
)
def test_topics_by_record_are_refused_for_a_stream_that_sends_removals(config: Config, predicates: Config, by: str) -> None:
    timed = {"record_timestamp_field": "at", "run_mode": "continuous", "failover_policy": "BACKLOG"}
    with pytest.raises(SettingsError, match=f"would go to several topics, by {by}: .* Set process_removals to false") as caught:
        check_transforms(source(config, predicates, **timed, process_removals=True))
    assert caught.value.where["setting"] == f"transforms.{next(iter(config))}.type"
    for settings in (source(config, predicates, **timed), sink(config, predicates)):
        check_transforms(settings)
        assert routes_records(settings)


@transform_function
def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def test_a_source_without_times_has_no_topics_by_time() -> None:
    with pytest.raises(SettingsError, match=r"no time by which it could route them .*\. Set record_timestamp_field"):
        check_transforms(source({"day": DAY}))
    check_transforms(source({"own": {"type": f"{__name__}:same"}, "day": DAY}))


def test_an_example_of_topics_by_record() -> None:
    settings = source({"route": {**ROUTE, "predicate": "p"}, "day": DAY}, {"p": TOMBSTONE}, topic_prefix="k-", record_timestamp_field="at")
    assert routed_topics(settings)("c").name == "k-c"
    assert example_topics(settings)("c") == NamedBy("k-c-v2-19700101", "topic_prefix and routers")


def test_a_sink_s_topic_is_routed_at_plan_time_where_it_does_not_depend_on_the_record() -> None:
    settings = sink({"route": ROUTE, "mask": {"type": f"{KAFKA}MaskField$Value", "fields": "x"}})
    assert not routes_records(settings)
    assert routed_topic(settings, "t") == "t-v2"
    assert routed_topic(sink({}), "t") == "t"


@pytest.mark.parametrize(
    ("kind", "key", "value", "headers"),
    [
        ("MaskField$Value", False, True, False), ("Cast$Key", True, False, False), ("ValueToKey", True, True, False),
        ("RegexRouter", False, False, False), ("TimestampRouter", False, False, False), ("Filter", False, False, False),
        ("InsertHeader", False, False, True), ("DropHeaders", False, False, True), ("HeaderFrom$Key", True, False, True),
        ("acme.rules:clean", True, True, True),
    ],
)  # fmt: skip
def test_the_sides_that_a_transform_touches(kind: str, key: bool, value: bool, headers: bool) -> None:
    for package in ("", KAFKA):
        chain = chain_of(source({"a": {"type": package * (":" not in kind) + kind}}))
        assert (touches(chain, "key"), touches(chain, "value"), reads_headers(chain)) == (key, value, headers)
    assert not asks_for_tombstones(chain)


def test_predicates_ask_for_values_and_headers() -> None:
    chain = chain_of(source({"a": {"type": "Filter", "predicate": "p"}}, {"p": TOMBSTONE}))
    assert asks_for_tombstones(chain)
    assert not reads_headers(chain)
    chain = chain_of(source({"a": {"type": "Filter", "predicate": "p"}}, {"p": {"type": "HasHeaderKey", "name": "h"}}))
    assert reads_headers(chain)


@pytest.mark.parametrize("by_predicate", [True, False])
def test_an_expression_that_takes_too_many_steps_with_a_topic_is_refused_at_plan_time(by_predicate: bool, few_visits: None) -> None:
    heavy, topic = "((?:(?!.*a{0,500}x).)*)", "a" * 249
    config = {"route": {**ROUTE, **({"predicate": "p"} if by_predicate else {"regex": heavy})}}
    predicates = {"p": {"type": f"{KAFKA}predicates.TopicNameMatches", "pattern": heavy}} if by_predicate else None
    with pytest.raises(SettingsError, match=r"cannot be routed: expression .* takes more than") as caught:
        routed_topics(source(config, predicates, overrides={"c": {"topic": topic}}))("c")
    assert caught.value.where["setting"] == "transforms.route"
    with pytest.raises(SettingsError, match="cannot be routed"):
        routed_topic(sink(config, predicates), topic)
