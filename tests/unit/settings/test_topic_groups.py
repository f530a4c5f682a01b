"""Groups of new topics; what Kafka Connect makes of the same is in tests/integration/settings/test_topic_groups.py."""

from __future__ import annotations

import re

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.topic_groups import NewTopicSettings


def settings(groups: object, **values: object) -> SourceSettings:
    return SourceSettings.from_dict({"name": "c", "topic_creation_groups": groups, **values})


def test_the_first_group_that_matches_decides() -> None:
    groups = {
        "compacted": {"include": "a.*,z", "exclude": ["ab.*"], "partitions": "7", "cleanup.policy": "compact", "retention.ms": 5},
        "rest": {"include": [".*"], "exclude": ["x"], "replication.factor": 2},
    }
    chosen = settings(groups, topic_partitions=3, topic_config={"retention.ms": "9"})
    compacted = NewTopicSettings(7, -1, {"cleanup.policy": "compact", "retention.ms": "5"})
    assert {name: chosen.new_topic(name) for name in ("a", "a1", "z")} == dict.fromkeys(("a", "a1", "z"), compacted)
    assert chosen.new_topic("ab1") == chosen.new_topic("za") == NewTopicSettings(3, 2, {})
    assert chosen.new_topic("x") == NewTopicSettings(3, -1, {"retention.ms": "9"})
    assert SourceSettings.from_dict(chosen.to_dict()) == chosen


def test_a_group_without_include_matches_no_topic_and_is_reported() -> None:
    chosen = settings({"a": {"partitions": 2}})
    assert chosen.new_topic("") == chosen.new_topic("a") == NewTopicSettings(-1, -1, {})
    reasons = [fields["reason"] for _, fields in chosen.warnings()]
    assert "group a of topic_creation_groups has no include and matches no topic" in reasons


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({"a": {"include": "(x"}}, "it holds no regular expression: '(x'"),
        ({"a": {"include": "x", "exclude": ["*"]}}, "it holds no regular expression: '*'"),
        ({"a": {"include": "x", "partitions": 0}}, "partitions of group 'a': it is out of range; allowed is a whole number from 1"),
        ({"a": {"include": "x", "replication.factor": "many"}}, "replication.factor of group 'a': it is not a whole number"),
        ({"a": {"includes": "x"}}, "group 'a' has no includes: did you mean include?"),
        ({"a": {"replication_factor": 2}}, "group 'a' has no replication_factor: did you mean replication.factor?"),
        ({"a": {"include": "x", "cleanup.policy": ["compact"]}}, "it is not a mapping of names to texts"),
        ({"default": {"partitions": 2}}, "the group 'default' is given by topic_partitions"),
        ({"a": "x"}, "it is not a mapping of groups to mappings"),
        ("a,b", "the text is not JSON"),
    ],
)
def test_a_wrong_group_is_named(groups: object, reason: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(reason)) as caught:
        settings(groups)
    assert caught.value.where["setting"] == "topic_creation_groups"
