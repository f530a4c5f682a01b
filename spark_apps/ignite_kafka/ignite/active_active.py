"""Configuration and counters of nodes whose caches other clusters write, too (docs/active-active.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from ..errors import BacklogMissing, BacklogRefused
from .backlog_errors import OLDER_JAR, REMEDIES
from .backlog_service import HAS_VERSIONS, BacklogService, has_service
from .cluster import Cluster

NOT_ACTIVE_ACTIVE = "NOT_ACTIVE_ACTIVE"
"""Code of the refusal of caches that the nodes' configuration does not name."""
EXPIRES = "EXPIRES"
"""Code of the refusal of caches with an expiry policy."""

REMOVED_KEYS = "ignite-kafka-tombstones-"
"""First part of the name of the nodes' cache with the removed keys of a cache; the cache's name follows."""

T = TypeVar("T")


@dataclass(frozen=True)
class VersionCounts:
    """What nodes have counted for a cache since they started; a node that restarts or leaves lowers a number.

    :param foreign: writes of other clusters that were older than the present ones, and were not stored.
    :param local: such writes of this cluster.
    :param keys: texts of keys of the last writes that were not stored.
    """

    foreign: int = 0
    local: int = 0
    keys: tuple[str, ...] = ()

    def since(self, before: VersionCounts) -> VersionCounts:
        """Return the difference to earlier counts, with the present keys."""
        return VersionCounts(max(0, self.foreign - before.foreign), max(0, self.local - before.local), self.keys)


def check_active_active(cluster: Cluster, caches: Collection[str]) -> int:
    """Check that the nodes keep and compare versions of these caches.

    :returns: the cluster's id, from 1 to 31; 0 without caches.
    :raises BacklogMissing: no node has the jar.
    :raises BacklogRefused: the jar is older, the nodes' configuration lacks one of the caches, or a cache has an expiry
        policy.
    """
    if not cluster.ask(has_service):
        remedy = "Put the jar on the class path of every server node, and configure them (docs/active-active.md)"
        raise BacklogMissing("no node of the cluster has the jar, which active_active needs", remedy)
    if _ask(cluster, lambda service: service.version()) < HAS_VERSIONS:
        what = "the jar of the backlog service is older than active_active"
        raise BacklogRefused(what, REMEDIES[OLDER_JAR], code=OLDER_JAR)
    clusters = {cache: _cluster_of(cluster, cache) for cache in caches}
    if missing := sorted(cache for cache, number in clusters.items() if not number):
        raise BacklogRefused(
            "the nodes keep no versions of a cache that is to be active-active",
            "Name it in IGNITE_KAFKA_ACTIVE_ACTIVE_CACHES of all server nodes, restart them, and create it anew "
            "(docs/active-active.md)",
            code=NOT_ACTIVE_ACTIVE,
            cache=", ".join(missing),
        )
    for cache in clusters:
        if cluster.configuration(cache).expires:
            raise BacklogRefused(
                "a cache that is to be active-active has an expiry policy: its own writes would expire, and those of "
                "other clusters would not",
                "Create the cache without the policy, and let a program remove what is old",
                code=EXPIRES,
                cache=cache,
            )
    return max(clusters.values(), default=0)


def read_counts(cluster: Cluster, cache: str) -> VersionCounts:
    """Read the counts of a cache.

    :raises BacklogRefused: there is no such cache, or the user may not read it.
    """
    answer = _ask(cluster, lambda service: service.active_active(cache))
    if not answer["cluster"]:
        return VersionCounts()
    return VersionCounts(int(answer["foreignRefused"]), int(answer["localRefused"]), tuple(answer["lastKeys"]))


def _cluster_of(cluster: Cluster, cache: str) -> int:
    return int(_ask(cluster, lambda service: service.active_active(cache))["cluster"])


def _ask(cluster: Cluster, question: Callable[[BacklogService], T]) -> T:
    return cluster.ask(lambda connection: question(BacklogService(connection)))
