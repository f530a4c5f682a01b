"""Stands in for the capture of the backlog service where the nodes have none: changes come by continuous queries of the tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from ...errors import IgniteKafkaError
from ...ignite.backlog_service import has_service
from ...ignite.cluster import Cluster
from ...settings.source import SourceSettings
from .capture import Capture, Captured, Deployments

_NEEDS_SERVICE = ("partition", "update_counter")


def capture_of(settings: SourceSettings, cluster: Cluster, owner: str) -> Capture:
    """The capture of a connector; without the backlog service its stand-in, if the failover policy permits that changes are lost.

    :param owner: see :func:`.capture.owner_of`.
    """
    if settings.failover_policy == "BACKLOG" or cluster.ask(has_service):
        return Capture(settings, cluster, owner)
    return QueryCapture(settings, cluster, owner)


class QueryCapture(Capture):
    """Nothing is captured on the nodes: there is nothing to start, to stop or to find again."""

    by_queries: ClassVar[bool] = True

    def __init__(self, settings: SourceSettings, cluster: Cluster, owner: str) -> None:
        super().__init__(settings, cluster, owner)
        self._present: set[str] = set()
        self._times: Counter[str] = Counter()  # how often a cache was found new

    def check(self) -> None:
        """Make sure that continuous queries can do what the settings ask for.

        :raises SettingsError: they cannot.
        """
        wanted = [name for name in self._settings.provenance_headers if name in _NEEDS_SERVICE]
        if wanted:
            reason = f"no node has the backlog service, and a continuous query of the thin client does not tell {' and '.join(wanted)}"
            remedy = "Leave them out, or put the jar of the backlog service on the class path of every server node (docs/deploy.md)"
            raise self._settings.wrong("provenance_headers", reason, remedy)

    def present(self) -> Captured | None:
        """None: no capture outlives a run."""
        return None

    def start(self, caches: Sequence[str]) -> Captured:
        """These caches; the incarnation is the number of caches that the run has seen under the name."""
        return Captured(0, {name: str(self._times[name]) for name in caches})

    def stop(self) -> None:
        """Do nothing."""

    def deployments(self) -> dict[str, str]:
        """The caches that the connector's lists choose now; a number stands for the deployment id, which nodes do not tell."""
        chosen = self._chosen(self._cluster.cache_names())
        self._times.update(set(chosen) - self._present)
        self._present = set(chosen)
        return {name: f"cache {self._times[name]}" for name in chosen}

    def made_again(self, error: BaseException) -> None:
        """Note the cache that an error calls destroyed: if there is one of that name, it is another."""
        if isinstance(error, IgniteKafkaError):
            self._present.discard(str(error.where.get("cache")))

    def seen(self) -> Deployments:
        """The same, as :meth:`.Captured.seen` gives them."""
        found = self.deployments()
        return self.start(list(found)).seen(found)
