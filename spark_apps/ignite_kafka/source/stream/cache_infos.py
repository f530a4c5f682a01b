"""Cached descriptions of a task's planned caches, each read from the cluster once."""

from __future__ import annotations

from ...errors import CacheDestroyed
from ...ignite.cluster import Cluster
from ...ignite.types.model import CacheInfo
from ...plan.source_plan import CachePlan


class CacheInfos:
    """Descriptions of planned caches by cache id; each is read from the cluster on the first use."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._infos: dict[int, CacheInfo] = {}

    def of(self, cache: CachePlan) -> CacheInfo:
        """Return the description of a cache; only the first call reads it from the cluster.

        :raises CacheNotFound: the cache does not exist any more.
        :raises CacheDestroyed: the cache was created again with other partitions.
        """
        if cache.cache_id not in self._infos:
            info = self.cluster.cache(cache.name)
            if info.partitions != cache.partitions:
                raise CacheDestroyed("the cache was recreated with other partitions", "Start again.", cache=cache.name)
            self._infos[cache.cache_id] = info
        return self._infos[cache.cache_id]

    def again(self, cache: CachePlan) -> CacheInfo:
        """Read the description of a cache anew, after the cache may have been recreated."""
        self._infos.pop(cache.cache_id, None)
        return self.of(cache)
