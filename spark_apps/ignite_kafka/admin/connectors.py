"""Restart and deletion of connectors, declared by REST or started from files.

Kafka Connect deletes a connector's configuration and keeps its offsets. So does :func:`delete_connector`; it also ends
the capture of changes on the Ignite nodes, which would otherwise fill their disks for a connector that nobody reads.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from ..errors import BacklogMissing
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..runtime.clients import ignite_cluster, kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import STRICT
from ..sink.fence import fence_name
from ..state.configs import ConnectorRecord
from ..state.declared_connectors import (
    Cleanup,
    Declaration,
    read_declaration,
    write_cleanup,
    write_deletion,
    write_restart,
)
from ..state.status import PAUSED
from ..state.target_state import STOPPED, read_lasting_stop, write_target
from . import backlog
from .delivery import delivery_of
from .lost_run import silent_s
from .recorded_settings import with_connections
from .target_state import NewestRun, newest_report, require_connector

_POLL_S = 0.5
_UNHEARD_MS = 600_000
"""Time after a deletion in which a paused run, or one that has not reported yet, would end and report its end."""


@dataclass(frozen=True)
class RestartRequest:
    """A requested restart.

    :param active: whether a run was active, which ends now.
    :param stopped: whether the connector stays stopped until it is resumed; nothing was then requested.
    """

    name: str
    run_id: str
    active: bool
    stopped: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the request as JSON values."""
        return asdict(self)


def request_restart(settings: ConnectorSettings, secrets: Secrets) -> RestartRequest:
    """End a connector's active run after its current batch, and request the next run.

    What runs the connector begins the next run: `ignite-kafka serve`, or a Dag with the schedule `@continuous`.
    A paused run continues to be paused. A stopped connector stays stopped, also while its run is still ending: a
    request for that run alone would replace the stop of all runs.

    :raises SettingsError: there is no connector of that name.
    """
    clients, topics = _open(settings, secrets)
    newest = require_connector(settings, clients, topics)
    prefix = settings.internal_topic_prefix
    active = not newest.unknown and not newest.ended
    if read_lasting_stop(clients, topics, prefix, settings.name):
        return RestartRequest(settings.name, newest.run_id, active, stopped=True)
    write_restart(clients, prefix, settings.name)
    if active and newest.connector is not None and newest.state != PAUSED:
        write_target(clients, topics, prefix, settings.name, STOPPED, newest.connector.generation)
    return RestartRequest(settings.name, newest.run_id, active)


