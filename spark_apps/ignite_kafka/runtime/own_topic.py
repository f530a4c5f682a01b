"""Topic of a connector besides its data topics, for programs that follow the connector: events, notifications."""

from __future__ import annotations

import logging

from confluent_kafka import KafkaError, KafkaException, Message

from ..kafka.clients import BRIEF_S, KafkaClients
from ..kafka.topics import Topics, TopicSpec

log = logging.getLogger(__name__)


class OwnTopic:
    """Writer of JSON records with the connector's name as their key.

    A topic that takes no records does not end the copy: what they say is in the status topic, too.

    :param what: name of a record for the log, such as ``an event``.
    """

    def __init__(self, clients: KafkaClients, topic: str, connector: str, what: str) -> None:
        self._topic = topic
        self._key = connector.encode()
        self._what = what
        self._producer = clients.writer()

    @staticmethod
    def ensure(topics: Topics, topic: str, replication_factor: int) -> None:
        """Create the topic with one partition if it is missing, and check that the run may write to it.

        :raises TopicError: the user may not create the topic or write to it.
        """
        topics.ensure([TopicSpec(topic, 1, replication_factor)])
        for state in topics.describe([topic]).values():
            state.check_writable()

    def send(self, value: bytes) -> None:
        """Send a record without waiting for the broker."""
        try:
            self._producer.produce(self._topic, value, self._key, on_delivery=self._on_delivery)
        except (KafkaException, BufferError) as refused:  # such as a topic that was deleted
            self._warn(str(refused))

    def poll(self) -> None:
        """Handle the broker's answers so far."""
        self._producer.poll(0)

    def _on_delivery(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._warn(error.str())

    def _warn(self, reason: str) -> None:
        log.warning("%s could not be written to topic %s: %s", self._what, self._topic, reason)

    def close(self) -> None:
        """Wait a short time for the broker's confirmation of the last records."""
        if waiting := self._producer.flush(BRIEF_S):
            log.warning("the broker has not confirmed %d records of topic %s", waiting, self._topic)
