"""Offsets of a connector in the form of Kafka Connect (KIP-875)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..kafka.topics import Topics
from ..plan.slots import SlotState
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..state.configs import read_connector
from ..state.offsets import read_slots
from .target_state import list_connectors, unknown_connector_error


def read_states(settings: ConnectorSettings, secrets: Secrets) -> Iterator[SlotState]:
    """Yield the offsets of each slot of a connector.

    :raises SettingsError: no connector of that name was ever started.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    control = read_connector(clients, topics, settings.internal_topic_prefix, settings.name)
    if control.connector is None:
        raise unknown_connector_error(settings, list_connectors(clients, topics, settings.internal_topic_prefix))
    return read_slots(clients, topics, settings.internal_topic_prefix, settings.name, control.connector.slots)


def read_offsets(settings: ConnectorSettings, secrets: Secrets) -> Iterator[dict[str, Any]]:
    """Yield the offset of each cache partition of a source, or of each topic partition of a sink.

    The form is ``{"partition": {"cache", "partition"}, "offset": {…}}``, or with ``kafka_topic`` and
    ``kafka_partition``.

    :raises SettingsError: no connector of that name was ever started.
    """
    for state in read_states(settings, secrets):
        for (cache, partition), unit in sorted(state.units.items()):
            place: dict[str, Any] = {"cache": cache, "partition": partition}
            yield {"partition": place, "offset": json.loads(unit.to_json())}
        for (topic, partition), copied in sorted(state.by_topic.items()):
            place = {"kafka_topic": topic, "kafka_partition": partition}
            yield {"partition": place, "offset": json.loads(copied.to_json())}
