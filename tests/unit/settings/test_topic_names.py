"""Names of topics: allowed, and reserved."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.datasources.kafka_tx import WriteOptions
from ignite_kafka.datasources.kafka_tx_read import ReadOptions
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
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
        ("ignite-kafka-configs", True),  # the default prefix is that of others, whatever prefix this connector has
        ("ignite-kafka-status", True),
        ("p-trades", False),
        ("p", False),
    ],
)
def test_topics_of_connectors_and_brokers_are_internal(name: str, internal: bool) -> None:
    assert is_internal_topic(name, "p") is internal


INTERNAL = ["ignite-kafka-configs", "ignite-kafka-status", "ignite-kafka-offsets-other", "mine-configs", "__consumer_offsets"]


@pytest.mark.parametrize("topic", INTERNAL)
def test_no_setting_names_an_internal_topic(topic: str) -> None:
    """A dead letter there has a bad record's own key and value: it could stop or fence another connector."""
    dead_letters = {"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": topic}
    given: list[tuple[type[ConnectorSettings], dict[str, Any], str]] = [
        (SourceSettings, {"cache_whitelist": ["x"], **dead_letters}, "dead_letter_topic"),
        (SinkSettings, {"topics": ["x"], **dead_letters}, "dead_letter_topic"),
        (SinkSettings, {"topics": ["x", topic]}, "topics"),
        (SinkSettings, {"topics": ["x"], "types_topic": topic}, "types_topic"),
    ]
    for kind, settings, name in given:
        with pytest.raises(SettingsError, match=f"{name} names an internal topic") as raised:
            kind.from_dict({"name": "c", "internal_topic_prefix": "mine", **settings})
        assert raised.value.where["topic"] == topic


@pytest.mark.parametrize("topic", INTERNAL)
def test_no_option_names_an_internal_topic(topic: str) -> None:
    common = {"bootstrap.servers": "127.0.0.1:1", "topic": topic}
    with pytest.raises(SettingsError, match="topic names an internal topic"):
        WriteOptions.of({**common, "name": "w", "internal_topic_prefix": "mine"})
    if not topic.startswith("mine"):
        with pytest.raises(SettingsError, match="topic names an internal topic"):
            ReadOptions.of(common)
