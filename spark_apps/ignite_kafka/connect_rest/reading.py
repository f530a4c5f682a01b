"""Reading of all connectors for many requests: each reading continues where the last one ended."""

from __future__ import annotations

from collections.abc import Mapping

from ..admin.overview import ConnectorOverview, OverviewReader
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics


class ConnectorReader:
    """Reader of the connectors of a prefix, which threads may share.

    :raises KafkaUnavailable, AuthenticationFailed, TopicError: from both methods; Kafka did not answer, or refused.
    """

    def __init__(self, clients: KafkaClients, prefix: str) -> None:
        self.clients = clients
        self.topics = Topics(clients)
        self._overview = OverviewReader(prefix)

    def read(self) -> Mapping[str, ConnectorOverview]:
        """Return all connectors by name."""
        return self._overview.read(self.clients, self.topics)

    def read_with_deleted(self) -> Mapping[str, ConnectorOverview]:
        """Return all connectors by name, deleted ones included."""
        return self._overview.read_with_deleted(self.clients, self.topics)
