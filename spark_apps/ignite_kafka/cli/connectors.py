"""The commands `list`, `restart` and `delete`, with the words of Kafka Connect's REST interface."""

from __future__ import annotations

import json
import time

from ..admin.connect_states import ConnectState, type_of
from ..admin.connectors import delete_connector, request_restart
from ..admin.overview import ConnectorOverview, read_overview
from ..kafka.topics import Topics
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from .tables import table


def list_all(settings: ConnectorSettings, secrets: Secrets, *, as_json: bool) -> int:
    """List the connectors of a Kafka cluster and prefix: type, state, tasks, and what declared it."""
    clients = kafka_clients(settings, secrets)
    clients.check()
    connectors = read_overview(clients, Topics(clients), settings.internal_topic_prefix)
    now_ms = time.time() * 1000
    states = {name: ConnectState.of(connector, now_ms) for name, connector in connectors.items()}
    if as_json:
        for name, state in states.items():
            print(json.dumps(_to_dict(connectors[name], state)))
        return 0
    rows = [
        (name, type_of(connectors[name]), state.state, state.tasks, _declared_by(connectors[name]), state.trace)
        for name, state in states.items()
    ]
    print(table(("connector", "type", "state", "tasks", "declared by", "error"), rows) if rows else "no connectors")
    return 0


def _to_dict(connector: ConnectorOverview, state: ConnectState) -> dict[str, object]:
    shown: dict[str, object] = {"name": connector.name, "type": type_of(connector), "state": state.state}
    shown |= {"tasks": state.tasks, "worker_id": state.worker, "declared_by": _declared_by(connector)}
    return {**shown, "trace": state.trace} if state.trace else shown


def _declared_by(connector: ConnectorOverview) -> str:
    return "REST" if connector.config is not None else "its runs"


def restart_one(settings: ConnectorSettings, secrets: Secrets, *, as_json: bool) -> int:
    """Restart a connector."""
    done = request_restart(settings, secrets)
    if as_json:
        print(json.dumps(done.to_dict()))
    elif done.active:
        print(f"connector {done.name}: run {done.run_id} ends after its current batch; what runs it begins the next")
    else:
        print(f"connector {done.name}: no run is active; ignite-kafka serve begins one if it runs the connector")
    return 0


def delete_one(settings: ConnectorSettings, secrets: Secrets, *, wait_ms: int, as_json: bool) -> int:
    """Delete a connector; return 1 if its run has not ended in time."""
    done = delete_connector(settings, secrets, wait_ms)
    if as_json:
        print(json.dumps(done.to_dict()))
        return 0 if done.ended else 1
    print(f"connector {done.name} is deleted; its offsets stay")
    if not done.ended:
        print(
            "its run has not ended in that time: once it has, end its capture by ignite-kafka backlog cleanup "
            f"{done.name}"
        )
        return 1
    if done.backlog is not None and done.backlog.cache is not None:
        print(f"its capture has ended, and backlog cache {done.backlog.cache} is destroyed")
    return 0