@dataclass(frozen=True)
class DeletedConnector:
    """A deleted connector.

    :param ended: whether its last run has ended or is lost, or it had none.
    :param backlog: the removed capture on the Ignite nodes; None: it had none, or its run has not ended.
    :param declared_again: whether the connector was declared again meanwhile, so that its capture stays.
    """

    name: str
    ended: bool
    backlog: backlog.CleanupResult | None = None
    declared_again: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the deletion as JSON values."""
        return asdict(self)


def delete_connector(settings: ConnectorSettings, secrets: Secrets, wait_ms: int = 0) -> DeletedConnector:
    """Delete a connector: stop its run, remove it from all lists, and end its capture on the Ignite nodes.

    Its offsets stay, as in Kafka Connect: a connector of the same name continues there. Changes made meanwhile were
    not captured, so a stream loads its caches again first. Unsent changes in the backlog are discarded.

    :param settings: name and prefix of the connector, and the settings of both connections.
    :param wait_ms: maximum time to wait for the end of the run, in milliseconds. A capture is ended only after the run.
    :raises SettingsError: there is no connector of that name.
    :raises IgniteUnreachable, BacklogUnavailable, BacklogRefused: the connector is deleted, its capture is not ended.
    """
    clients, topics = mark_deleted(settings, secrets)
    deadline = time.monotonic() + wait_ms / 1000
    while not _Deletion.read(clients, topics, settings).is_over() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return finish_deletion(settings, secrets)


def mark_deleted(settings: ConnectorSettings, secrets: Secrets) -> tuple[KafkaClients, Topics]:
    """Stop a connector's run and remove the connector from all lists, without waiting; return the clients used.

    :func:`finish_deletion` then ends its capture.

    :raises SettingsError: there is no connector of that name.
    """
    clients, topics = _open(settings, secrets)
    newest = require_connector(settings, clients, topics)
    prefix = settings.internal_topic_prefix
    write_target(clients, topics, prefix, settings.name, STOPPED)
    write_deletion(clients, prefix, settings.name, _generation(newest))
    return clients, topics


def finish_deletion(settings: ConnectorSettings, secrets: Secrets, dead_run: str = "") -> DeletedConnector:
    """End the capture or fence of a deleted connector if its last run has ended or is lost. Repeatable.

    A run that began while the connector was being deleted is deleted, too. Nothing happens if the connector was
    declared again meanwhile.

    A lost run may live: its driver hangs, or is cut off from Kafka. It ends once it reads the record that stops it; if
    it begins its capture again before that, its next report makes the deletion unfinished (:class:`.Cleanup`).

    :param dead_run: id of a run whose driver is dead, as whoever started it knows; empty: none.
    :raises IgniteUnreachable, BacklogUnavailable, BacklogRefused, NotStopped: the capture is not ended.
    """
    clients, topics = _open(settings, secrets)
    prefix = settings.internal_topic_prefix
    deletion = _Deletion.read(clients, topics, settings)
    newest, declaration = deletion.newest, deletion.declaration
    if declaration is None or declaration.deleted_after is None:
        return DeletedConnector(settings.name, False, declared_again=declaration is not None)
    if not deletion.is_over(dead_run):
        return DeletedConnector(settings.name, False)
    if declaration.deleted_after < _generation(newest):
        declaration = write_deletion(clients, prefix, settings.name, _generation(newest))
    removed = None
    if newest.connector is not None and captures_changes(newest.connector):
        removed = _end_capture(settings, secrets, newest.connector, "" if newest.ended else newest.run_id)
    if newest.connector is not None and newest.run is not None and _is_strict(newest.connector):
        name = fence_name(topics, prefix, settings.name)
        _end_fence(with_connections(settings, newest.connector), secrets, name, sorted(newest.run.caches))
    write_cleanup(clients, prefix, settings.name, Cleanup(declaration.at_ms, deletion.reported_ms))
    return DeletedConnector(settings.name, True, removed)


def _end_capture(
    settings: ConnectorSettings, secrets: Secrets, record: ConnectorRecord, lost_run: str
) -> backlog.CleanupResult | None:
    """End a connector's own capture by its secret, and discard its backlog; None if the nodes have no service."""
    connected = with_connections(settings, record)
    try:
        return backlog.cleanup(connected, secrets, force=False, discard=True, lost_run=lost_run)
    except BacklogMissing:  # its stream used continuous queries, which end with it
        return None


def _is_strict(record: ConnectorRecord) -> bool:
    delivery = delivery_of(record)
    return delivery is not None and delivery.mode == STRICT


def _end_fence(settings: ConnectorSettings, secrets: Secrets, name: str, caches: Sequence[str]) -> None:
    """End the fence of a strict sink: what still writes for it is refused, and nodes without the jar may join again.

    :param name: name of the fence.
    :param caches: names of the caches that the sink wrote.
    """
    with suppress(BacklogMissing), ignite_cluster(settings, secrets) as cluster:  # without the jar there is no fence
        backlog.call_service(cluster, lambda service: service.forget(name, caches))


@dataclass(frozen=True)
class _Deletion:
    """A connector's newest run, the time of its last report in milliseconds since 1970, and its newest declaration."""

    newest: NewestRun
    reported_ms: int
    declaration: Declaration | None

    @staticmethod
    def read(clients: KafkaClients, topics: Topics, settings: ConnectorSettings) -> _Deletion:
        where = clients, topics, settings.internal_topic_prefix, settings.name
        return _Deletion(*newest_report(*where), read_declaration(*where))

    def is_over(self, dead_run: str = "") -> bool:
        """Return whether the newest run has ended, or its driver is dead or lost."""
        newest = self.newest
        if newest.unknown or newest.ended or (dead_run and newest.run_id == dead_run):
            return True
        if self.declaration is None or not self.declaration.hides(_generation(newest)):
            return False  # a run that began after the deletion
        now_ms = time.time() * 1000
        if silent_s(newest.run, newest.connector, self.reported_ms, now_ms) is not None:
            return True
        reports_nothing = newest.run is None or newest.state == PAUSED
        return reports_nothing and now_ms - max(self.reported_ms, self.declaration.at_ms) > _UNHEARD_MS


def captures_changes(record: ConnectorRecord) -> bool:
    """Return whether a connector may have a backlog on the Ignite nodes, by its newest run's settings."""
    settings = record.settings
    return record.is_source and (
        settings.get("failover_policy") == "BACKLOG" or settings.get("run_mode") == "continuous"
    )


def _generation(newest: NewestRun) -> int:
    return newest.connector.generation if newest.connector is not None else 0


def _open(settings: ConnectorSettings, secrets: Secrets) -> tuple[KafkaClients, Topics]:
    clients = kafka_clients(settings, secrets)
    clients.check()
    return clients, Topics(clients)
