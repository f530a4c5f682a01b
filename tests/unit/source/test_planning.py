"""The topics of a plan by transforms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.planning import check_shared, routed_by_record, topic_of


def test_the_topic_of_a_plan_is_that_of_the_routers_and_the_chain_is_checked() -> None:
    package = "org.apache.kafka.connect.transforms."
    route = {"type": f"{package}RegexRouter", "regex": "(.*)", "replacement": "$1-v2"}
    settings = SourceSettings(name="c", transforms=("a",), transform_config={"a": route}, overrides={"plain": {"transforms": []}})
    assert [topic_of(settings)(cache).name for cache in ("flights", "plain")] == ["flights-v2", "plain"]
    wrong = replace(settings, transform_config={"a": {"type": f"{package}TimestampRouter"}})
    with pytest.raises(SettingsError, match="no time by which"):
        topic_of(wrong)


def test_caches_whose_records_have_topics_of_their_own() -> None:
    router = {"type": "org.apache.kafka.connect.transforms.TimestampRouter", "topic.format": "all"}
    settings = SourceSettings(
        name="c",
        transforms=("day",),
        transform_config={"day": router},
        record_timestamp_field="at",
        overrides={"plain": {"transforms": []}},
    )
    assert routed_by_record(settings, ["plain", "flights"]) == {"flights"}
    assert routed_by_record(SourceSettings(name="c"), ["flights"]) == set()
    with pytest.raises(SettingsError, match=r"flights \(by topic_prefix and routers\) and planes .* collide: they are one topic"):
        routed_by_record(settings, ["flights", "planes"])


def test_caches_that_share_a_topic_create_it_in_one_way() -> None:
    settings = SourceSettings(
        name="c", cache_header="cache", overrides={"orders": {"topic_partitions": 3}, "planes": {"topic_partitions": 3}}
    )
    topics = {"flights": "air", "orders": "shop", "planes": "shop", "wings": "air"}
    check_shared(settings, topics, ())
    with pytest.raises(SettingsError, match="flights and orders share a topic, and their overrides create it in two ways"):
        check_shared(settings, {**topics, "orders": "air"}, ())
    with pytest.raises(SettingsError, match="transforms give each record of flights a topic"):
        check_shared(settings, topics, {"flights"})
