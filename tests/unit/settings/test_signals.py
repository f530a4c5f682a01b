"""Topics of signals and notifications: each is the connector's alone."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.source import SourceSettings


def test_own_topics_are_named_by_their_settings() -> None:
    settings = SourceSettings(name="c", run_mode="continuous", notifications_topic="n", signal_topic="s", events_topic="e")
    assert settings.own_topics == {"events_topic": "e", "notifications_topic": "n", "signal_topic": "s"}
    assert SourceSettings(name="c").own_topics == {}


@pytest.mark.parametrize(
    ("topics", "why"),
    [
        ({"notifications_topic": "t", "signal_topic": "t"}, "it is the topic of"),
        ({"events_topic": "t", "signal_topic": "t"}, "it is the topic of events_topic"),
        ({"notifications_topic": "ignite-kafka-configs"}, "notifications_topic"),
        ({"signal_topic": "ignite-kafka-status"}, "signal_topic"),
    ],
)
def test_topics_of_others_are_refused(topics: Any, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        SourceSettings(name="c", run_mode="continuous", **topics)
