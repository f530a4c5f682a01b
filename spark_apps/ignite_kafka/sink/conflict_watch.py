"""Watch over the writes that nodes refuse because a newer one is stored, for events and a metric."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from .. import events
from ..common.redaction import in_message
from ..errors import IgniteKafkaError
from ..ignite.active_active import VersionCounts, read_counts
from ..ignite.cluster import Cluster

log = logging.getLogger(__name__)
_HIDDEN = "not shown"


class ConflictWatch:
    """Counts refused writes of an active-active sink's caches, from its first look on; not thread-safe.

    They are counted by the nodes, so writes of this cluster's programs and of other sinks are among them. The nodes
    also count the removals that they had to forget, for another event.

    :param shows_keys: whether events show keys.
    """

    def __init__(self, cluster: Cluster, *, shows_keys: bool) -> None:
        self._cluster = cluster
        self._shows_keys = shows_keys
        self._before: dict[str, VersionCounts] = {}
        self._refused: dict[str, int] = {}
        self._forgotten: dict[str, int] = {}

    def look(self, caches: Iterable[str]) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Read the counts, and emit events for each cache with new ones.

        :returns: all refused writes, and all removals that were forgotten, by cache.
        """
        for cache in caches:
            try:
                now = read_counts(self._cluster, cache)
            except IgniteKafkaError as error:  # if the error matters, the tasks raise it, too
                log.warning("refused writes cannot be counted: %s", error)
                continue
            new = now.since(self._before.get(cache, now))
            self._before[cache] = now
            self._refused[cache] = self._refused.get(cache, 0) + new.foreign + new.local
            self._forgotten[cache] = self._forgotten.get(cache, 0) + new.dropped
            self._report(cache, new)
        return dict(self._refused), dict(self._forgotten)

    def _report(self, cache: str, new: VersionCounts) -> None:
        if new.dropped:
            events.emit(events.REMOVALS_FORGOTTEN, cache=cache, count=new.dropped)
        if count := new.foreign + new.local:
            keys = in_message(", ".join(new.keys)) if self._shows_keys else _HIDDEN
            events.emit(
                events.CONFLICT_DECIDED, cache=cache, count=count, foreign=new.foreign, local=new.local, keys=keys
            )
