"""Names of topics: allowed, and reserved."""

from __future__ import annotations

import pytest

from ignite_kafka.settings.topic_names import is_internal_topic, is_topic_name, types_topic


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("flights", True),
        ("a.b_c-D9", True),
        ("f" * 249, True),
        ("f" * 250, False),
        ("", False),
        (".", False),
        ("..", False),
        ("a b", False),
    ],
)
def test_a_topic_name_is_what_kafka_allows(name: str, allowed: bool) -> None:
    assert is_topic_name(name) is allowed


@pytest.mark.parametrize(
    ("name", "internal"),
    [
        ("p-configs", True),
        ("p-offsets", True),
        ("p-offsets-nightly", True),
        (types_topic("p"), True),
        ("__consumer_offsets", True),
        ("p-trades", False),
        ("p", False),
    ],
)
def test_topics_of_connectors_and_brokers_are_internal(name: str, internal: bool) -> None:
    assert is_internal_topic(name, "p") is internal
