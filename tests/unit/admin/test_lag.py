"""Lag of a sink by topic, from the offsets of its group, and of a source by cache, from its backlog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from confluent_kafka.admin import OffsetSpec

from ignite_kafka.admin.backlog import BacklogView, CacheCapture, UnitBacklog
from ignite_kafka.admin.lag import sink_lag, sink_partitions, source_lag
from ignite_kafka.kafka.topics import Topics

LATEST = type(OffsetSpec.latest())


class FakeTopics:
    """Topic t of three partitions with the records 10 to 99."""

    def __init__(self, committed: dict[int, int], opened: int = 0) -> None:
        self._committed, self._open = committed, opened

    def counts(self, names: Iterable[str]) -> dict[str, int]:
        return {name: 3 for name in names if name == "t"}

    def offsets(self, places: list[tuple[str, int]], spec: Any, *, committed: bool = False) -> dict[tuple[str, int], int]:
        return dict.fromkeys(places, (100 if committed else 100 + self._open) if isinstance(spec, LATEST) else 10)

    def group_offsets(self, group: str, places: list[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, None]]:
        assert group == "connect-c"
        return {place: (self._committed[place[1]], None) for place in places if place[1] in self._committed}


def lag(**committed: int) -> dict[str, int]:
    topics = FakeTopics({int(name[1:]): offset for name, offset in committed.items()})
    return sink_lag(cast(Topics, topics), "connect-c", ["t", "deleted"])


def test_lag_of_a_sink_counts_from_its_groups_offsets() -> None:
    assert lag(p0=100, p1=95, p2=90) == {"t": 15}


def test_records_behind_an_open_transaction_are_counted_apart() -> None:
    """A reader of committed records does not see them yet, and the connector has copied all that it can."""
    topics = cast(Topics, FakeTopics({0: 100, 1: 95, 2: 0}, opened=6))
    found = sink_partitions(topics, "connect-c", ["t"])
    assert [(one.position, one.end, one.count, one.open) for one in found] == [(100, 106, 0, 6), (95, 106, 5, 6), (10, 106, 90, 6)]


def test_a_partition_without_an_offset_counts_from_its_first_record() -> None:
    assert lag(p0=100, p1=100) == {"t": 90}


def test_records_that_retention_deleted_do_not_count() -> None:
    assert lag(p0=100, p1=100, p2=0) == {"t": 90}


def test_lag_of_a_source_is_its_backlog_by_cache() -> None:
    units = (UnitBacklog("a", 0, 1, 5, 50, 1, 5, ()), UnitBacklog("a", 1, 1, 7, 70, 1, 7, ()))
    view = BacklogView("c", 1, 1, (CacheCapture("a", 1, 2), CacheCapture("b", 1, 2)), (), units)
    assert source_lag(view) == {"a": 12, "b": 0}
