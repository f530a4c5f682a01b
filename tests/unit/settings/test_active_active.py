"""Settings of active-active connectors: each one that would keep a change from a cluster, or alter it, is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.events import DELIVERY_CONVERGES
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.planning import cache_names

BINARY = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}
SOURCE: dict[str, Any] = {"name": "a", "active_active": True, "failover_policy": "BACKLOG", "process_removals": True, **BINARY}
SINK: dict[str, Any] = {"name": "b", "topics": "t", "active_active": True, "process_updates": True, **BINARY}


def test_what_both_sides_need_is_accepted() -> None:
    assert SourceSettings.from_dict({**SOURCE, "forward_foreign_changes": True, "run_mode": "continuous"}).active_active
    sink = SinkSettings.from_dict(SINK)
    assert sink.active_active
    assert DELIVERY_CONVERGES not in [event for event, _ in sink.warnings()], "a late put is refused by the nodes"


@pytest.mark.parametrize(
    ("settings", "change", "named"),
    [
        (SOURCE, {"failover_policy": "FULL_SNAPSHOT"}, "failover_policy .*BACKLOG"),
        (SOURCE, {"process_removals": False}, "process_removals .*true"),
        (SOURCE, {"value_converter": "json"}, "value_converter .*ignite-binary"),
        (SOURCE, {"where": "a > 1"}, "where .*Leave it out"),
        (SOURCE, {"filter": "m:f"}, "filter .*Leave it out"),
        (SOURCE, {"overrides": {"x": {"key_converter": "json"}}}, "key_converter .*ignite-binary"),
        (SOURCE, {"active_active": False, "forward_foreign_changes": True}, "forward_foreign_changes .*active_active"),
        (SOURCE, {"topic_config": {"cleanup.policy": "compact,delete"}}, "topic_config .*compaction"),
        (SOURCE, {"topic_creation_groups": {"g": {"include": [".*"], "cleanup.policy": "compact"}}}, "topic_creation_groups .*compaction"),
        (SINK, {"process_updates": False}, "process_updates .*true"),
        (SINK, {"key_converter": "json"}, "key_converter .*ignite-binary"),
        (SINK, {"key_policy": "kafka"}, "key_policy .*key"),
        (SINK, {"where": "a > 1"}, "where .*Leave it out"),
        (SINK, {"delivery": "strict"}, "delivery .*nodes refuse it anyway"),
    ],
)
def test_what_would_make_clusters_differ_is_refused(settings: dict[str, Any], change: dict[str, Any], named: str) -> None:
    kind = SinkSettings if settings is SINK else SourceSettings
    with pytest.raises(SettingsError, match=named):
        kind.from_dict({**settings, **change})


def test_one_cache_may_have_the_topics_of_several_clusters() -> None:
    both = {**SINK, "topics": "a-x,c-x", "cache_names": {"[ac]-(.*)": "$1"}}
    assert cache_names(["a-x", "c-x"], SinkSettings.from_dict(both)) == {"a-x": "x", "c-x": "x"}
    with pytest.raises(SettingsError, match="go to one cache"):
        cache_names(["a-x", "c-x"], SinkSettings.from_dict({**both, "active_active": False}))
