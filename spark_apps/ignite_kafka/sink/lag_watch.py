"""Detection of topic partitions whose records wait although the sink runs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from ..common.deadline import Clock
from ..kafka.partition_lag import PartitionLag
from ..kafka.topics import TopicPartition

STALLED_S = 120.0
"""Time without progress after which a partition with waiting records is reported, in seconds."""


@dataclass
class _Position:
    offset: int
    since_s: float
    reported: bool = False


class LagWatch:
    """Detector of topic partitions with lag whose committed offset does not move.

    :param stalled_s: time without progress before a partition with waiting records is returned, in seconds.
    """

    def __init__(self, stalled_s: float, clock: Clock = time.monotonic) -> None:
        self.stalled_s = stalled_s
        self._clock = clock
        self._positions: dict[TopicPartition, _Position] = {}

    def stalled(self, partitions: Iterable[PartitionLag]) -> list[PartitionLag]:
        """Return partitions with lag and no progress for `stalled_s`, each only once in a standstill.

        Records behind an open transaction do not wait for the sink.
        """
        stalled = []
        now = self._clock()
        for lag in partitions:
            place = lag.name, lag.partition
            before = self._positions.get(place)
            if before is None or before.offset != lag.position or not lag.count:
                self._positions[place] = _Position(lag.position, now)
            elif now - before.since_s >= self.stalled_s and not before.reported:
                before.reported = True
                stalled.append(lag)
        return stalled
