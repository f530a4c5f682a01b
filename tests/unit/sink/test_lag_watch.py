"""Partitions whose records wait, on a clock of the test."""

from __future__ import annotations

from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.sink.lag_watch import LagWatch


class Watched:
    def __init__(self) -> None:
        self.now_s = 50.0
        self._watch = LagWatch(120.0, lambda: self.now_s)

    def after(self, seconds: float, *lags: PartitionLag) -> list[int]:
        """Partitions that are returned after so many seconds, in which the positions were read every 30."""
        found = []
        for _ in range(int(seconds / 30)):
            self.now_s += 30
            found += [one.partition for one in self._watch.stalled(lags)]
        return found


def lag(partition: int, position: int, count: int, opened: int = 0) -> PartitionLag:
    return PartitionLag("t", partition, position, position + count + opened, count, opened)


def test_a_partition_that_stands_is_returned_once() -> None:
    watched = Watched()
    assert watched.after(120, lag(0, 5, 9), lag(1, 9, 0)) == []
    assert watched.after(600, lag(0, 5, 12), lag(1, 9, 0)) == [0]


def test_one_that_moves_however_slowly_is_not() -> None:
    watched = Watched()
    for position in range(20):
        assert watched.after(90, lag(0, position, 1_000)) == []


def test_one_that_stands_again_is_returned_again() -> None:
    watched = Watched()
    assert watched.after(300, lag(0, 5, 9)) == [0]
    assert watched.after(300, lag(0, 6, 8)) == [0]


def test_time_without_records_does_not_count() -> None:
    """Nor records behind an open transaction."""
    watched = Watched()
    assert watched.after(900, lag(0, 5, 0)) == []
    assert watched.after(900, lag(0, 5, 0, 70)) == []
    assert watched.after(90, lag(0, 5, 3)) == []
    assert watched.after(30, lag(0, 5, 3)) == [0]
