"""Notifications about snapshots in a topic (setting ``notifications_topic``), in Debezium's form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum

from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..settings.source import SourceSettings
from ..state.status import now_ms
from .own_topic import OwnTopic

INITIAL = "Initial Snapshot"
AD_HOC = "Incremental Snapshot"
"""Aggregate types of notifications: Debezium's names of initial and ad-hoc snapshots."""


class Turn(Enum):
    """Types of notifications, as Debezium names them; CACHE_DONE is TABLE_SCAN_COMPLETED there."""

    STARTED = "STARTED"
    IN_PROGRESS = "IN_PROGRESS"
    PAUSED = "PAUSED"
    RESUMED = "RESUMED"
    CACHE_DONE = "CACHE_DONE"
    COMPLETED = "COMPLETED"
    ABORTED = "ABORTED"
    FAILED = "FAILED"


class Notifications:
    """Writer of a connector's notifications; does nothing where the settings name no topic."""

    def __init__(self, clients: KafkaClients, topics: Topics, settings: SourceSettings) -> None:
        """Open the topic, which is created if it is missing.

        :raises TopicError: the user may not create the topic or write to it.
        """
        self._connector = settings.name
        self._topic: OwnTopic | None = None
        if settings.notifications_topic:
            OwnTopic.ensure(topics, settings.notifications_topic, settings.replication_factor)
            self._topic = OwnTopic(clients, settings.notifications_topic, settings.name, "a notification")

    def send(self, id: str, aggregate: str, turn: Turn, details: Mapping[str, object]) -> None:
        """Send a notification without waiting for the broker.

        :param id: id of the signal or of the snapshot.
        :param aggregate: :data:`INITIAL` or :data:`AD_HOC`.
        :param details: additional data; values become texts, as Debezium's are.
        """
        if self._topic is None:
            return
        self._topic.send(notification(self._connector, id, aggregate, turn, details, now_ms()))
        self._topic.poll()

    def close(self) -> None:
        """Wait a short time for the broker's confirmation of the last records."""
        if self._topic is not None:
            self._topic.close()


def notification(
    connector: str, id: str, aggregate: str, turn: Turn, details: Mapping[str, object], at_ms: int
) -> bytes:
    """Make the value of a notification's record, a JSON object.

    :param at_ms: its time in milliseconds since 1970.
    """
    record = {
        "id": id,
        "aggregate_type": aggregate,
        "type": turn.value,
        "additional_data": {"connector_name": connector, **{name: str(value) for name, value in details.items()}},
        "timestamp": at_ms,
    }
    return json.dumps(record, ensure_ascii=False).encode(errors="replace")
