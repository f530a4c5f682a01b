"""The service of the REST interface on connectors in memory, without a broker."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.admin.connectors import RestartRequest
from ignite_kafka.admin.overview import ConnectorOverview, TargetRequest
from ignite_kafka.connect_rest import service as services
from ignite_kafka.connect_rest.service import ConnectService, SharedState
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.state.declared_connectors import Declaration
from tests.unit.admin.test_connect_states import NOW
from tests.unit.connect_rest.test_configuration import OPERATOR


class Reader:
    """Connectors in memory, in the place of :class:`ConnectorReader`."""

    clients = None

    def __init__(self, *_: object) -> None:
        self.connectors: dict[str, ConnectorOverview] = {}
        self.topics = SimpleNamespace(cluster_id=lambda: "cluster")

    def read(self) -> Mapping[str, ConnectorOverview]:
        return dict(sorted(self.connectors.items()))


def simulated_service(
    monkeypatch: pytest.MonkeyPatch, shared: SharedState | None = None
) -> tuple[ConnectService, dict[str, ConnectorOverview], list[tuple[Any, ...]]]:
    """A service, its connectors, and the calls of administration that it made."""
    reader, calls = Reader(), list[tuple[Any, ...]]()

    def declare(_: object, __: object, ___: object, name: str, config: Mapping[str, str], replicas: int) -> None:
        before = reader.connectors.get(name, ConnectorOverview(name))
        reader.connectors[name] = ConnectorOverview(
            name, before.state, before.runs, before.reports, target=before.target, declaration=Declaration(dict(config))
        )

    def target(_: object, __: object, ___: object, name: str, state: str) -> None:
        before = reader.connectors[name]
        reader.connectors[name] = ConnectorOverview(
            name, before.state, before.runs, before.reports, target=TargetRequest(state, 1), declaration=before.declaration
        )

    def delete(settings: ConnectorSettings, _: object) -> None:
        del reader.connectors[settings.name]

    def restart(settings: ConnectorSettings, _: object) -> RestartRequest:
        stopped = reader.connectors[settings.name].lasting_target == "STOPPED"
        if not stopped:
            calls.append(("restart", settings.name))
        return RestartRequest(settings.name, "r", active=True, stopped=stopped)

    monkeypatch.setattr(services, "time", SimpleNamespace(time=lambda: NOW / 1000))
    monkeypatch.setattr(services, "ConnectorReader", lambda *_: reader)
    monkeypatch.setattr(services, "kafka_clients", lambda *_: None)
    monkeypatch.setattr(services, "write_declaration", declare)
    monkeypatch.setattr(services, "write_target", target)
    monkeypatch.setattr(services, "mark_deleted", delete)
    monkeypatch.setattr(services, "request_restart", restart)
    monkeypatch.setattr(services, "request_target_state", lambda settings, _, state: target(0, 0, 0, settings.name, state))
    return ConnectService(OPERATOR, shared), reader.connectors, calls
