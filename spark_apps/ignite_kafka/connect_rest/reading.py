"""Readings of all connectors, reused while their records have not changed."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ..admin.overview import ConnectorOverview, read_with_deleted
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..state.internal_names import configs_topic, status_topic


class ConnectorReader:
    """Reader of all connectors of a prefix for many requests: it reads the topics again only if they have grown."""

    def __init__(self, clients: KafkaClients, prefix: str) -> None:
        self.clients = clients
        self.topics = Topics(clients)
        self._prefix = prefix
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] = ()
        self._connectors: Mapping[str, ConnectorOverview] = {}

    def read(self) -> Mapping[str, ConnectorOverview]:
        """Return all connectors by name.

        :raises KafkaUnavailable, AuthenticationFailed, TopicError: Kafka did not answer, or refused.
        """
        return {name: connector for name, connector in self.read_with_deleted().items() if not connector.deleted}

    def read_with_deleted(self) -> Mapping[str, ConnectorOverview]:
        """Return all connectors by name, deleted ones included; the errors are those of :meth:`read`."""
        with self._lock:
            ends = tuple(self._end(topic(self._prefix)) for topic in (configs_topic, status_topic))
            if ends != self._seen:
                self._connectors = read_with_deleted(self.clients, self.topics, self._prefix)
                self._seen = ends
            return self._connectors

    def _end(self, topic: str) -> int:
        return self.topics.ends(topic, [0])[0] if self.topics.exists(topic) else -1
