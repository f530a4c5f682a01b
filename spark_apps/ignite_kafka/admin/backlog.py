"""Administration of a connector's backlog on the nodes: show it, mark partitions to be sent again, remove it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

from ..errors import NotStopped, SettingsError
from ..ignite import protocol
from ..ignite.backlog_service import BacklogService
from ..ignite.backlog_units import ASKED, GIVEN_UP, GONE, LOST, MISSED, UNIT, UnitStates
from ..ignite.cluster import Cluster
from ..kafka.topics import Topics
from ..runtime.clients import ignite_cluster, kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.suggestions import did_you_mean
from ..source.stream.capture import check_owner, owner_of
from ..source.stream.heartbeats import destroy_heartbeats
from ..state.configs import read_connector
from .target_state import NewestRun, newest_run

_MARKS = {GIVEN_UP: "given up", MISSED: "missed", LOST: "lost", GONE: "gone", ASKED: "asked"}
T = TypeVar("T")


@dataclass(frozen=True)
class CacheCapture:
    """A captured cache; ``incarnation`` is None if the cache does not exist."""

    cache: str
    incarnation: int | None
    partitions: int


@dataclass(frozen=True)
class UnitBacklog:
    """Backlog of a cache partition.

    :param changes: number of changes.
    :param bytes: stored size.
    :param low: lowest update number; -1 without changes.
    :param high: highest update number; -1 without changes.
    :param marks: see :data:`_MARKS`.
    """

    cache: str
    partition: int
    incarnation: int
    changes: int
    bytes: int
    low: int
    high: int
    marks: tuple[str, ...]


@dataclass(frozen=True)
class BacklogView:
    """A connector's backlog.

    :param registered: number of nodes that have registered the capture of all caches.
    :param nodes: one line per node.
    """

    connector: str
    capture_id: int
    registered: int
    caches: tuple[CacheCapture, ...]
    nodes: tuple[str, ...]
    units: tuple[UnitBacklog, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the backlog as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Resend:
    """Cache partitions that will be sent again."""

    connector: str
    cache: str
    partitions: tuple[int, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class CleanupResult:
    """Names of the service and the cache removed by a cleanup; None if absent before."""

    connector: str
    service: str | None
    cache: str | None

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return asdict(self)


def status(settings: ConnectorSettings, secrets: Secrets) -> BacklogView:
    """Read a connector's backlog from the nodes.

    :raises BacklogRefused: the nodes have no capture for a connector of that name.
    :raises BacklogMissing, BacklogUnavailable, IgniteUnreachable: the service is missing or did not answer.
    """
    with ignite_cluster(settings, secrets) as cluster:
        return status_of(cluster, settings.name)


def status_of(cluster: Cluster, connector: str) -> BacklogView:
    """Read a connector's backlog through a cluster; raise the errors of :func:`status`."""
    answer = call_service(cluster, lambda service: service.status(connector))
    units = call_service(cluster, lambda service: service.units(connector))
    caches = tuple(
        CacheCapture(name, answer.get(f"incarnation.{name}"), answer.get(f"partitions.{name}", 0))
        for name in answer["caches"]
    )
    names = {protocol.cache_id(cache.cache): cache.cache for cache in caches}
    return BacklogView(
        connector, answer["captureId"], answer["registered"], caches, tuple(answer["nodes"]), _list_units(units, names)
    )


def flush_captured(cluster: Cluster, connector: str) -> None:
    """Wait until the backlog has every change that the nodes captured before this call.

    :raises BacklogRefused, BacklogMissing, BacklogUnavailable, IgniteUnreachable: as :func:`status`.
    """
    call_service(cluster, lambda service: service.barrier(connector))


def _list_units(states: UnitStates, names: Mapping[int, str]) -> tuple[UnitBacklog, ...]:
    columns = (states.unit.tolist(), states.count.tolist(), states.stored_bytes.tolist())
    numbers = (states.low.tolist(), states.high.tolist(), states.marks.tolist())
    units = (
        UnitBacklog(
            names.get(cache_id, f"cache id {cache_id}"),
            partition,
            incarnation,
            count,
            size,
            low,
            high,
            _name_marks(marks),
        )
        for (cache_id, partition, incarnation), count, size, low, high, marks in zip(*columns, *numbers, strict=True)
    )
    return tuple(sorted(units, key=lambda unit: (unit.cache, unit.partition, unit.incarnation)))


def _name_marks(bits: int) -> tuple[str, ...]:
    return tuple(name for bit, name in _MARKS.items() if bits & bit)


def resend(settings: ConnectorSettings, secrets: Secrets, cache: str, partition: int | None = None) -> Resend:
    """Mark the partitions of a cache, or one partition, to be sent again.

    :raises SettingsError: the connector does not capture the cache, or the cache has no such partition.
    :raises BacklogRefused: the nodes have no capture for a connector of that name, or its secret differs from the one
        kept in Kafka.
    :raises BacklogMissing, BacklogUnavailable, IgniteUnreachable, KafkaUnavailable: the service is missing, or a
        cluster did not answer.
    """
    with ignite_cluster(settings, secrets) as cluster:
        answer = call_service(cluster, lambda service: service.status(settings.name))
        units = _select_units(settings.name, answer, cache, partition)
        secret = _read_secret(settings, secrets)
        call_service(cluster, lambda service: service.mark(settings.name, units), secret)
    return Resend(settings.name, cache, tuple(units["partition"].tolist()))


