"""Recorder of a run's events, in the status topic and in the connector's events topic."""

from __future__ import annotations

from ..common.event_log import EventCounts, format_counts
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..settings.connector import ConnectorSettings
from ..state.event_records import RunEvents, queue_events
from ..state.status import StatusWriter
from .event_topic import EventTopic


class EventRecorder:
    """Recorder of the events of one run; each call records only events added since the last call.

    :param writer: writer of the run's status, whose next record waits for the events in the status topic, too.
    :param recorded: events that an earlier attempt of the run has recorded.
    """

    def __init__(
        self, writer: StatusWriter, settings: ConnectorSettings, run_id: str, recorded: EventCounts | None = None
    ) -> None:
        self._writer = writer
        self._settings = settings
        self._run_id = run_id
        self._topic: EventTopic | None = None
        self._recorded = recorded or {}

    def open_topic(self, clients: KafkaClients, topics: Topics) -> None:
        """Open the connector's events topic, if the settings name one, and create it if it is missing.

        :raises TopicError: the user may not create the topic or write to it.
        """
        if self._settings.events_topic:
            EventTopic.ensure(topics, self._settings)
            self._topic = EventTopic(clients, self._settings, self._run_id, self._recorded)

    def record(self, counts: EventCounts) -> None:
        """Record the events of the run so far, without waiting for the broker.

        :param counts: counts and newest texts, by id.
        """
        if counts == self._recorded:
            return
        queue_events(self._writer, RunEvents(self._settings.name, self._run_id, format_counts(counts)))
        if self._topic is not None:
            self._topic.write(counts)
        self._recorded = counts

    def close(self) -> None:
        """Wait a short time until the broker confirms the records of the events topic."""
        if self._topic is not None:
            self._topic.close()
