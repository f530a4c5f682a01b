"""Descriptions of the planned caches, each read from the cluster once a task."""

from __future__ import annotations

from ...errors import CacheDestroyed
from ...ignite.cluster import Cluster
from ...ignite.types.model import CacheInfo
from ...plan.source_plan import CachePlan


class CacheInfos:
    """Reads the description of each planned cache once."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._infos: dict[int, CacheInfo] = {}

    def of(self, cache: CachePlan) -> CacheInfo:
        """The description of a cache.

        :raises CacheNotFound: it does not exist any more.
        :raises CacheDestroyed: it was made again with other partitions.
        """
        if cache.cache_id not in self._infos:
            info = self.cluster.cache(cache.name)
            if info.partitions != cache.partitions:
                raise CacheDestroyed("the cache was recreated with other partitions", "Start again.", cache=cache.name)
            self._infos[cache.cache_id] = info
        return self._infos[cache.cache_id]

    def again(self, cache: CachePlan) -> CacheInfo:
        """The same, read once more."""
        self._infos.pop(cache.cache_id, None)
        return self.of(cache)
