"""Entries of an active-active source that come from the cache, not from its captured changes, with their versions.

A scan shows no versions. So the keys that it found are read again, each with value and version at once: a value with
another version than its own would make clusters differ for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...common.arrays import Mask, RowIndex
from ...ignite.entry_versions import NO_ORDER, EntryVersions
from ...ignite.types.model import Page
from ...plan.source_plan import CachePlan
from .backlog_client import BacklogClient
from .batch import page_of_states


@dataclass(frozen=True)
class VersionedPage:
    """Entries of M of the keys that were asked for, as they are now.

    :param rows: M positions among these keys.
    :param page: the M entries.
    :param removed: M flags: the key was removed.
    :param versions: M versions.
    """

    rows: RowIndex
    page: Page
    removed: Mask
    versions: EntryVersions


class VersionedEntries:
    """Reads entries with their versions; not thread-safe.

    :param cluster_id: id of the cluster.
    :param foreign: whether entries that other clusters wrote are sent, too.
    """

    def __init__(self, client: BacklogClient, cluster_id: int, *, foreign: bool) -> None:
        self._client = client
        self._cluster_id = cluster_id
        self._foreign = foreign

    def is_sent(self, versions: EntryVersions) -> Mask:
        """Return a flag for each version: its write is sent.

        Writes of other clusters are sent by these clusters themselves, unless the settings forward them. What has no
        version, such as a key that expired, is not sent.
        """
        sent: Mask = versions.orders != NO_ORDER
        if not self._foreign:
            sent &= versions.clusters == self._cluster_id
        return sent

    def read(self, cache: CachePlan, keys: Sequence[bytes]) -> VersionedPage:
        """Read the entries of N different keys, without those that are not sent.

        :param keys: in Ignite's binary form, not wrapped.
        :raises CacheDestroyed: the cache is no longer the captured one.
        """
        values, versions = self._client.entries(cache.name, keys)
        # a write from before the nodes were configured names no cluster
        versions = replace(versions, clusters=np.where(versions.clusters, versions.clusters, np.int8(self._cluster_id)))
        self._client.check_same(cache)
        rows = np.flatnonzero(self.is_sent(versions))
        states = [(keys[row], values[row]) for row in rows.tolist()]
        removed = np.array([value is None for _, value in states], bool)
        return VersionedPage(rows, page_of_states(states), removed, versions[rows])
