"""A connector's backlog on the nodes: what stands in it, sending units again, cleaning up after a connector that is no longer wanted."""

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
from ..state.configs import read_connector
from .target_state import NewestRun, newest_run

_MARKS = {GIVEN_UP: "given up", MISSED: "missed", LOST: "lost", GONE: "gone", ASKED: "asked"}
T = TypeVar("T")


@dataclass(frozen=True)
class CacheCapture:
    """A captured cache. ``incarnation`` None: the cache is not there."""

    cache: str
    incarnation: int | None
    partitions: int


@dataclass(frozen=True)
class UnitBacklog:
    """What stands in the backlog of one unit: ``changes`` from number ``low`` to ``high`` (-1: none), ``bytes`` as stored, its marks."""

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
    """A connector's backlog. ``registered`` is the nodes that register the capture of all caches; ``nodes`` is a line a node."""

    connector: str
    capture_id: int
    registered: int
    caches: tuple[CacheCapture, ...]
    nodes: tuple[str, ...]
    units: tuple[UnitBacklog, ...]

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Resend:
    """Units that will be sent again from the cache."""

    connector: str
    cache: str
    partitions: tuple[int, ...]

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Cleaned:
    """What a cleanup removed from the nodes; None where there was nothing of that kind."""

    connector: str
    service: str | None
    cache: str | None

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def status(settings: ConnectorSettings, secrets: Secrets) -> BacklogView:
    """The backlog of a connector; reads all of it on the nodes.

    :raises BacklogRefused: nothing is captured for a connector of that name.
    :raises BacklogMissing, BacklogUnavailable, IgniteUnreachable: the service is not there, or could not answer.
    """
    with ignite_cluster(settings, secrets) as cluster:
        known = _call(cluster, lambda service: service.status(settings.name))
        units = _call(cluster, lambda service: service.units(settings.name))
    caches = tuple(CacheCapture(name, known.get(f"incarnation.{name}"), known.get(f"partitions.{name}", 0)) for name in known["caches"])
    names = {protocol.cache_id(cache.cache): cache.cache for cache in caches}
    return BacklogView(settings.name, known["captureId"], known["registered"], caches, tuple(known["nodes"]), _units(units, names))


def _units(states: UnitStates, names: Mapping[int, str]) -> tuple[UnitBacklog, ...]:
    columns = (states.unit.tolist(), states.count.tolist(), states.stored_bytes.tolist())
    numbers = (states.low.tolist(), states.high.tolist(), states.marks.tolist())
    found = (
        UnitBacklog(names.get(cache_id, f"cache id {cache_id}"), partition, incarnation, count, size, low, high, _marks(marks))
        for (cache_id, partition, incarnation), count, size, low, high, marks in zip(*columns, *numbers, strict=True)
    )
    return tuple(sorted(found, key=lambda unit: (unit.cache, unit.partition, unit.incarnation)))


def _marks(bits: int) -> tuple[str, ...]:
    return tuple(name for bit, name in _MARKS.items() if bits & bit)


def resend(settings: ConnectorSettings, secrets: Secrets, cache: str, partition: int | None = None) -> Resend:
    """Mark a cache's units, or one of them, as to be sent again from the cache.

    :raises SettingsError: the connector does not capture the cache, or the cache has no such partition.
    :raises BacklogRefused: nothing is captured for a connector of that name, or its capture has another secret than is kept in Kafka.
    :raises BacklogMissing, BacklogUnavailable, IgniteUnreachable, KafkaUnavailable: the service is not there, or a cluster did not answer.
    """
    with ignite_cluster(settings, secrets) as cluster:
        known = _call(cluster, lambda service: service.status(settings.name))
        units = _asked(settings.name, known, cache, partition)
        secret = _secret(settings, secrets)
        _call(cluster, lambda service: service.mark(settings.name, units), secret)
    return Resend(settings.name, cache, tuple(units["partition"].tolist()))


