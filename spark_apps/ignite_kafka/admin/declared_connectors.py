"""Connectors declared by Kafka Connect's REST interface, for what runs them from Dags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..state.declared_connectors import Declarations
from ..state.internal_names import configs_topic
from ..state.internal_records import read_internal_topic
from ..state.target_state import RUNNING, generation_in, target_of


@dataclass(frozen=True)
class StoredConnector:
    """A declared connector.

    :param config: its configuration as it was sent.
    :param target: its requested target state, without requests for one run alone.
    """

    name: str
    config: Mapping[str, str]
    target: str = RUNNING


def read_declared(clients: KafkaClients, topics: Topics, prefix: str) -> list[StoredConnector]:
    """Read all declared connectors of a prefix from the configs topic, sorted by name.

    :raises KafkaUnavailable, AuthenticationFailed, TopicError: Kafka did not answer, or refused.
    """
    declarations = Declarations()
    targets: dict[str, str] = {}
    for record, _ in read_internal_topic(clients, topics, configs_topic(prefix)):
        if declarations.add(record) or record.kind != "target":
            continue
        state = target_of(record.name, record)
        if state is not None:
            targets[record.name] = RUNNING if generation_in(record) else state
    return [
        StoredConnector(name, declaration.config, targets.get(name, RUNNING))
        for name, declaration in sorted(declarations.by_name.items())
        if declaration.declares and declaration.config is not None
    ]
