"""Capture by continuous queries, if the nodes have no backlog service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from ... import events
from ...errors import IgniteKafkaError
from ...ignite.backlog_service import has_service
from ...ignite.cluster import Cluster
from ...ignite.continuous_query import check_supported
from ...plan.source_plan import TransferPlan
from ...settings.source import SourceSettings
from .capture import Capture, Captured, Deployments

if TYPE_CHECKING:
    from ...runtime.spark_job import RunSlots

_NEEDS_SERVICE = ("partition", "update_counter")


def capture_of(settings: SourceSettings, cluster: Cluster, owner: str) -> Capture:
    """Choose how changes are captured: by the backlog service or by continuous queries.

    A :class:`QueryCapture` if the nodes have no backlog service and the failover policy allows lost changes.

    :param owner: see :func:`.capture.owner_of`.
    """
    if settings.failover_policy == "BACKLOG" or cluster.ask(has_service):
        return Capture(settings, cluster, owner)
    return QueryCapture(settings, cluster, owner)


class QueryCapture(Capture):
    """Capture by the tasks' continuous queries; nothing on the nodes has to be started, stopped or resumed."""

    longest_epoch_s: ClassVar[float] = 10 * 365 * 86_400.0  # no end: each end of a query is a gap
    follows_cores: ClassVar[bool] = False  # for the same reason
    has_backlog: ClassVar[bool] = False

    def __init__(self, settings: SourceSettings, cluster: Cluster, owner: str) -> None:
        super().__init__(settings, cluster, owner)
        self._present: set[str] = set()
        self._times: Counter[str] = Counter()  # how often a new cache of a name was seen

    def run_slots(self) -> RunSlots:
        """Return the function that runs a Spark task with continuous queries of whole caches."""
        from .query_task import query_slots  # here, as in the base class

        return query_slots

    def tasks(self, plan: TransferPlan, most: int) -> tuple[tuple[int, ...], ...]:
        """Distribute the slots that have a cache over the Spark tasks of an epoch."""
        from .query_sender import tasks_of_caches  # here, as in :meth:`run_slots`

        return tasks_of_caches(plan, most)

    def report_begun(self, caches: int, capture_id: int) -> None:
        """Report that continuous queries replace the missing backlog service (event 15145)."""
        settings = self._settings
        events.emit(events.QUERIES_BEGUN, connector=settings.name, caches=caches, policy=settings.failover_policy)

    def check(self) -> None:
        """Check that the nodes' continuous queries support the settings.

        :raises IgniteKafkaError: the nodes' Ignite is older than 2.10.
        :raises SettingsError: continuous queries do not support a provenance header.
        """
        self._cluster.ask(check_supported)
        unsupported = [name for name in self._settings.provenance_headers if name in _NEEDS_SERVICE]
        if unsupported:
            headers = " and ".join(unsupported)
            reason = (
                f"no node has the backlog service, and a continuous query of the thin client does not tell {headers}"
            )
            remedy = (
                "Leave them out, or put the jar of the backlog service on the class path of every server node "
                "(docs/deploy.md)"
            )
            raise self._settings.wrong("provenance_headers", reason, remedy)

    def present(self) -> Captured | None:
        """Return None, because no capture outlives a run."""
        return None

    def start(self, caches: Sequence[str]) -> Captured:
        """Return an incarnation for each cache, counted by the run, because no capture runs on the nodes."""
        return Captured(0, {name: str(self._times[name]) for name in caches})

    def stop(self) -> None:
        """Do nothing: no capture runs on the nodes."""

    def deployments(self) -> dict[str, str]:
        """Return the caches that match the lists; a count of recreations replaces the unknown deployment id."""
        chosen = self._chosen(self._cluster.cache_names())
        self._times.update(set(chosen) - self._present)
        self._present = set(chosen)
        return {name: f"cache {self._times[name]}" for name in chosen}

    def made_again(self, error: BaseException) -> None:
        """Note a cache that was reported as destroyed, so an existing cache of its name counts as new."""
        if isinstance(error, IgniteKafkaError):
            self._present.discard(str(error.where.get("cache")))

    def seen(self) -> Deployments:
        """Return the matching caches, each with a number that changes when the cache is created again."""
        deployments = self.deployments()
        return self.start(list(deployments)).seen(deployments)
