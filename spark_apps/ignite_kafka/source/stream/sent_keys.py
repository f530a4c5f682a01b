"""Look-up of keys in a cache, where an entry that fails the cache's filter counts as absent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...common.arrays import Mask
from ...convert.filter.entries import EntryFilter
from ...convert.filter.failed_rows import Decided, decide_each_row
from ...ignite.types.model import CacheInfo
from ...plan.source_plan import CachePlan
from .backlog_client import BacklogClient
from .batch import page_of_states


class SentKeys:
    """Looks up which keys have an entry to send in one cache, by its content and its filter.

    :param entry_filter: None: every entry is sent.
    """

    def __init__(
        self, client: BacklogClient, cache: CachePlan, info: CacheInfo, entry_filter: EntryFilter | None
    ) -> None:
        self._client = client
        self._cache = cache
        self._info = info
        self._filter = entry_filter

    def locate(self, keys: Sequence[bytes]) -> tuple[npt.NDArray[np.int32], Mask]:
        """Return the Ignite partition of each key, and a flag for each: the cache has an entry that passes the filter.

        :param keys: not wrapped.
        """
        partitions, is_present = self._client.locate(self._cache.name, keys)
        if self._filter is None or not is_present.any():
            return partitions, is_present
        rows = np.flatnonzero(is_present)
        values = self._client.look_up(self._cache.name, [keys[row] for row in rows.tolist()])
        is_present = is_present.copy()
        is_present[rows] = self.kept(values, [keys[row] for row in rows.tolist()])
        return partitions, is_present

    def kept(self, values: Sequence[bytes | None], keys: Sequence[bytes]) -> Mask:
        """Return a flag for each looked-up key: its entry exists and passes the filter, so the topic keeps its record.

        An entry for which the filter fails counts as passing: the topic keeps the records it has of the key.

        :param values: not wrapped; None: the cache does not have the key.
        """
        kept = np.array([value is not None for value in values], bool)
        entry_filter = self._filter
        rows = np.flatnonzero(kept).tolist()
        if entry_filter is None or not rows:
            return kept

        def part(first: int, last: int) -> Decided:
            page = page_of_states([(keys[row], values[row]) for row in rows[first:last]])
            return entry_filter.of_pages([page], self._info, self._client.cluster)

        is_kept, errors = decide_each_row(len(rows), part)
        is_kept[list(errors)] = True
        kept[rows] = is_kept
        return kept
