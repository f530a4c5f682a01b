"""Settings of the reverse pair: other sides, other names, no circle, and the first pair again after two turns."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.java.patterns import matches_whole
from ignite_kafka.role_transitions.reverse_pair import check_lossless, check_no_circle, reverse_pair
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

SOURCE = SourceSettings.from_dict({
    "name": "staff-source", "ignite_addresses": "a1:10800", "bootstrap_servers": "broker:9092", "cache_whitelist": ["staff"],
    "topic_prefix": "staff-", "run_mode": "continuous", "process_removals": True, "failover_policy": "BACKLOG",
    "internal_topic_prefix": "in-a", "slots": 3, "metrics_port": 9000,
})  # fmt: skip
SINK = SinkSettings.from_dict({
    "name": "staff-sink", "ignite_addresses": "b1:10800", "ignite_tls_enabled": True, "bootstrap_servers": "near-b:9092",
    "topics_regex": "staff-.*", "topic_prefix": "staff-", "run_mode": "continuous", "process_updates": True,
    "internal_topic_prefix": "in-b", "types_topic": "in-a-types", "consumer_group": "of-b",
})  # fmt: skip


def test_the_reverse_pair_has_the_other_sides_and_other_names() -> None:
    source, sink = reverse_pair(SOURCE, SINK)
    assert (source.name, source.topic_prefix, source.internal_topic_prefix) == ("reverse-staff-source", "reverse-staff-", "in-b")
    assert (source.ignite_addresses, source.ignite_tls_enabled, source.bootstrap_servers) == (("b1:10800",), True, "near-b:9092")
    assert (source.cache_whitelist, source.slots, source.failover_policy, source.metrics_port) == (("staff",), 3, "BACKLOG", 9000)
    assert (sink.name, sink.topic_prefix, sink.internal_topic_prefix) == ("reverse-staff-sink", "reverse-staff-", "in-a")
    assert (sink.ignite_addresses, sink.ignite_tls_enabled, sink.bootstrap_servers) == (("a1:10800",), False, "broker:9092")
    assert (sink.types_topic, sink.consumer_group, sink.process_updates) == ("in-b-types", "reverse-of-b", True)
    for topic, reads in (("reverse-staff-x", True), ("staff-x", False)):
        assert bool(re.fullmatch(sink.topics_regex, topic)) is reads


def test_two_turns_give_the_first_pair() -> None:
    source, sink = reverse_pair(*reverse_pair(SOURCE, SINK))
    assert source == SOURCE
    assert replace(sink, topics_regex=SINK.topics_regex) == SINK
    assert reads(sink.topics_regex) == {"staff-x"}


def reads(pattern: str) -> set[str]:
    """The topics of both directions, with and without a prefix, that a sink reads."""
    return {topic for topic in ("staff-x", "x", "reverse-staff-x", "reverse-x") if matches_whole(topic, pattern)}


def test_two_turns_without_a_prefix_run_in_no_circle() -> None:
    source = SourceSettings.from_dict({**SOURCE.changed(), "topic_prefix": ""})
    sink = SinkSettings.from_dict({**SINK.changed(), "topic_prefix": "", "topics_regex": "x"})
    once = reverse_pair(source, sink)
    assert reads(once[1].topics_regex) == {"reverse-staff-x", "reverse-x"}
    twice = reverse_pair(*once)
    assert reads(twice[1].topics_regex) == {"staff-x", "x"}
    assert reverse_pair(*reverse_pair(*twice)) == twice


def test_a_circle_of_one_cache_is_found_by_its_name() -> None:
    source = SourceSettings.from_dict({**SOURCE.changed(), "topic_prefix": ""})
    sink = SinkSettings.from_dict({**SINK.changed(), "topic_prefix": "", "topics_regex": ".*staff"})
    check_no_circle(source, sink, ["other"])
    with pytest.raises(SettingsError, match="such as reverse-staff: changes would run in a circle"):
        check_no_circle(source, sink, ["other", "staff"])
    named = SinkSettings.from_dict({**sink.changed(), "topics_regex": "", "topics": ["staff", "reverse-staff"]})
    with pytest.raises(SettingsError, match="such as reverse-staff: changes would run in a circle"):
        reverse_pair(source, named)


def test_the_reverse_source_sends_all_entries_first() -> None:
    """Changes on B before its capture are in no other record."""
    source = SourceSettings.from_dict({**SOURCE.changed(), "load_initial_data": False})
    assert reverse_pair(source, SINK)[0].load_initial_data


@pytest.mark.parametrize(
    ("role", "changes", "message"),
    [
        ("source", {"error_handling_policy": "LOG_ONLY"}, "error_handling_policy of the source is LOG_ONLY"),
        ("sink", {"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": "d"}, "error_handling_policy of the sink is DEAD_LETTER"),
        ("sink", {"conversion_error_policy": "LOG_ONLY"}, "conversion_error_policy of the sink is LOG_ONLY"),
        ("sink", {"schema_contract": "discard_field"}, "schema_contract of the sink is discard_field"),
        ("sink", {"schema_contract": "dead_letter", "dead_letter_topic": "d"}, "schema_contract of the sink is dead_letter"),
    ],
)
def test_a_pair_that_may_skip_entries_is_refused(role: str, changes: dict[str, Any], message: str) -> None:
    source = SourceSettings.from_dict({**SOURCE.changed(), **(changes if role == "source" else {})})
    sink = SinkSettings.from_dict({**SINK.changed(), **(changes if role == "sink" else {})})
    with pytest.raises(SettingsError, match=message):
        check_lossless(source, sink)
    check_lossless(SOURCE, replace(SINK, conversion_error_policy="STOP_TASK", schema_contract="freeze"))


def test_topics_by_name_get_the_other_prefix() -> None:
    sink = SinkSettings.from_dict({**SINK.changed(), "topics": ["staff-x", "staff-y"], "topics_regex": ""})
    assert reverse_pair(SOURCE, sink)[1].topics == ("reverse-staff-x", "reverse-staff-y")


@pytest.mark.parametrize(
    ("role", "changes", "message"),
    [
        ("source", {"process_removals": False}, "process_removals of the source is not true"),
        ("source", {"failover_policy": "NONE"}, "failover_policy of the source is not BACKLOG"),
        ("source", {"run_mode": "once"}, "run_mode of the source is not continuous"),
        ("source", {"where": "a > 1"}, "the source sets where"),
        ("source", {"active_active": True, "key_converter": "ignite-binary", "value_converter": "ignite-binary"}, "no roles to change"),
        ("source", {"topic_prefix": "other-"}, "caches have other names"),
        ("sink", {"process_updates": False}, "process_updates of the sink is not true"),
        ("sink", {"cache_prefix": "copy-"}, "the sink sets cache_prefix"),
        ("source", {"cache_header": "cache"}, "the source sets cache_header"),
        ("sink", {"cache_header": "cache", "header_caches": ".*"}, "the sink sets cache_header"),
        ("sink", {"topics_regex": ".*staff-.*"}, "changes would run in a circle"),
    ],
)
def test_a_pair_that_cannot_be_turned_is_refused(role: str, changes: dict[str, Any], message: str) -> None:
    source = SourceSettings.from_dict({**SOURCE.changed(), **(changes if role == "source" else {})})
    sink = SinkSettings.from_dict({**SINK.changed(), **(changes if role == "sink" else {})})
    with pytest.raises(SettingsError, match=message):
        reverse_pair(source, sink)
