"""Configuration and counters of nodes whose caches other clusters write, too (docs/active-active.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import BacklogMissing, BacklogRefused
from .backlog_errors import FORBIDDEN, OLDER_JAR, REMEDIES
from .backlog_service import HAS_VERSIONS, BacklogService, has_service
from .cluster import Cluster

NOT_ACTIVE_ACTIVE = "NOT_ACTIVE_ACTIVE"
"""Code of the refusal of caches that the nodes' configuration does not name."""
EXPIRES = "EXPIRES"
"""Code of the refusal of caches with an expiry policy."""
READS_THROUGH = "READS_THROUGH"
"""Code of the refusal of caches whose reads load entries from a cache store."""
UNVERSIONED = "UNVERSIONED"
"""Code of the refusal of caches that other clusters write, too, by connectors that would move them without versions."""

REMOVED_KEYS = "ignite-kafka-tombstones-"
"""First part of the name of the nodes' cache with the removed keys of a cache; the cache's name follows."""

T = TypeVar("T")


@dataclass(frozen=True)
class VersionCounts:
    """What nodes have counted for a cache since they started; a node that restarts or leaves lowers a number.

    :param foreign: writes of other clusters that were older than the present ones, and were not stored.
    :param local: such writes of this cluster.
    :param keys: texts of keys of the last writes that were not stored.
    :param dropped: versions of removed keys for which a node had no memory.
    """

    foreign: int = 0
    local: int = 0
    keys: tuple[str, ...] = ()
    dropped: int = 0

    def since(self, before: VersionCounts) -> VersionCounts:
        """Return the difference to earlier counts, with the present keys."""
        return VersionCounts(
            max(0, self.foreign - before.foreign),
            max(0, self.local - before.local),
            self.keys,
            max(0, self.dropped - before.dropped),
        )


@dataclass(frozen=True)
class VersionRules:
    """Configuration of nodes for caches that other clusters write, too.

    :param cluster_id: id of the cluster, from 1 to 31; 0 without caches.
    :param rules: by cache, what decides before the order of writes: `field <name>` or `class <name>`; or empty.
    """

    cluster_id: int
    rules: Mapping[str, str]


def check_active_active(cluster: Cluster, caches: Collection[str]) -> VersionRules:
    """Check that the nodes keep and compare versions of these caches, and return how.

    :raises BacklogMissing: no node has the jar.
    :raises BacklogRefused: the jar is older, the nodes' configuration lacks one of the caches, or a cache has an expiry
        policy or reads through to a cache store.
    """
    if not cluster.ask(has_service):
        remedy = "Put the jar on the class path of every server node, and configure them (docs/active-active.md)"
        raise BacklogMissing("no node of the cluster has the jar, which active_active needs", remedy)
    if _ask(cluster, lambda service: service.version()) < HAS_VERSIONS:
        what = "the jar of the backlog service is older than active_active"
        raise BacklogRefused(what, REMEDIES[OLDER_JAR], code=OLDER_JAR)
    answers = {cache: _answer(cluster, cache) for cache in caches}
    if missing := sorted(cache for cache, answer in answers.items() if not answer["cluster"]):
        raise BacklogRefused(
            "the nodes keep no versions of a cache that is to be active-active",
            "Name it in IGNITE_KAFKA_ACTIVE_ACTIVE_CACHES of all server nodes, restart them, and create it anew "
            "(docs/active-active.md)",
            code=NOT_ACTIVE_ACTIVE,
            cache=", ".join(missing),
        )
    for cache, answer in answers.items():
        if answer["readsThrough"]:
            raise BacklogRefused(
                "a cache that is to be active-active reads through to a cache store: what a read loads counts as a new "
                "write, and would replace newer ones of other clusters",
                "Create the cache without read-through, and let a program load what it needs",
                code=READS_THROUGH,
                cache=cache,
            )
        if cluster.configuration(cache).expires:
            raise BacklogRefused(
                "a cache that is to be active-active has an expiry policy: its own writes would expire, and those of "
                "other clusters would not",
                "Create the cache without the policy, and let a program remove what is old",
                code=EXPIRES,
                cache=cache,
            )
    cluster_id = max((int(answer["cluster"]) for answer in answers.values()), default=0)
    return VersionRules(cluster_id, {cache: answer["rule"] for cache, answer in answers.items()})


def read_rule(cluster: Cluster, cache: str) -> str:
    """Read what decides between clusters before the order of writes of a cache; empty: nothing.

    :raises BacklogRefused: there is no such cache, or the user may not read it.
    """
    return str(_answer(cluster, cache).get("rule", ""))


def check_unversioned(cluster: Cluster, caches: Collection[str]) -> None:
    """Check that no other cluster writes these caches, before a connector without `active_active` moves them.

    Nothing is found by a user who may not call the backlog service, or on nodes without it or with an older jar.

    :raises BacklogRefused: by the nodes' configuration other clusters write one of the caches, too.
    """
    if shared := sorted(_shared_caches(cluster).intersection(caches)):
        raise BacklogRefused(
            "other clusters write a cache, too, and without active_active its entries lose their versions: what one "
            "cluster wrote counts as a new write of another",
            "Set active_active to true. Set allow_unversioned to true instead if that is meant: records for other "
            "readers than these clusters, or a topic that is one more program that writes (docs/active-active.md)",
            code=UNVERSIONED,
            cache=", ".join(shared),
        )


def _shared_caches(cluster: Cluster) -> frozenset[str]:
    if not cluster.ask(has_service):
        return frozenset()
    try:
        return _ask(cluster, lambda service: service.active_active_caches())
    except BacklogRefused as error:
        if error.where["code"] not in {OLDER_JAR, FORBIDDEN}:
            raise
        return frozenset()


def read_counts(cluster: Cluster, cache: str) -> VersionCounts:
    """Read the counts of a cache.

    :raises BacklogRefused: there is no such cache, or the user may not read it.
    """
    answer = _answer(cluster, cache)
    if not answer["cluster"]:
        return VersionCounts()
    return VersionCounts(
        int(answer["foreignRefused"]),
        int(answer["localRefused"]),
        tuple(answer["lastKeys"]),
        int(answer["tombstonesDropped"]),
    )


def _answer(cluster: Cluster, cache: str) -> dict[str, Any]:
    return _ask(cluster, lambda service: service.active_active(cache))


def _ask(cluster: Cluster, question: Callable[[BacklogService], T]) -> T:
    return cluster.ask(lambda connection: question(BacklogService(connection)))
