"""Repetition of a strict sink: records that an earlier task may have stored and did not commit.

Put once more in their order, they would take a key back to an older record. So they are read twice: the first time to
find the last record of each key, the second time to store these alone. Each of them is the state that the key has
already, or a newer one.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ..common.arrays import Int64Array
from ..convert.to_ignite import BadRecord, Entries, last_per_key
from ..kafka.consumer import RecordReader
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from .entry_router import CachePart, EntryRouter

log = logging.getLogger(__name__)
_PENDING_ROWS = 100_000  # as many are folded at once, or as many as there are keys
_WAIT_S = 0.2

StoppingRecord = Callable[[Sequence[BadRecord]], BadRecord | None]
"""Function that returns the first of some bad records that stops the run by the error policy; None without one."""


class NewestRecords:
    """Fold of the records of one topic partition and one cache: which offsets a later record of the key supersedes.

    Memory holds each key once, and the offsets.
    """

    def __init__(self) -> None:
        self._keys: list[pa.BinaryArray] = []
        self._offsets: list[Int64Array] = []
        self._pending = 0
        self._folded = 0
        self._superseded: list[Int64Array] = []

    def add(self, keys: pa.BinaryArray, offsets: Int64Array) -> None:
        """Add N records by their keys and offsets, in the order of the partition."""
        self._keys.append(keys)
        self._offsets.append(offsets)
        self._pending += len(keys)
        if self._pending >= max(_PENDING_ROWS, self._folded):
            self._fold()

    def superseded(self) -> Int64Array:
        """Return the offsets of all records but the last one of each key, in ascending order."""
        self._fold()
        return np.sort(np.concatenate([*self._superseded, np.empty(0, np.int64)]))

    def _fold(self) -> None:
        if not self._pending:
            return
        keys = pa.concat_arrays(self._keys)
        records = Entries(np.concatenate(self._offsets), keys, pa.nulls(len(keys), pa.binary()))
        newest = last_per_key(records, overwrite=True)
        self._superseded.append(np.setdiff1d(records.rows, newest.rows, assume_unique=True))
        self._keys = [newest.keys]
        self._offsets = [newest.rows]
        self._pending = 0
        self._folded = len(newest)


@dataclass(frozen=True)
class Repetition:
    """Records of a task's partitions that may be stored already, and the superseded ones among them.

    :param ends: offset behind the last such record, of each partition that has any. Nothing before it is committed
        until all are stored, because superseded records are stored by those that supersede them.
    :param superseded: offsets of the records that a later one of their key supersedes, ascending.
    """

    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    superseded: Mapping[TopicPartition, Int64Array] = field(default_factory=dict)

    def covers(self, place: TopicPartition, position: int) -> bool:
        """Whether records at or behind a position of a partition may be stored already."""
        return position < self.ends.get(place, 0)

    def without_superseded(self, consumed: Consumed, parts: Sequence[CachePart]) -> list[CachePart]:
        """Return the entries of a batch without the superseded ones."""
        superseded = self.superseded.get((consumed.topic, consumed.partition))
        if superseded is None or not len(superseded) or consumed.offsets[0] > superseded[-1]:
            return list(parts)
        at = np.minimum(np.searchsorted(superseded, consumed.offsets), len(superseded) - 1)
        kept = superseded[at] != consumed.offsets
        return [(cache, entries.take(np.flatnonzero(kept[entries.rows]))) for cache, entries in parts]


def read_repetition(
    reader: RecordReader,
    router: EntryRouter,
    ends: Mapping[TopicPartition, int],
    stopping: StoppingRecord,
    ended: Callable[[], bool],
) -> Repetition:
    """Read records that may be stored already, and find the superseded ones.

    :param reader: reads from the task's start offsets to `ends`.
    :param ended: whether the task ends; the result is incomplete then.
    """
    folds: dict[TopicPartition, dict[str, NewestRecords]] = defaultdict(lambda: defaultdict(NewestRecords))
    open_ends = dict(ends)
    count = 0
    while not reader.finished and not ended():
        router.begin_batch()
        for consumed in reader.read(_WAIT_S):
            place = consumed.topic, consumed.partition
            routed = router.route(consumed)
            if (stop := stopping(routed.bad)) is not None:
                open_ends[place] = min(open_ends[place], int(consumed.offsets[stop.row]))
            rows = int(np.searchsorted(consumed.offsets, open_ends[place]))
            for cache, entries in routed.parts:
                part = entries.before(rows)
                folds[place][cache].add(part.keys, consumed.offsets[part.rows])
            count += len(consumed)
    superseded = {
        place: np.sort(np.concatenate([fold.superseded() for fold in by_cache.values()]))
        for place, by_cache in folds.items()
        if by_cache
    }
    left_out = sum(map(len, superseded.values()))
    log.info("%d records may be stored already; %d of them are superseded and not put again", count, left_out)
    return Repetition(open_ends, superseded)
