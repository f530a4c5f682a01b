"""Settings of topics with several caches, whose name is in a header: what contradicts them is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.cache_header import described_name
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

SOURCE: dict[str, Any] = {"name": "c", "cache_header": "cache"}
SINK: dict[str, Any] = {"name": "c", "topics": "shop", "cache_header": "cache", "header_caches": "orders,returns"}
ROUTER = {"type": "org.apache.kafka.connect.transforms.RegexRouter", "regex": "shop", "replacement": "orders"}
ACTIVE = {"active_active": True, "key_converter": "ignite-binary", "value_converter": "ignite-binary"}


def test_the_header_of_both_sides_is_accepted() -> None:
    assert SourceSettings.from_dict(SOURCE).cache_header == SinkSettings.from_dict(SINK).cache_header == "cache"
    assert SourceSettings.from_dict({"name": "c"}).cache_header == ""
    assert SinkSettings.from_dict({**SINK, "cache_header": "ignite_cache", "transforms": "a", "transform_config": {"a": {
        "type": "org.apache.kafka.connect.transforms.InsertField$Value", "static.field": "x", "static.value": "y"}}}).transforms  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cache_header": "__connect.errors.topic"}, "have other uses"),
        ({"cache_header": "ignite_kafka.cache"}, "have other uses"),
        ({"topic_config": {"cleanup.policy": "compact,delete"}}, "compaction keeps one record"),
        ({"topic_creation_groups": {"a": {"include": [".*"], "cleanup.policy": "compact"}}}, "compaction keeps one record"),
        ({**ACTIVE, "process_removals": True, "failover_policy": "BACKLOG"}, "active_active is true"),
    ],
)
def test_a_source_refuses_what_would_lose_records(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        SourceSettings.from_dict({**SOURCE, **change})
    if "cache_header" not in change:
        SourceSettings.from_dict({"name": "c", **change})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"header_caches": ""}, "a record could write to any cache"),
        ({"cache_header": ""}, "cache_header is not set"),
        ({"cache_header": "__connect.errors.topic"}, "have other uses"),
        ({"header_caches": "a("}, "no regular expression"),
        ({"overrides": {"shop": {"cache": "orders"}}}, "a topic has a cache"),
        ({"transforms": "r", "transform_config": {"r": ROUTER}}, "r may change topics"),
        ({"overrides": {"shop": {"transforms": ["r"], "transform_config": {"r": ROUTER}}}}, "r may change topics"),
        ({"transforms": "own", "transform_config": {"own": {"type": "module:function"}}}, "own may change topics"),
        ({**ACTIVE, "process_updates": True}, "active_active is true"),
    ],
)
def test_a_sink_refuses_another_name_of_the_cache_and_headers_without_a_list(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        SinkSettings.from_dict({**SINK, **change})


def test_the_types_topic_describes_each_cache_of_a_topic() -> None:
    assert described_name("shop", "orders", "cache") == "shop/orders"
    assert described_name("shop", "orders", "") == "shop"