def _select_units(
    connector: str, answer: Mapping[str, Any], cache: str, partition: int | None
) -> np.ndarray[Any, np.dtype[np.void]]:
    """Return the units to mark, with dtype UNIT."""
    incarnation = answer.get(f"incarnation.{cache}")
    count = answer.get(f"partitions.{cache}", 0)
    if incarnation is None:
        captured = [name for name in answer["caches"] if f"incarnation.{name}" in answer]
        shown = f"It captures {', '.join(captured[:20]) or 'none'}."
        hint = did_you_mean(cache, captured)
        raise SettingsError(
            "the connector does not capture this cache", f"{hint} {shown}".strip(), connector=connector, cache=cache
        )
    if partition is not None and not 0 <= partition < count:
        raise SettingsError(
            "the cache has no such partition", f"It has 0 to {count - 1}.", cache=cache, partition=partition
        )
    partitions = range(count) if partition is None else [partition]
    units = np.empty(len(partitions), UNIT)
    units["cache_id"], units["partition"], units["incarnation"] = protocol.cache_id(cache), partitions, incarnation
    return units


def cleanup(
    settings: ConnectorSettings, secrets: Secrets, *, force: bool, discard: bool = False, lost_run: str = ""
) -> CleanupResult:
    """End a connector's capture and destroy its backlog cache, without effect on other connectors. Repeatable.

    :param settings: name, internal_topic_prefix and the addresses of both clusters.
    :param force: clean up even if the newest run did not end gracefully, or if another connector owns the capture, with
        offsets in another Kafka cluster or under another prefix. The changes in the backlog are then never sent. This
        needs neither a secret nor Kafka, but an administrator of Ignite if the cluster has users.
    :param discard: clean up also after a run that failed, because the connector was deleted: the changes in the backlog
        are never sent. Unlike with ``force``, the run must have ended, and the capture must be the connector's own.
    :param lost_run: id of a run that counts as ended although no record says so, because its driver was killed; empty:
        none. It must still be the newest run.
    :raises NotStopped: the nodes have a backlog of that connector, its newest run neither completed nor stopped
        gracefully, and ``force`` is False.
    :raises BacklogRefused: the capture belongs to another connector of that name, and ``force`` is False.
    :raises BacklogMissing, BacklogUnavailable, IgniteUnreachable, KafkaUnavailable: a cluster did not answer; nothing
        or only a part is removed.
    """
    with ignite_cluster(settings, secrets) as cluster:
        if settings.name not in call_service(cluster, lambda service: service.connectors()):
            return CleanupResult(settings.name, None, None)
        status = call_service(cluster, lambda service: service.status(settings.name))
        if force:
            removed = call_service(cluster, lambda service: service.force_stop(settings.name, destroy=True))
        else:
            _check_ended(settings, secrets, status, discard=discard, lost_run=lost_run)
            removed = call_service(
                cluster, lambda service: service.stop(settings.name, destroy=True), _read_secret(settings, secrets)
            )
        destroy_heartbeats(cluster, settings.name, status["caches"])
    return CleanupResult(settings.name, removed["service"], removed["cache"])


def call_service(cluster: Cluster, request: Callable[[BacklogService], T], secret: str | None = None) -> T:
    """Call the service, and repeat a failed call on another node, because every call here is repeatable."""
    return cluster.ask(lambda connection: request(BacklogService(connection, secret)))


def _read_secret(settings: ConnectorSettings, secrets: Secrets) -> str | None:
    """Return the capture's secret from the secrets file, or else from the configs topic; None without a secret."""
    if secrets.ignite.backlog_secret is not None:
        return secrets.ignite.backlog_secret
    clients = kafka_clients(settings, secrets)
    clients.check()
    return read_connector(clients, Topics(clients), settings.internal_topic_prefix, settings.name).capture_secret


def _check_ended(
    settings: ConnectorSettings, secrets: Secrets, status: Mapping[str, Any], *, discard: bool, lost_run: str
) -> None:
    clients = kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    check_owner(settings.name, status, owner_of(topics, settings.internal_topic_prefix))
    newest = newest_run(clients, topics, settings.internal_topic_prefix, settings.name)
    if lost_run and newest.run_id == lost_run:
        return
    if not (newest.ended if discard else newest.graceful):
        raise _refusal_error(settings, newest)


def _refusal_error(settings: ConnectorSettings, newest: NewestRun) -> NotStopped:
    if newest.unknown:
        what = "the nodes have a backlog of this connector, but Kafka has no record of the connector"
        cure = "Check the Kafka brokers and the internal topic prefix"
    elif newest.ended:
        what = "the newest run of the connector did not end gracefully"
        cure = "Start it and stop it, so that its backlog is sent"
    else:
        what = "the newest run of the connector has not ended"
        cure = f"Stop it: ignite-kafka stop {settings.name}; if its driver is dead, start and stop it"
    return NotStopped(
        what,
        f"{cure}; or clean up with force: the changes in its backlog are then not sent.",
        connector=settings.name,
        run_id=newest.run_id or None,
        state=newest.state,
        internal_topic_prefix=settings.internal_topic_prefix,
    )
