"""Plans of a sink: chosen topics, names of caches, configurations of new caches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ignite_kafka.errors import SettingsError, TopicError
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.kafka.topics import TopicState
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.caches import new_cache, query_entities
from ignite_kafka.sink.planning import cache_names, chosen_topics, make_plan, with_batch_bytes
from ignite_kafka.sink.run import planned_counts
from ignite_kafka.state.status import CacheStatus
from tests.support.fake_topics import described
from tests.support.sink_stores import KAFKA


def settings(**values: object) -> SinkSettings:
    return SinkSettings.from_dict({"name": "c", **({} if "topics_regex" in values else {"topics": "t"}), **values})


def test_listed_topics_must_exist() -> None:
    assert chosen_topics(settings(topics="b,a,b"), ["a", "b", "c"]) == ["a", "b"]
    with pytest.raises(TopicError, match="does not exist") as missing:
        chosen_topics(settings(topics="b,x"), ["a", "b"])
    assert missing.value.where["topic"] == "x"


def test_a_continuous_run_waits_for_listed_topics() -> None:
    continuous = settings(topics="b,x,a", run_mode="continuous")
    assert chosen_topics(continuous, ["a", "b", "c"]) == ["a", "b"]
    assert chosen_topics(continuous, ["x"]) == ["x"]
    assert chosen_topics(continuous, []) == []


def test_an_expression_matches_whole_names_but_no_internal_topics() -> None:
    existing = ["a1", "a2", "ba1", "ignite-kafka-configs", "ignite-kafka-offsets-c", "__consumer_offsets", "dead"]
    chosen = settings(topics_regex=".*", error_handling_policy="DEAD_LETTER", dead_letter_topic="dead")
    assert chosen_topics(chosen, existing) == ["a1", "a2", "ba1"]
    assert chosen_topics(settings(topics_regex=r"a\p{Digit}"), existing) == ["a1", "a2"]
    with pytest.raises(TopicError, match="no topic matches topics_regex 'x'"):
        chosen_topics(settings(topics_regex="x"), existing)
    assert chosen_topics(settings(topics_regex="x", run_mode="continuous"), existing) == []


def test_a_cache_is_named_by_its_topic() -> None:
    assert cache_names(["ignite-a", "b"], settings(cache_prefix="copy-")) == {"ignite-a": "copy-a", "b": "copy-b"}
    with pytest.raises(SettingsError, match=r"topics ignite-a \(by topic_prefix\) and a \(by topic_prefix\) go to one cache"):
        cache_names(["ignite-a", "a"], settings())
    with pytest.raises(SettingsError, match="leaves none for its cache"):
        cache_names(["ignite-"], settings())


def test_topics_share_a_cache_where_their_keys_cannot_be_equal() -> None:
    topics, shared = ["ignite-a", "a"], {"ignite-a": "a", "a": "a"}
    with pytest.raises(SettingsError, match="set shared_caches to disjoint_keys if no key is in both"):
        cache_names(topics, settings())
    assert cache_names(topics, settings(shared_caches="disjoint_keys")) == shared
    assert cache_names(topics, settings(order_field="at", delivery="strict", process_updates=True)) == shared
    by_place = {"key_policy": "kafka"}
    assert cache_names(topics, settings(**by_place)) == shared
    route = {"type": f"{KAFKA}RegexRouter", "regex": "ignite-a", "replacement": "a"}
    for overrides in ({"a": {"key_policy": "key"}}, {"ignite-a": {"transforms": "x", "transform_config": {"x": route}}}):
        with pytest.raises(SettingsError, match="go to one cache"):
            cache_names(topics, settings(**by_place, overrides=overrides))


def test_topics_whose_records_name_their_cache_are_refused_unless_their_keys_have_an_order() -> None:
    header = {"cache_header": "cache", "header_caches": "orders"}
    assert cache_names(["a"], settings(**header)) == {"a": "a"}
    with pytest.raises(SettingsError, match="2 topics may name the same cache by header cache") as refused:
        cache_names(iter(["a", "b"]), settings(**header))
    assert refused.value.where["topics"] == "a, b"
    assert cache_names(["a", "b"], settings(**header, shared_caches="disjoint_keys")) == {"a": "a", "b": "b"}


def test_the_counts_of_a_shared_cache_are_of_all_its_topics() -> None:
    plan = SinkPlan(
        "c", 3, 4, settings(), (TopicPlan("t", "id", "both", 5), TopicPlan("u", "id2", "both", 3), TopicPlan("v", "id3", "own", 1))
    )
    assert planned_counts(plan) == {"both": CacheStatus("t", units=8), "own": CacheStatus("v", units=1)}


def test_the_first_expression_that_matches_a_topic_names_its_cache() -> None:
    rules = {r"eu\.(.*)\.v\d": "$1-eu", r"(?<region>..)\.(?<what>.*)": "${what}_${region}", "x": "$1"}
    with pytest.raises(SettingsError, match="'x': it refers to group 1, and the expression has none") as wrong:
        settings(cache_names=rules)
    assert wrong.value.where["setting"] == "cache_names"
    chosen = settings(cache_names={**rules, "x": "y"}, cache_prefix="p-")
    topics = ["eu.orders.v2", "eu.orders", "us.orders", "ignite-other", "x"]
    assert list(cache_names(topics, chosen).values()) == ["orders-eu", "orders_eu", "orders_us", "p-other", "y"]
    with pytest.raises(SettingsError, match=r"topics eu.a \(by cache_names '\.\.\\\\.\(\.\*\)'\) and us.a .* go to one cache") as one:
        cache_names(["eu.a", "us.a"], settings(cache_names={r"..\.(.*)": "$1"}))
    assert one.value.where == {"cache": "a", "topic": "us.a"}
    with pytest.raises(SettingsError, match="leaves none for its cache") as empty:
        cache_names(["eu."], settings(cache_names={r"..\.(.*)": "$1"}))
    assert empty.value.where == {"topic": "eu.", "named_by": r"cache_names '..\\.(.*)'"}


def test_a_plan_survives_json_and_gives_each_partition_one_slot() -> None:
    plan = SinkPlan("c", 3, 4, settings(), (TopicPlan("t", "id", "cache", 5, (1, 2, 3, 4, 5), ()), TopicPlan("u", "id2", "other", 3)))
    assert SinkPlan.from_json(plan.to_json()) == plan
    places = list(plan.partitions(range(4)))
    assert sorted((topic.name, partition) for _, topic, partition in places) == [("t", n) for n in range(5)] + [("u", n) for n in range(3)]
    assert all(slot == slot_of(topic.name, partition, 4) for slot, topic, partition in places)
    with pytest.raises(SettingsError, match="a plan cannot be read"):
        SinkPlan.from_json(b'{"connector":"c"}')


def test_the_batch_limit_is_that_of_the_dead_letter_topic_if_known() -> None:
    plan = SinkPlan("c", 3, 4, settings(), ())
    assert with_batch_bytes(plan, {"dead": TopicState("dead", "id", 1, 20_000, "delete")}).max_batch_bytes == 20_000
    assert with_batch_bytes(plan, {"dead": TopicState("dead", "id", 1, None, None)}) == plan


TEMPLATE = CacheInfo("t", 1, backups=2, mode="REPLICATED", atomicity="TRANSACTIONAL", query_entities=(QueryEntity("K", "V"),))


def test_a_new_cache_follows_settings_then_template_then_cluster_defaults() -> None:
    assert new_cache("n", settings(), None) == CacheConfiguration("n")
    entities = TEMPLATE.query_entities
    like = CacheConfiguration("n", mode="REPLICATED", atomicity="TRANSACTIONAL", backups=2, query_entities=entities)
    assert new_cache("n", settings(), TEMPLATE) == like
    own = settings(cache_mode="PARTITIONED", cache_atomicity="ATOMIC", cache_backups=0, cache_region="r")
    assert new_cache("n", own, TEMPLATE) == CacheConfiguration("n", "PARTITIONED", "ATOMIC", 0, data_region="r", query_entities=entities)
    typed = settings(cache_value_type="org.acme.Trade", cache_fields={"id": "java.lang.Long"})
    entity = QueryEntity("java.lang.Object", "org.acme.Trade", table="Trade", fields=(QueryField("id", "java.lang.Long"),))
    assert new_cache("n", typed, TEMPLATE) == replace(like, query_entities=(entity,))


def test_several_key_fields_are_columns_of_the_key() -> None:
    fields = {"branch": "java.lang.Integer", "number": "java.lang.Long", "owner": "java.lang.String"}
    several = settings(cache_key_type="AccountKey", cache_value_type="Account", cache_fields=fields, key_fields="branch,number")
    assert [(one.name, one.is_key) for one in query_entities(several)[0].fields] == [("branch", True), ("number", True), ("owner", False)]
    one = replace(several, key_fields=("number",), cache_key_type="java.lang.Long")
    assert not any(field.is_key for field in query_entities(one)[0].fields)


ROUTER = {"type": "org.apache.kafka.connect.transforms.RegexRouter", "regex": "ignite-(.*)-v1", "replacement": "$1"}


def test_a_cache_is_named_by_the_topic_that_routers_make() -> None:
    chosen = settings(transforms="route", transform_config={"route": ROUTER}, cache_names={"b": "named"})
    assert cache_names(["ignite-a-v1", "ignite-b-v1", "ignite-c"], chosen) == {"ignite-a-v1": "a", "ignite-b-v1": "named", "ignite-c": "c"}
    with pytest.raises(SettingsError, match=r"topics ignite-a-v1 .* and a .* go to one cache"):
        cache_names(["ignite-a-v1", "a"], chosen)


def test_topics_whose_records_are_routed_by_time_have_no_cache_at_plan_time() -> None:
    day = {"type": "org.apache.kafka.connect.transforms.TimestampRouter"}
    chosen = settings(transforms="day", transform_config={"day": day}, overrides={"t": {"transforms": []}}, topics="s,t")
    topics = described({"s": {}, "t": {}})
    plan = make_plan(replace(chosen, run_mode="continuous"), topics, 4)
    assert [(topic.name, topic.routed) for topic in plan.topics] == [("s", True), ("t", False)]
    assert SinkPlan.from_json(plan.to_json()) == plan
