"""Names of topics: allowed, and reserved."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.datasources.kafka_tx import WriteOptions
from ignite_kafka.datasources.kafka_tx_read import ReadOptions
from ignite_kafka.errors import SettingsError
from ignite_kafka.plan.routing import routes
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.name_rules import NamedBy
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.topic_names import PREFIXES, is_internal_topic, is_topic_name, reserve, reserved, types_topic
from ignite_kafka.sink.planning import chosen_topics
from ignite_kafka.state import internal_names
from tests.support.setting_doors import PLAIN_DOORS, PlainDoor


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


def test_every_topic_that_the_library_names_by_a_prefix_is_internal() -> None:
    makers = [make for name, make in vars(internal_names).items() if name.endswith("_topic")]
    assert len(makers) >= 5
    for make in makers:
        name = make(*["p", "trades"][: len(inspect.signature(make).parameters)])
        assert is_internal_topic(name, "p"), name


@pytest.fixture(autouse=True)
def _others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An administrator lists the prefix of another team, and whoever runs the process that of a third."""
    monkeypatch.setenv(PREFIXES, "third, fourth")
    reserve(["other"])
    yield
    reserve([])


def test_prefixes_that_are_listed_are_internal_whatever_prefix_a_connector_has() -> None:
    assert reserved() == ("fourth", "other", "third")
    for name in ("other-configs", "third-offsets-nightly", "fourth-types"):
        assert is_internal_topic(name, "p")
    assert not is_internal_topic("fifth-configs", "p")
    reserve(["other"])
    reserve(["another"])  # a list replaces the one before
    assert reserved() == ("another", "fourth", "third")


@pytest.mark.parametrize("wrong", ["a b", "third,,fourth", "x" * 181, "a/b"])
def test_a_wrong_list_of_the_environment_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIXES, wrong)
    with pytest.raises(SettingsError, match=PREFIXES):
        is_internal_topic("t", "p")


@pytest.mark.parametrize("door", PLAIN_DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("topic", ["other-configs", "third-status"])
def test_no_door_lets_an_internal_topic_of_another_prefix_in(door: PlainDoor, topic: str, tmp_path: Path) -> None:
    """With a prefix of its own, a connector still reaches no topic of the prefixes that are listed."""
    given = {"error_handling_policy": "DEAD_LETTER", "internal_topic_prefix": "mine", "dead_letter_topic": topic}
    with pytest.raises(SettingsError, match="dead_letter_topic names an internal topic") as caught:
        door(tmp_path, given)
    assert topic in str(caught.value)
    assert door(tmp_path, {**given, "dead_letter_topic": f"of-{topic}"}).dead_letter_topic == f"of-{topic}"


def test_no_name_rule_and_no_expression_reaches_them() -> None:
    with pytest.raises(SettingsError, match="the topic of a cache is an internal topic"):
        routes(["configs"], lambda cache: NamedBy(f"other-{cache}", "topic_names"), "mine")
    settings = SinkSettings.from_dict({"name": "c", "topics_regex": ".*", "internal_topic_prefix": "mine"})
    assert chosen_topics(settings, ["other-configs", "third-types", "mine-status", "data"]) == ["data"]


INTERNAL = [
    "ignite-kafka-configs",
    "other-configs",
    "third-offsets-x",
    "ignite-kafka-status",
    "ignite-kafka-offsets-other",
    "mine-configs",
    "__consumer_offsets",
]


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