def _asked(connector: str, known: Mapping[str, Any], cache: str, partition: int | None) -> np.ndarray[Any, np.dtype[np.void]]:
    """The units (dtype UNIT) that are meant."""
    incarnation, count = known.get(f"incarnation.{cache}"), known.get(f"partitions.{cache}", 0)
    if incarnation is None:
        captured = [name for name in known["caches"] if f"incarnation.{name}" in known]
        shown = f"It captures {', '.join(captured[:20]) or 'none'}."
        hint = did_you_mean(cache, captured)
        raise SettingsError("the connector does not capture this cache", f"{hint} {shown}".strip(), connector=connector, cache=cache)
    if partition is not None and not 0 <= partition < count:
        raise SettingsError("the cache has no such partition", f"It has 0 to {count - 1}.", cache=cache, partition=partition)
    partitions = range(count) if partition is None else [partition]
    units = np.empty(len(partitions), UNIT)
    units["cache_id"], units["partition"], units["incarnation"] = protocol.cache_id(cache), partitions, incarnation
    return units


def cleanup(settings: ConnectorSettings, secrets: Secrets, *, force: bool) -> Cleaned:
    """End the capture of a connector that is no longer wanted and destroy its backlog cache; no other connector is touched. Repeatable.

    :param settings: name, internal_topic_prefix, and where both clusters are.
    :param force: also where the newest run did not end gracefully, or the capture is that of a connector whose offsets are in another Kafka
        cluster or under another prefix: what stands in the backlog is then never sent from it. It needs no secret, but an administrator
        of Ignite where users have rights, and asks Kafka nothing.
    :raises NotStopped: the nodes have a backlog of that connector, its newest run neither completed nor stopped gracefully, and there is no
        ``force``.
    :raises BacklogRefused: the capture is another connector's of that name, and there is no ``force``.
    :raises BacklogMissing, BacklogUnavailable, IgniteUnreachable, KafkaUnavailable: a cluster could not be asked; nothing or only a part is
        removed.
    """
    with ignite_cluster(settings, secrets) as cluster:
        if settings.name not in _call(cluster, lambda service: service.connectors()):
            return Cleaned(settings.name, None, None)
        if force:
            removed = _call(cluster, lambda service: service.force_stop(settings.name, destroy=True))
        else:
            _check_graceful(settings, secrets, _call(cluster, lambda service: service.status(settings.name)))
            removed = _call(cluster, lambda service: service.stop(settings.name, destroy=True), _secret(settings, secrets))
    return Cleaned(settings.name, removed["service"], removed["cache"])


def _call(cluster: Cluster, question: Callable[[BacklogService], T], secret: str | None = None) -> T:
    """Ask the service, of another node where the first one goes away: all that is asked here can be repeated."""
    return cluster.ask(lambda connection: question(BacklogService(connection, secret)))


def _secret(settings: ConnectorSettings, secrets: Secrets) -> str | None:
    """The secret of the connector's capture: that of the secrets file, else the one that its runs keep in Kafka; None: it has none."""
    if secrets.ignite.backlog_secret is not None:
        return secrets.ignite.backlog_secret
    clients = kafka_clients(settings, secrets)
    clients.check()
    return read_connector(clients, Topics(clients), settings.internal_topic_prefix, settings.name).capture_secret


def _check_graceful(settings: ConnectorSettings, secrets: Secrets, status: Mapping[str, Any]) -> None:
    clients = kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    check_owner(settings.name, status, owner_of(topics, settings.internal_topic_prefix))
    newest = newest_run(clients, topics, settings.internal_topic_prefix, settings.name)
    if not newest.graceful:
        raise _refused(settings, newest)


def _refused(settings: ConnectorSettings, newest: NewestRun) -> NotStopped:
    if newest.unknown:
        what = "the nodes have a backlog of this connector, and Kafka knows nothing of it"
        cure = "Check the Kafka brokers and the internal topic prefix"
    elif newest.ended:
        what, cure = "the newest run of the connector did not end gracefully", "Start it and stop it, so that its backlog is sent"
    else:
        what = "the newest run of the connector has not ended"
        cure = f"Stop it: ignite-kafka stop {settings.name}; one whose driver is dead is started and stopped"
    return NotStopped(
        what,
        f"{cure}; or clean up with force: what stands in its backlog is then not sent from it.",
        connector=settings.name,
        run_id=newest.run_id or None,
        state=newest.state,
        internal_topic_prefix=settings.internal_topic_prefix,
    )
