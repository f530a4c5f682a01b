"""Capture of changes on the nodes for one connector: its start, checks and end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ... import events
from ...common.retry import retry
from ...errors import BacklogMissing, BacklogRefused, BacklogUnavailable, IgniteUnreachable
from ...ignite.backlog_errors import IGNITE_RANGE, REMEDIES
from ...ignite.backlog_service import BacklogService, has_service
from ...ignite.cluster import Cluster
from ...kafka.topics import Topics
from ...plan.routing import select
from ...plan.slots import slots_of_tasks
from ...plan.source_plan import CachePlan, TransferPlan
from ...runtime.epoch import LONGEST_S, Unit
from ...settings.source import SourceSettings
from .backlog_lag import BacklogLag, read_backlog_lag
from .start_policy import NO_CAPTURE_ID

if TYPE_CHECKING:
    from ...runtime.spark_job import RunSlots

T = TypeVar("T")
log = logging.getLogger(__name__)

_PATIENCE_S = 60.0

Deployments = Mapping[str, str]
"""Deployment id by cache name; a cache that is created again has a new id.

For captured caches `<deployment id>/<incarnation>`.
"""


@dataclass(frozen=True)
class Captured:
    """Id of a capture, and the incarnations of the captured caches.

    :param incarnations: by cache name.
    """

    capture_id: int
    incarnations: Mapping[str, str]

    def seen(self, deployments: Deployments) -> Deployments:
        """Return `<deployment id>/<incarnation>` of each captured cache that still exists, to detect recreated caches.

        A cache that was emptied keeps its deployment id, so the incarnation is needed.
        """
        return {
            name: f"{deployments[name]}/{number}" for name, number in self.incarnations.items() if name in deployments
        }

    @staticmethod
    def of(answer: Mapping[str, Any]) -> Captured:
        """Parse the backlog service's description of a capture."""
        prefix = "incarnation."
        incarnations = {
            name.removeprefix(prefix): str(value) for name, value in answer.items() if name.startswith(prefix)
        }
        return Captured(int(answer["captureId"]), incarnations)

    def named(self, cache: CachePlan, deployment: str = "") -> CachePlan:
        """Return the plan of a cache with the incarnation that its offset records will have.

        :param deployment: deployment id that was seen before the capture began.
        """
        return replace(cache, incarnation=self.incarnations[cache.name], deployment=deployment)


NO_CAPTURE = Captured(NO_CAPTURE_ID, {})


def deployment_of(seen: str) -> str:
    """Extract the deployment id from a value of :meth:`Captured.seen`."""
    return seen.partition("/")[0]


def owner_of(topics: Topics, prefix: str) -> str:
    """Return an owner id for captures, so that connectors of one name on several Kafka clusters are told apart.

    It consists of the Kafka cluster and the prefix of the topics with the offsets.
    """
    return f"{topics.cluster_id()}/{prefix}"


def check_owner(connector: str, status: Mapping[str, Any], owner: str) -> None:
    """Check that a capture under this connector's name was started by this connector.

    :param status: status of the capture, from the service.
    :raises BacklogRefused: the capture belongs to another connector of that name.
    """
    if status["owner"] != owner:
        what = f"connector {connector!r} captures for {status['owner']!r}, not for {owner!r}"
        raise BacklogRefused(what, REMEDIES["OTHER_OWNER"], code="OTHER_OWNER")


