"""Events of a connector, of all runs whose records are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from ..common.event_log import EventCount, EventCounts, Occurrence, OccurrenceReader, add_events, format_time
from ..common.python_compat import parse_time_ms
from ..errors import SettingsError
from ..event_descriptions import describe_event
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..state.event_records import read_events
from ..state.status import read_runs
from .target_state import list_connectors, unknown_connector_error

_POLL_S = 2.0


@dataclass(frozen=True)
class ConnectorEvents:
    """Events of a connector, the last one first.

    :param since_ms: earlier events are left out; milliseconds since 1970.
    """

    connector: str
    counts: EventCounts
    since_ms: int = 0

    def to_dict(self) -> dict[str, object]:
        """Return JSON-ready values."""
        return {"connector": self.connector, "events": [_to_dict(id, count) for id, count in self.in_order()]}

    def in_order(self) -> list[tuple[int, EventCount]]:
        """Return id and count of each event, the last one first; its texts are those since `since_ms`."""
        recent = [
            (id, replace(count, newest=tuple(text for text in count.newest if text.at_ms >= self.since_ms)))
            for id, count in self.counts.items()
            if count.last_ms >= self.since_ms
        ]
        return sorted(recent, key=lambda event: (-event[1].last_ms, event[0]))


def _to_dict(id: int, count: EventCount) -> dict[str, object]:
    return {
        **describe_event(id),
        "count": count.count,
        "first": format_time(count.first_ms),
        "last": format_time(count.last_ms),
        "newest": [
            {**asdict(occurrence), "at": format_time(occurrence.at_ms)} for occurrence in reversed(count.newest)
        ],
    }


def parse_since(text: str | None) -> int:
    """Return a time by ISO 8601, in UTC unless it has an offset, as milliseconds since 1970; 0 for None.

    :raises SettingsError: the text is no time.
    """
    if text is None:
        return 0
    try:
        return parse_time_ms(text)
    except ValueError as error:
        remedy = "Give a time such as 2025-01-31T12:00:00Z."
        raise SettingsError(f"{text!r} is no time", remedy, setting="--since") from error


def read_connector_events(settings: ConnectorSettings, secrets: Secrets, since_ms: int = 0) -> ConnectorEvents:
    """Read the events of a connector.

    :raises SettingsError: no connector of that name was ever started.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    return _read(clients, settings, since_ms)


def _read(clients: KafkaClients, settings: ConnectorSettings, since_ms: int) -> ConnectorEvents:
    prefix = settings.internal_topic_prefix
    runs = read_events(clients, prefix, settings.name)
    if not runs and not read_runs(clients, prefix, settings.name):
        raise unknown_connector_error(settings, list_connectors(clients, Topics(clients), prefix))
    return ConnectorEvents(settings.name, add_events(*runs.values()), since_ms)


def follow_events(
    settings: ConnectorSettings, secrets: Secrets, since_ms: int, poll_s: float = _POLL_S
) -> Iterator[tuple[int, Occurrence]]:
    """Yield id and text of each occurrence since a time, oldest first, and go on as new ones are recorded, without end.

    Of occurrences that follow each other faster than they are read, only the newest have a text.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    reader = OccurrenceReader()
    while True:
        events = _read(clients, settings, since_ms)
        yield from reader.added(dict(events.in_order()))
        time.sleep(poll_s)
