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

    def choose(self, versions: EntryVersions, removed: Mask) -> tuple[RowIndex, EntryVersions]:
        """Choose what is sent of N keys, and return its rows and versions.

        Writes of other clusters are sent by these clusters themselves, unless the settings forward them. A removed key
        without a version, such as one that expired, is not sent.

        :param removed: N flags: the key has no value.
        """
        # a write from before the nodes were configured names no cluster
        clusters = np.where(versions.clusters, versions.clusters, np.int8(self._cluster_id))
        sent = (versions.orders != NO_ORDER) | ~removed
        if not self._foreign:
            sent &= clusters == self._cluster_id
        rows = np.flatnonzero(sent)
        return rows, replace(versions, clusters=clusters)[rows]

    def read(self, cache: CachePlan, keys: Sequence[bytes]) -> VersionedPage:
        """Read the entries of N different keys, and choose which of them are sent.

        :param keys: in Ignite's binary form, not wrapped.
        :raises CacheDestroyed: the cache is no longer the captured one.
        """
        values, versions = self._client.entries(cache.name, keys)
        self._client.check_same(cache)
        removed = np.array([value is None for value in values], bool)
        rows, of_rows = self.choose(versions, removed)
        page = page_of_states([(keys[row], values[row]) for row in rows.tolist()])
        return VersionedPage(rows, page, removed[rows], of_rows)
