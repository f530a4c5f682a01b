"""The commands `list`, `restart` and `delete`, with the words of Kafka Connect's REST interface."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from ..admin.connect_states import ConnectState, type_of
from ..admin.connectors import delete_connector, request_restart
from ..admin.overview import ConnectorOverview, read_overview
from ..kafka.topics import Topics
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from .arguments import whole
from .command_settings import secrets_of, settings_of, settings_of_cluster
from .tables import table


def add_commands(
    commands: Any,
    add_name: Callable[..., argparse.ArgumentParser],
    add_connector: Callable[..., argparse.ArgumentParser],
    add_ignite: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the commands with their arguments.

    :param add_name, add_connector, add_ignite: add the arguments that commands about connectors share.
    """
    text = "list all connectors of a Kafka cluster with their states"
    add_connector(commands.add_parser("list", help=text, description=text), show_all)
    text = "end a connector's run after its current batch, and let what runs it begin the next run"
    add_name(commands, "restart", restart, text)
    text = "stop a connector, remove it from all lists, and end its capture on the Ignite nodes; its offsets stay"
    deleting = add_name(commands, "delete", delete, text)
    wait = "time to wait for the end of its run, in milliseconds (default: 60000; 0: no wait)"
    deleting.add_argument("--wait-ms", type=whole, default=60_000, metavar="MS", help=wait)
    add_ignite(deleting)


def show_all(arguments: argparse.Namespace) -> int:
    """List all connectors with their states."""
    return list_connectors(settings_of_cluster(arguments), secrets_of(arguments), as_json=arguments.json)


def restart(arguments: argparse.Namespace) -> int:
    """Restart a connector."""
    return restart_connector(settings_of(arguments), secrets_of(arguments), as_json=arguments.json)


def delete(arguments: argparse.Namespace) -> int:
    """Delete a connector; return 1 if its run has not ended in time."""
    wait_ms: int = arguments.wait_ms
    return delete_and_wait(settings_of(arguments), secrets_of(arguments), wait_ms=wait_ms, as_json=arguments.json)


def list_connectors(settings: ConnectorSettings, secrets: Secrets, *, as_json: bool) -> int:
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


def restart_connector(settings: ConnectorSettings, secrets: Secrets, *, as_json: bool) -> int:
    """Restart a connector."""
    done = request_restart(settings, secrets)
    if as_json:
        print(json.dumps(done.to_dict()))
    elif done.active:
        print(f"connector {done.name}: run {done.run_id} ends after its current batch; what runs it begins the next")
    else:
        print(f"connector {done.name}: no run is active; ignite-kafka serve begins one if it runs the connector")
    return 0


def delete_and_wait(settings: ConnectorSettings, secrets: Secrets, *, wait_ms: int, as_json: bool) -> int:
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
