"""Operations of the REST interface on the connectors of one internal topic prefix. Each call blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..admin import offsets as source_offsets
from ..admin import sink_offsets
from ..admin.connect_states import FAILED, RESTARTING, ConnectState
from ..admin.connectors import mark_deleted, request_restart
from ..admin.overview import SINK, ConnectorOverview
from ..admin.shown_offsets import read_offsets
from ..admin.signals import list_signals, request_signal
from ..admin.target_state import request_target_state
from ..common.versions import library_version
from ..runtime.clients import kafka_clients
from ..settings.connect.names import settings_class
from ..settings.files.declared_offsets import DeclaredOffset, parse_offsets
from ..state.declared_connectors import write_declaration
from ..state.target_state import PAUSED, RUNNING, STOPPED, write_target
from . import answers
from .bodies import NewConnector, with_name
from .configuration import Operator
from .late_deletions import LateDeletions
from .messages import RestError
from .plugins import check_all
from .reading import ConnectorReader

API_VERSION = "4.3.1"
"""Version of Kafka whose REST interface is served; clients choose their requests by it."""


@dataclass(frozen=True)
class SharedState:
    """What all services of the same connectors in a process share, also those for changed connections.

    :param writes: lock of a change, which reads a connector and then writes it.
    :param deletions: ends the captures of deleted connectors; None: a keeper does.
    """

    writes: threading.Lock = field(default_factory=threading.Lock)
    deletions: LateDeletions | None = None


class ConnectService:
    """Connectors of a prefix, as Kafka Connect's REST interface presents and changes them.

    :param shared: state shared with the other services of these connectors; None: this is the only one.
    :raises RestError: from most methods, for requests that Kafka Connect refuses.
    :raises IgniteKafkaError: from every method; Kafka or Ignite did not answer, or refused.
    """

    def __init__(self, operator: Operator, shared: SharedState | None = None) -> None:
        self.operator = operator
        self._prefix = operator.connection.internal_topic_prefix
        self._shared = shared or SharedState()
        self.reader = ConnectorReader(kafka_clients(operator.connection, operator.secrets), self._prefix)

    def cluster(self) -> dict[str, str]:
        """Return the versions and the id of the Kafka cluster."""
        commit = f"ignite-kafka {library_version()}"
        return {"version": API_VERSION, "commit": commit, "kafka_cluster_id": self.reader.topics.cluster_id()}

    def connectors(self) -> Mapping[str, ConnectorOverview]:
        """Return all connectors by name."""
        return self.reader.read()

    def connector(self, name: str, message: str = "Connector {} not found") -> ConnectorOverview:
        """Return a connector.

        :param message: text of the error for an unknown connector; ``{}`` is its name.
        """
        connector = self.reader.read().get(name)
        if connector is None:
            raise RestError(404, message.format(name))
        return connector

    def state(self, connector: ConnectorOverview) -> ConnectState:
        """Return the current state of a connector."""
        return ConnectState.of(connector, time.time() * 1000)

    def create(self, body: NewConnector) -> dict[str, Any]:
        """Create a connector, and return its body."""
        config = with_name(body.config, body.name)
        check_all(config, self.operator)
        with self._shared.writes:
            if body.name in self.reader.read():
                raise RestError(409, f"Connector {body.name} already exists")
            self._write(body.name, config, body.state)
        return answers.new_info(body.name, config, _type(config))

    def put_config(self, name: str, config: Mapping[str, str]) -> tuple[bool, dict[str, Any]]:
        """Create a connector or replace its configuration; return whether it is new, and its body."""
        check_all(config, self.operator)
        with self._shared.writes:
            connector = self.reader.read().get(name)
            self._write(name, config, RUNNING if connector is None else None)
        tasks = 0 if connector is None else self.state(connector).tasks
        return connector is None, answers.new_info(name, config, _type(config), tasks)

    def patch_config(self, name: str, changes: Mapping[str, str | None]) -> dict[str, Any]:
        """Change some keys of a connector's configuration, and return its body; None removes a key."""
        with self._shared.writes:
            connector = self.connector(name)
            merged = {**answers.config_of(connector), **changes}
            config = {key: value for key, value in merged.items() if value is not None}
            check_all(config, self.operator)
            self._write(name, config, None)
        return answers.new_info(name, config, _type(config), self.state(connector).tasks)

    def _write(self, name: str, config: Mapping[str, str], target: str | None) -> None:
        """Write a declaration; with a target state, it is the state of a new connector."""
        reader = self.reader
        replicas = self.operator.connection.replication_factor
        write_declaration(reader.clients, reader.topics, self._prefix, name, config, replicas)
        if target is not None:
            write_target(reader.clients, reader.topics, self._prefix, name, target)

    def request_target(self, name: str, target: str) -> None:
        """Request that a connector runs, pauses or stops."""
        self.connector(name, "Unknown connector {}")
        request_target_state(self.operator.connection_of(name), self.operator.secrets, target)

    def restart(self, name: str, *, only_failed: bool) -> dict[str, Any]:
        """Restart a connector with its tasks, and return its status.

        :param only_failed: do nothing unless the connector has failed.
        """
        connector = self.connector(name, "Unknown connector: {}")
        state = self.state(connector)
        if (only_failed and state.state != FAILED) or state.state == PAUSED:
            return answers.status_of(connector, state)
        if request_restart(self.operator.connection_of(name), self.operator.secrets).stopped:
            return answers.status_of(connector, state)
        restarting = ConnectState(RESTARTING, state.tasks, state.worker)
        return answers.status_of(connector, restarting)

    def restart_task(self, name: str, task: int) -> None:
        """Restart a connector for one of its tasks, because all tasks of a run end together."""
        connector = self.connector(name, "Unknown connector: {}")
        if task >= self.state(connector).tasks:
            raise RestError(404, f"Unknown task: {name}-{task}")
        self.restart(name, only_failed=False)

    def delete(self, name: str) -> None:
        """Delete a connector without waiting for the end of its run, see :func:`.connectors.mark_deleted`."""
        with self._shared.writes:
            self.connector(name)
            mark_deleted(self.operator.connection_of(name), self.operator.secrets)
        if self._shared.deletions is not None:
            self._shared.deletions.add(self.operator, name)

    def offsets(self, name: str) -> dict[str, Any]:
        """Return the offsets of a connector."""
        connector = self.connector(name)
        if connector.state.connector is None:
            return {"offsets": []}
        return {"offsets": list(read_offsets(self.operator.connection_of(name), self.operator.secrets))}

    def alter_offsets(self, name: str, items: list[Any]) -> dict[str, str]:
        """Change offsets of a stopped connector; a source's offset of null removes it."""
        connector = self._stopped(name)
        is_sink = connector.direction == SINK
        declared = parse_offsets(items, sink=is_sink)
        self._alter(name, declared, sink=is_sink)
        return {"message": "The offsets for this connector have been altered successfully"}

    def _alter(self, name: str, declared: tuple[DeclaredOffset, ...], *, sink: bool) -> None:
        connection = self.operator.connection_of(name)
        secrets = self.operator.secrets
        if sink:
            places = {(offset.name, offset.partition): offset.position or 0 for offset in declared}
            sink_offsets.set_offsets(connection, secrets, places)
            return
        for offset in declared:
            if offset.position is None:
                source_offsets.reset(connection, secrets, offset.name, offset.partition)
            else:
                source_offsets.alter(connection, secrets, offset.name, offset.partition, offset.position)

    def reset_offsets(self, name: str) -> dict[str, str]:
        """Reset all offsets of a stopped connector: a source sends all again, a sink reads from the beginning."""
        connector = self._stopped(name)
        connection = self.operator.connection_of(name)
        if connector.direction == SINK:
            sink_offsets.move(connection, self.operator.secrets, "earliest")
        elif connector.state.connector is not None:
            source_offsets.reset(connection, self.operator.secrets)
        return {"message": "The offsets for this connector have been reset successfully"}

    def _stopped(self, name: str) -> ConnectorOverview:
        connector = self.connector(name)
        if self.state(connector).state != STOPPED:
            what = (
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for "
                f"the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
            )
            raise RestError(400, what)
        return connector

    def signals(self, name: str) -> dict[str, object]:
        """Return the ad-hoc snapshots of a connector and their progress."""
        self.connector(name)
        return list_signals(self.operator.connection_of(name), self.operator.secrets).to_dict()

    def request_signal(self, name: str, value: bytes) -> dict[str, object]:
        """Request an ad-hoc snapshot, or that snapshots are paused, resumed or stopped."""
        self.connector(name)
        connection = self.operator.connection_of(name)
        return request_signal(connection, self.operator.secrets, value, "REST").to_dict()

    def describe(self, connector: ConnectorOverview, parts: set[str]) -> dict[str, Any]:
        """Return the parts ``info`` and ``status`` of a connector, as ``GET /connectors?expand=…`` does."""
        state = self.state(connector)
        body: dict[str, Any] = {}
        if "status" in parts:
            body["status"] = answers.status_of(connector, state)
        if "info" in parts:
            body["info"] = answers.info_of(connector, state)
        return body


def _type(config: Mapping[str, str]) -> str:
    return "sink" if settings_class(config, {}).reads_records else "source"
