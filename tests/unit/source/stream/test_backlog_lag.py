"""Lag of a source from the answers of the backlog service, of this jar and of an older one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ignite_kafka.errors import BacklogRefused
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import GIVEN_UP, GONE
from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.metrics.samples import NodeBacklog
from ignite_kafka.source.stream.backlog_lag import BacklogLag, UnitLag, held_by_tasks, read_backlog_lag
from ignite_kafka.state.status import TaskProgress, Waiting

# cache, partition, incarnation, low, high, changes, time or bytes, number of the mark, marks
ROWS = (
    ("a", 0, 1, 6, 9, 4, 90, 0, 0),
    ("a", 3, 1, 1, 1, 1, 80, 0, 0),
    ("b", 1, 2, -1, -1, 0, 0, 1, GIVEN_UP),
    ("gone", 1, 2, 1, 1, 1, 7, 1, 0),
)
ENDS, UNITS = 0x31454B42, 0x31554B42
NODES = ["node 1 entries=3 bytes=300 written=9 fill=0.250", "n2 entries=0 bytes=0 written=0 fill=0.5", "of a newer jar"]


def reply(magic: int) -> memoryview:
    cache = [str(row[0]) for row in ROWS]
    partition, incarnation, *numbers, marks = zip(*(row[1:] for row in ROWS), strict=True)
    longs = np.array([incarnation, *numbers], "<i8").tobytes()
    ints = np.array([[protocol.cache_id(name) for name in cache], partition, marks], "<i4").tobytes()
    return memoryview(np.array([magic, len(ROWS)], "<i4").tobytes() + longs + ints)


class Service(BacklogService):
    """Nodes whose jar has the call `ends`, or is older."""

    def __init__(self, *, older: str | None = None) -> None:
        self._older = older

    def _call(self, method: str, *arguments: Any) -> Any:
        assert arguments == ("c",)
        if method == "ends" and self._older is not None:
            raise BacklogRefused("refused", "", code=self._older)
        return {"status": {"caches": ["a", "b"], "nodes": NODES}, "ends": reply(ENDS), "units": reply(UNITS)}[method]


def lag(service: BacklogService) -> BacklogLag:
    def ask(question: Callable[[BacklogService], Any]) -> Any:
        return question(service)

    return read_backlog_lag(ask, "c")


def test_lag_is_by_cache_and_partition_with_the_time_of_the_oldest_change() -> None:
    read = lag(Service())
    assert read.units == (UnitLag("a", 0, 6, 9, 4, 90), UnitLag("a", 3, 1, 1, 1, 80), UnitLag("b", 1, -1, -1, 0, 0, GIVEN_UP))
    assert read.partitions() == [PartitionLag("a", 0, 5, 9, 4), PartitionLag("a", 3, 0, 1, 1)]
    assert read.counts() == {"a": 5, "b": 0}
    assert read.waiting() == {"a": Waiting(5, 80), "b": Waiting(0, 0)}
    assert read.sends_again
    assert not BacklogLag(("a",), (UnitLag("a", 0, 1, 1, 1, 1, GONE),)).sends_again


def test_nodes_have_their_buffers_and_regions() -> None:
    assert lag(Service()).nodes == (NodeBacklog("node 1", 3, 300, 0.25), NodeBacklog("n2", 0, 0, 0.5))


def test_an_older_jar_counts_the_whole_backlog_and_names_no_times() -> None:
    older = lag(Service(older="OLDER_JAR"))
    assert older.counts() == {"a": 5, "b": 0}
    assert older.waiting()["a"] == Waiting(5, 0)
    with pytest.raises(BacklogRefused):
        lag(Service(older="FORBIDDEN"))


def test_an_answer_of_another_form_is_refused() -> None:
    service = Service()
    service._call = lambda method, *_: reply(UNITS) if method == "ends" else {}  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="not units"):
        service.ends("c")


def test_tasks_of_continuous_queries_report_what_they_hold() -> None:
    tasks = [TaskProgress(1, 1, True, {}, waiting={"a": Waiting(3, 50)}), TaskProgress(1, 1, True, {}, waiting={"b": Waiting()})]
    assert held_by_tasks(tasks) == {"a": Waiting(3, 50), "b": Waiting()}
