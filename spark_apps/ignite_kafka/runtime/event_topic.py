"""Topic of a connector's events, for programs that alert or archive them (setting ``events_topic``)."""

from __future__ import annotations

import json
import logging

from confluent_kafka import KafkaError, KafkaException, Message

from ..common.event_log import EventCounts, Occurrence, OccurrenceReader, format_time
from ..event_descriptions import describe_event
from ..kafka.clients import BRIEF_S, KafkaClients
from ..kafka.topics import Topics, TopicSpec
from ..settings.connector import ConnectorSettings

log = logging.getLogger(__name__)


class EventTopic:
    """Writer of one JSON record for each event of a run, with the connector's name as its key.

    Events that follow each other faster than the run reports them have a count, and the newest of them have records. A
    topic that takes no records does not end the copy: the events are in the status topic, too.
    """

    def __init__(self, clients: KafkaClients, settings: ConnectorSettings, run_id: str, written: EventCounts) -> None:
        self._topic = settings.events_topic
        self._connector = settings.name
        self._run_id = run_id
        self._producer = clients.writer()
        self._occurrences = OccurrenceReader(written)

    @staticmethod
    def ensure(topics: Topics, settings: ConnectorSettings) -> None:
        """Create the events topic if it is missing, and check that the run may write to it.

        :raises TopicError: the user may not create the topic or write to it.
        """
        topics.ensure([TopicSpec(settings.events_topic, 1, settings.replication_factor)])
        for state in topics.describe([settings.events_topic]).values():
            state.check_writable()

    def write(self, counts: EventCounts) -> None:
        """Write the events that were added since the last call, oldest first, without waiting for the broker."""
        for id, occurrence in self._occurrences.added(counts):
            value = event_record(self._connector, self._run_id, id, occurrence, counts[id].count)
            try:
                self._producer.produce(self._topic, value, self._connector.encode(), on_delivery=self._on_delivery)
            except (KafkaException, BufferError) as refused:  # such as a topic that was deleted
                self._warn(str(refused))
        self._producer.poll(0)

    def _on_delivery(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._warn(error.str())

    def _warn(self, reason: str) -> None:
        log.warning("an event could not be written to topic %s: %s", self._topic, reason)

    def close(self) -> None:
        """Wait a short time for the broker's confirmation of the last records."""
        if waiting := self._producer.flush(BRIEF_S):
            log.warning("the broker has not confirmed %d events of topic %s", waiting, self._topic)


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
