"""Settings recorded by a connector's newest run, for commands that have its name but no file."""

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
from .target_state import list_connectors, unknown_connector_error

S = TypeVar("S", bound=ConnectorSettings)
_ORIGIN = "the connector's record"


def recorded_settings(direction: type[S], record: ConnectorRecord) -> S:
    """Return the settings recorded by the newest run, without settings that only a newer version has."""
    definitions = direction.definitions()
    return direction.from_dict({name: value for name, value in record.settings.items() if name in definitions}, _ORIGIN)


def settings_of_newest_run(connection: ConnectorSettings, secrets: Secrets) -> ConnectorSettings:
    """Return the settings recorded by a connector's newest run, with the addresses in `connection`.

    Addresses in the record are ignored, because a writer of the configs topic must not choose the receiver of secrets.

    :param connection: name and prefix of the connector, and the settings of both connections.
    :raises SettingsError: no connector of that name was ever started, or its settings are not valid here.
    :raises IgniteKafkaError: Kafka did not answer, or the record cannot be read.
    """
    clients = kafka_clients(connection, secrets)
    topics = Topics(clients)
    record = read_connector(clients, topics, connection.internal_topic_prefix, connection.name).connector
    if record is None:
        raise unknown_connector_error(connection, list_connectors(clients, topics, connection.internal_topic_prefix))
    return with_connections(connection, record)


def with_connections(connection: ConnectorSettings, record: ConnectorRecord) -> ConnectorSettings:
    """Return the settings of a record with the name, prefix and addresses of `connection`.

    The errors are those of :func:`settings_of_newest_run`.
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
