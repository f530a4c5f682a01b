"""Bodies of answers about connectors, computed from their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..admin.connect_states import ConnectState, type_of
from ..admin.delivery import delivery_of
from ..admin.overview import ConnectorOverview
from ..admin.recorded_settings import recorded_settings
from ..common.versions import library_version
from ..errors import IgniteKafkaError
from ..settings.connect.names import CLASS
from ..settings.connector import ConnectorSettings
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..settings.trust import ADDRESS
from ..settings.trust import SETTINGS as TRUST
from .plugins import text_of

_CLASSES = {
    True: "org.gridgain.kafka.source.IgniteSourceConnector",
    False: "org.gridgain.kafka.sink.IgniteSinkConnector",
}


def config_of(connector: ConnectorOverview) -> dict[str, str]:
    """Return a connector's configuration: as it was sent, or the settings recorded by a run that a file started.

    References to config providers stay as they were sent. Recorded settings are those that differ from the default,
    without addresses.
    """
    if connector.config is not None:
        return dict(connector.config)
    record = connector.state.connector
    if record is None:
        return {"name": connector.name}
    direction: type[ConnectorSettings] = SourceSettings if record.is_source else SinkSettings
    try:
        changed = recorded_settings(direction, record).changed()
    except IgniteKafkaError:  # another program wrote the record, or another version has other limits
        changed = {}
    texts = {
        name: text for name, value in changed.items() if TRUST[name] != ADDRESS and (text := text_of(value)) is not None
    }
    return {CLASS: _CLASSES[record.is_source], **texts, "name": connector.name}


def info_of(connector: ConnectorOverview, state: ConnectState) -> dict[str, Any]:
    """Return a connector's body: name, configuration, tasks and type."""
    return new_info(connector.name, config_of(connector), type_of(connector), state.tasks)


def new_info(name: str, config: Mapping[str, str], kind: str, tasks: int = 0) -> dict[str, Any]:
    """Return the body of a connector whose configuration was just written."""
    ids = [{"connector": name, "task": number} for number in range(tasks)]
    return {"name": name, "config": dict(config), "tasks": ids, "type": kind}


def status_of(connector: ConnectorOverview, state: ConnectState) -> dict[str, Any]:
    """Return the states of a connector and its tasks, and the delivery of a sink, which Kafka Connect does not have."""
    delivery = delivery_of(connector.state.connector)
    return {
        "name": connector.name,
        "connector": _state(state),
        "tasks": [task_status(state, number) for number in range(state.tasks)],
        "type": type_of(connector),
        **({"delivery": asdict(delivery)} if delivery is not None else {}),
    }


def task_status(state: ConnectState, number: int) -> dict[str, Any]:
    """Return the state of a task."""
    return {"id": number, **_state(state)}


def tasks_of(connector: ConnectorOverview, state: ConnectState) -> list[dict[str, Any]]:
    """Return the tasks of a connector, each with the connector's configuration."""
    config = config_of(connector)
    return [{"id": {"connector": connector.name, "task": number}, "config": config} for number in range(state.tasks)]


def topics_of(name: str, connector: ConnectorOverview | None) -> dict[str, Any]:
    """Return the topics that the newest run has written or read."""
    run = None if connector is None else connector.newest.run
    topics = set() if run is None else {cache.topic for cache in run.caches.values() if cache.topic}
    return {name: {"topics": sorted(topics)}}


def _state(state: ConnectState) -> dict[str, Any]:
    body = {"state": state.state, "worker_id": state.worker, "version": library_version()}
    return {**body, "trace": state.trace} if state.trace else body