class Capture:
    """Capture of changes for one connector, by the backlog service on the nodes."""

    longest_epoch_s: ClassVar[float] = LONGEST_S
    """Maximum duration of an epoch, in seconds."""
    follows_cores: ClassVar[bool] = True
    """Whether an epoch ends when the number of cores changes; tasks that wait for a core end it in any case."""
    has_backlog: ClassVar[bool] = True
    """Whether nodes hold the changes until they are sent; else the tasks report those that they hold."""

    def __init__(self, settings: SourceSettings, cluster: Cluster, owner: str) -> None:
        """Prepare calls of the service, without calling it yet.

        :param owner: see :func:`owner_of`: several connectors may have one name.
        :ivar secret: secret of the capture, for calls that change the capture; at first from the cluster's credentials.
        """
        self._settings = settings
        self._cluster = cluster
        self._owner = owner
        self.secret = cluster.credentials.backlog_secret
        self.contract = 0
        """Version of the service's interface on the nodes; 0 before :meth:`check`."""
        self.heartbeat_cache = ""
        """Name of the cache of heartbeats, which is captured beside the others; empty: there is none."""
        self.heartbeats_renewed = False
        """Whether :meth:`seen` has found the cache of heartbeats created again, so that it is not captured."""
        self._heartbeat_deployment = ""  # of the captured cache of heartbeats

    def run_slots(self) -> RunSlots:
        """Return the function that runs a Spark task of this capture."""
        from .task import stream_slots  # here, because commands without a run load neither Spark nor converters

        return stream_slots

    def tasks(self, plan: TransferPlan, most: int) -> tuple[tuple[int, ...], ...]:
        """Distribute the plan's slots over the Spark tasks of an epoch.

        :param most: maximum number of tasks.
        """
        return slots_of_tasks(plan.slots, most)

    def report_begun(self, caches: int, capture_id: int) -> None:
        """Report that changes are captured from now on (event 15140, or 15145 with continuous queries).

        :param caches: number of captured caches.
        """
        events.emit(events.CAPTURE_BEGUN, connector=self._settings.name, caches=caches, capture_id=capture_id)

    def check(self) -> None:
        """Check that the nodes have a compatible backlog service, free for this connector's name.

        :raises BacklogMissing: no node has the service.
        :raises BacklogRefused: something else captures under the connector's name, or the nodes' jar is older than this
            program.
        """
        if not self._cluster.ask(has_service):
            remedy = (
                "Put its jar on the class path of every server node (docs/deploy.md); it runs on Ignite "
                f"{IGNITE_RANGE}. Without it run_mode continuous has failover_policy FULL_SNAPSHOT or NONE "
                "(docs/queries.md), on Ignite 2.10 and newer"
            )
            raise BacklogMissing("no node of the cluster has the backlog service", remedy)
        self.contract = self._retry(lambda service: service.version())
        status = self._retry(self._status)
        if status is not None:
            check_owner(self._settings.name, status, self._owner)

    def present(self) -> Captured | None:
        """Return the capture that an earlier run left on the nodes; None if there is none."""
        status = self._retry(self._status)
        return None if status is None else Captured.of(status)

    def start(self, caches: Sequence[str]) -> Captured:
        """Start or change the capture to exactly these caches; every change after the call is captured.

        Without caches, no capture is begun: the nodes would refuse it.
        """
        if not caches and self.present() is None:
            return NO_CAPTURE
        settings = self._settings
        named = {
            "backlogCacheName": settings.backlog_cache_name,
            "backlogServiceName": settings.backlog_service_name,
            "backlogCacheBackups": str(settings.backlog_cache_backups),
            "backlogMemoryRegionName": settings.backlog_memory_region_name,
            "backlogFlushFreq": str(settings.backlog_flush_freq_ms),
            "backlogOwner": self._owner,
        }
        captured = [*caches, self.heartbeat_cache] if self.heartbeat_cache else caches
        # before the start: a cache that is created again meanwhile counts as renewed
        deployment = self._retry(lambda service: self._deployments(service)).get(self.heartbeat_cache, "")
        started = Captured.of(self._retry(lambda service: service.start(settings.name, named, captured)))
        self._heartbeat_deployment = deployment
        self.heartbeats_renewed = False
        return started

    def stop(self) -> None:
        """End the capture, if there is one, and destroy its backlog."""
        self._retry(lambda service: service.stop(self._settings.name, True))

    def deployments(self) -> dict[str, str]:
        """Return the deployment ids of the caches that match `cache_whitelist` and `cache_blacklist`."""
        deployments = self._ask(self._deployments)
        before = self._heartbeat_deployment
        self.heartbeats_renewed = bool(before) and deployments.get(self.heartbeat_cache, before) != before
        return {name: deployments[name] for name in self._chosen(deployments)}

    @staticmethod
    def _deployments(service: BacklogService) -> dict[str, str]:
        return {name: deployment for name, _, deployment, *_ in service.caches()}

    def _chosen(self, caches: Iterable[str]) -> list[str]:
        """Select the caches that match `cache_whitelist` and `cache_blacklist`."""
        settings = self._settings
        return select(caches, settings.cache_whitelist, settings.cache_blacklist, settings.backlog_cache_name)

    def seen(self) -> Deployments:
        """Return deployment id and incarnation of the matching caches; a changed value means a recreated cache."""
        deployments = self.deployments()
        status = self._ask(self._status)
        return deployments if status is None else {**deployments, **Captured.of(status).seen(deployments)}

    def made_again(self, error: BaseException) -> None:
        """Do nothing about a destroyed cache, because the backlog service itself tracks recreated caches."""

    def highest_numbers(self) -> dict[Unit, int]:
        """Return the highest update number in the backlog of each cache partition, as the end of a bounded run."""
        name = self._settings.name
        self._retry(lambda service: service.barrier(name))
        units = self._retry(lambda service: service.units(name))
        places = zip(units.unit["cache_id"].tolist(), units.unit["partition"].tolist(), strict=True)
        return {place: high for place, high in zip(places, units.high.tolist(), strict=True) if high >= 0}

    def lag(self) -> BacklogLag:
        """Read the changes that are captured and not sent; raise the errors of :func:`.read_backlog_lag`."""
        return read_backlog_lag(self._ask, self._settings.name)

    def _status(self, service: BacklogService) -> Mapping[str, Any] | None:
        """Ask the service for the status of the connector's capture; None if there is no capture."""
        name = self._settings.name
        return service.status(name) if name in service.connectors() else None

    def _retry(self, question: Callable[[BacklogService], T]) -> T:
        """Repeat a call of the backlog service until it answers.

        The service cannot answer while nodes come and go; every call may be repeated.
        """
        return retry(
            lambda: self._ask(question),
            min(_PATIENCE_S, self._settings.retry_timeout_ms / 1000),
            lambda error: isinstance(error, (BacklogUnavailable, IgniteUnreachable)),
            failed=lambda error: log.warning("a call of the backlog service is retried: %s", error),
        )

    def _ask(self, question: Callable[[BacklogService], T]) -> T:
        return self._cluster.ask(lambda connection: question(BacklogService(connection, self.secret)))
