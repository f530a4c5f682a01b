"""Distribution of pairs over tasks, and assignment of batches to pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.verification import task as task_module
from ignite_kafka.verification.direction import Batch, ComparedPair, make_taker
from ignite_kafka.verification.fingerprints import ROW, probe
from ignite_kafka.verification.task import Share, Task, distribute

BOUNDS = ((0, 5), (0, 5))
READER, CACHE, OTHER = (
    ComparedPair("r", "routed", BOUNDS, 0, routed=True),
    ComparedPair("x", "routed", (), 3),
    ComparedPair("y", "y", BOUNDS, 2),
)


def test_every_partition_is_read_once_and_topics_come_first() -> None:
    shares = distribute([READER, CACHE, OTHER], 2)
    topics = [share.topic for share in shares]
    assert topics == sorted(topics, reverse=True)
    read = sorted((share.topic, number, one) for share in shares for number, parts in share.partitions.items() for one in parts)
    caches, of_topics = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)], [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert read == [*((False, *one) for one in caches), *((True, *one) for one in of_topics)]


def task() -> Task:
    return Task((READER, CACHE, OTHER), lambda: cast(Any, None), False, 5, True, probe())


def batch(cache: str | None) -> Batch:
    none = pa.array([], pa.binary())
    return Batch(np.zeros(0, ROW), make_taker(none, none), cache=cache)


def test_batches_are_of_the_target_of_their_cache_and_those_of_no_target_are_left_out() -> None:
    def read_records(_pair: ComparedPair, _partitions: Sequence[int]) -> Iterator[Batch]:
        yield from map(batch, ("x", None, "made meanwhile", "y"))

    direction: Any = SimpleNamespace(read_records=read_records)
    assert [number for number, _ in task().read_batches(direction, Share(True, {0: [0]}))] == [1, 0, 2]


def test_a_task_begins_without_the_free_memory_of_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[bool] = []
    monkeypatch.setattr(task_module, "return_free_memory", lambda: returned.append(True))
    task().begin()
    assert returned == [True]


def test_suspects_are_looked_for_in_their_targets_and_in_routed_topics() -> None:
    suspects = Task(**{**vars(task()), "suspects": {1: np.zeros(1, ROW)}})
    everything = {0: [0], 1: [0], 2: [0]}
    assert set(suspects.select_suspects(Share(True, everything)).partitions) == {0, 1}
    assert set(suspects.select_suspects(Share(False, everything)).partitions) == {1}
