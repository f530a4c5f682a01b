"""Topic of a connector's events, for programs that alert or archive them (setting ``events_topic``)."""

from __future__ import annotations

import json

from ..common.event_log import EventCounts, Occurrence, OccurrenceReader, format_time
from ..event_descriptions import describe_event
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..settings.connector import ConnectorSettings
from .own_topic import OwnTopic


class EventTopic:
    """Writer of one JSON record for each event of a run, with the connector's name as its key.

    Events that follow each other faster than the run reports them have a count, and the newest of them have records.
    """

    def __init__(self, clients: KafkaClients, settings: ConnectorSettings, run_id: str, written: EventCounts) -> None:
        self._connector = settings.name
        self._run_id = run_id
        self._topic = OwnTopic(clients, settings.events_topic, settings.name, "an event")
        self._occurrences = OccurrenceReader(written)

    @staticmethod
    def ensure(topics: Topics, settings: ConnectorSettings) -> None:
        """Create the events topic if it is missing; it raises as :meth:`.OwnTopic.ensure`."""
        OwnTopic.ensure(topics, settings.events_topic, settings.replication_factor)

    def write(self, counts: EventCounts) -> None:
        """Write the events that were added since the last call, oldest first, without waiting for the broker."""
        for id, occurrence in self._occurrences.added(counts):
            self._topic.send(event_record(self._connector, self._run_id, id, occurrence, counts[id].count))
        self._topic.poll()

    def close(self) -> None:
        """Wait a short time for the broker's confirmation of the last records."""
        self._topic.close()


def event_record(connector: str, run_id: str, id: int, occurrence: Occurrence, count: int) -> bytes:
    """Make the value of an event's record, a JSON object.

    :param count: how often the event occurred in the run.
    """
    record = {
        "connector": connector,
        "run_id": run_id,
        **describe_event(id),
        "at": format_time(occurrence.at_ms),
        "text": occurrence.text,
        "fields": dict(occurrence.fields),
        "count": count,
    }
    return json.dumps(record, ensure_ascii=False).encode(errors="replace")
