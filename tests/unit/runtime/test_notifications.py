"""Notifications in Debezium's form, and a connector without a topic for them."""

from __future__ import annotations

import json
from typing import Any

from ignite_kafka.runtime.notifications import AD_HOC, Notifications, Turn, notification
from ignite_kafka.settings.source import SourceSettings


def test_the_form_of_a_notification() -> None:
    value = notification("c", "one", AD_HOC, Turn.IN_PROGRESS, {"records": 5}, 7)
    assert json.loads(value) == {
        "id": "one",
        "aggregate_type": "Incremental Snapshot",
        "type": "IN_PROGRESS",
        "additional_data": {"connector_name": "c", "records": "5"},
        "timestamp": 7,
    }


def test_no_topic_gets_nothing() -> None:
    nothing: Any = None  # neither a client nor an administrator is used
    notifications = Notifications(nothing, nothing, SourceSettings(name="c"))
    notifications.send("one", AD_HOC, Turn.STARTED, {})
    notifications.close()
