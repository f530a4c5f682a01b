"""The settings recorded by a connector's newest run, for commands with its name and no file."""

from __future__ import annotations

from typing import TypeVar

from ..kafka.topics import Topics
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..settings.trust import ADDRESS
from ..settings.trust import SETTINGS as TRUST
from ..state.configs import ConnectorRecord, read_connector
from .target_state import known_connectors, unknown_connector

S = TypeVar("S", bound=ConnectorSettings)
_ORIGIN = "the connector's record"


def recorded_settings(direction: type[S], record: ConnectorRecord) -> S:
    """Return the settings recorded by the newest run, without those of a newer version."""
    definitions = direction.definitions()
    return direction.from_dict({name: value for name, value in record.settings.items() if name in definitions}, _ORIGIN)


def settings_of_newest_run(connection: ConnectorSettings, secrets: Secrets) -> ConnectorSettings:
    """Return the settings recorded by a connector's newest run, with the connections of `connection`.

    The record names no address here: who may write to the configs topic must not choose where the secrets are sent.

    :param connection: name and prefix of the connector, and the settings of both connections.
    :raises SettingsError: no connector of that name was ever started, or its settings are not valid here.
    :raises IgniteKafkaError: Kafka did not answer, or the record cannot be read.
    """
    clients = kafka_clients(connection, secrets)
    topics = Topics(clients)
    record = read_connector(clients, topics, connection.internal_topic_prefix, connection.name).connector
    if record is None:
        raise unknown_connector(connection, known_connectors(clients, topics, connection.internal_topic_prefix))
    return connected_by(connection, record)


def connected_by(connection: ConnectorSettings, record: ConnectorRecord) -> ConnectorSettings:
    """The settings of a record, with name, prefix and connections of the given ones.

    Raises as :func:`settings_of_newest_run`.
    """
    direction: type[ConnectorSettings] = SourceSettings if record.is_source else SinkSettings
    own = {
        name: value
        for name, value in connection.to_dict().items()
        if TRUST.get(name) == ADDRESS or name in ("name", "internal_topic_prefix")
    }
    recorded = {
        name: value
        for name, value in record.settings.items()
        if name in direction.definitions() and TRUST.get(name) != ADDRESS
    }
    return direction.from_dict({**recorded, **own}, {**dict.fromkeys(recorded, _ORIGIN), **connection.origin})
