"""Names of internal topics and transactional ids: they are part of what a cluster's ACLs allow, so they never change."""

from __future__ import annotations

from ignite_kafka.settings.topic_names import is_internal_topic
from ignite_kafka.state import internal_names


def test_internal_topics_have_their_prefix_and_are_recognized_as_internal() -> None:
    topics = [
        internal_names.configs_topic("p"),
        internal_names.offsets_topic("p", "c"),
        internal_names.status_topic("p"),
    ]
    assert topics == ["p-configs", "p-offsets-c", "p-status"]
    assert all(is_internal_topic(topic, "p") for topic in topics)


def test_the_producers_of_a_connector_have_different_transactional_ids() -> None:
    assert internal_names.slot_transactional_id("c", 7) == "c-7"
    assert internal_names.control_transactional_id("c") == "c-control"
    assert internal_names.repair_transactional_id("c", 7) == "c-repair-7"
