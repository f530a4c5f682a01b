"""The commands `list`, `restart` and `delete`, with the words of Kafka Connect's REST interface."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from ..admin.connect_states import ConnectState, type_of
from ..admin.connectors import DeletedConnector, RestartRequest, delete_connector, request_restart
from ..admin.overview import ConnectorOverview, OverviewReader
from ..kafka.topics import Topics
from ..runtime.clients import kafka_clients
from . import render
from .arguments import CommandArguments
from .command_settings import secrets_of, settings_of, settings_of_cluster
from .tables import table


@dataclass(frozen=True)
class ListedConnector:
    """A connector in Kafka Connect's words.

    :param type: ``source``, ``sink`` or ``unknown``.
    :param state: RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED or RESTARTING.
    :param worker_id: host of the newest run's driver.
    :param declared_by: ``REST`` or ``its runs``.
    :param trace: error of a failed connector.
    """

    name: str
    type: str
    state: str
    tasks: int
    worker_id: str
    declared_by: str
    trace: str

    @staticmethod
    def of(connector: ConnectorOverview, now_ms: float) -> ListedConnector:
        """Compute the line of a connector."""
        state = ConnectState.of(connector, now_ms)
        declared_by = "REST" if connector.config is not None else "its runs"
        kind = type_of(connector)
        return ListedConnector(connector.name, kind, state.state, state.tasks, state.worker, declared_by, state.trace)


@dataclass(frozen=True)
class ListedConnectors:
    """All connectors of an internal topic prefix, sorted by name."""

    connectors: tuple[ListedConnector, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the list as JSON values."""
        return asdict(self)

    def text(self) -> str:
        """Return a table."""
        head = ("connector", "type", "state", "tasks", "declared by", "error")
        rows = [
            (line.name, line.type, line.state, line.tasks, line.declared_by, line.trace) for line in self.connectors
        ]
        return table(head, rows) if rows else "no connectors"


def show_all(arguments: CommandArguments) -> int:
    """List all connectors with their states."""
    settings = settings_of_cluster(arguments)
    clients = kafka_clients(settings, secrets_of(arguments))
    clients.check()
    connectors = OverviewReader(settings.internal_topic_prefix).read(clients, Topics(clients))
    now_ms = time.time() * 1000
    lines = tuple(ListedConnector.of(connector, now_ms) for connector in connectors.values())
    return render.show(arguments, ListedConnectors(lines), ListedConnectors.text)


def restart(arguments: CommandArguments) -> int:
    """Restart a connector."""
    return render.show(arguments, request_restart(settings_of(arguments), secrets_of(arguments)), _describe_restart)


def delete(arguments: CommandArguments) -> int:
    """Delete a connector; return 1 if its run has not ended in time."""
    deleted = delete_connector(settings_of(arguments), secrets_of(arguments), arguments.wait_ms)
    render.show(arguments, deleted, _describe_deletion)
    return 0 if deleted.ended else 1


def _describe_restart(request: RestartRequest) -> str:
    if request.stopped:
        what = f"it is stopped, so nothing is restarted; ignite-kafka resume {request.name} runs it again"
    elif request.active:
        what = f"run {request.run_id} ends after its current batch; what runs the connector begins the next"
    else:
        what = "no run is active; ignite-kafka serve begins one if it runs the connector"
    return f"connector {request.name}: {what}"


def _describe_deletion(deleted: DeletedConnector) -> str:
    if deleted.declared_again:
        return f"connector {deleted.name} was deleted, and declared again meanwhile: its capture stays"
    lines = [f"connector {deleted.name} is deleted; its offsets stay"]
    if not deleted.ended:
        then = f"once it has, end its capture by ignite-kafka backlog cleanup {deleted.name}"
        lines.append(f"its run has not ended in that time: {then}")
    elif deleted.backlog is not None and deleted.backlog.cache is not None:
        lines.append(f"its capture has ended, and backlog cache {deleted.backlog.cache} is destroyed")
    return "\n".join(lines)
