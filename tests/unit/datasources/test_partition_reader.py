"""Partitions of one cache, read for `ignite-backlog`."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka.datasources.partition_reader import PartitionReader
from ignite_kafka.errors import CacheDestroyed
from ignite_kafka.ignite.backlog_units import GIVEN_UP, GONE, MISSED, UnitStates
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_client import BacklogClient
from ignite_kafka.source.stream.unit_table import UnitTable
from tests.support.backlog_simulator import Simulator

CACHE = CachePlan("cache", 7, "", 4, 0, "1", load=False)
PLAN = TransferPlan("mine", "", 0, 1, SourceSettings(name="mine"), (CACHE,))
TABLE = UnitTable.of(PLAN, [0])


class Client(BacklogClient):
    """Partitions with marks, and what is cleared of them."""

    def __init__(self, marks: dict[int, tuple[int, int]]) -> None:
        """:param marks: partition to number and bits of its mark."""
        super().__init__(cast(Cluster, None), "mine")
        self._marks = marks
        self.cleared: list[tuple[int, int]] = []

    def units(self) -> UnitStates:
        none = np.zeros(len(self._marks), np.int64)
        numbers, bits = zip(*self._marks.values(), strict=True) if self._marks else ((), ())
        units = TABLE.units[list(self._marks)]
        return UnitStates(units, none, none, none, none, np.array(numbers, np.int64), np.array(bits, np.int32))

    def clear(self, units: np.ndarray[Any, Any], mark_numbers: Any) -> None:
        assert len(units) == len(mark_numbers)
        self.cleared += zip(units["partition"].tolist(), mark_numbers.tolist(), strict=True)


@pytest.mark.parametrize(
    ("partitions", "marks", "cleared"),
    [
        pytest.param([0, 1, 2], {0: (5, GIVEN_UP), 2: (6, MISSED)}, [(0, 5), (2, 6)], id="some are marked"),
        pytest.param([0, 1], {1: (5, MISSED)}, [(1, 5)], id="one is marked"),
        pytest.param([0, 1], {3: (5, MISSED)}, [], id="another one is marked"),
        pytest.param([0, 1], {}, [], id="none is marked"),
    ],
)
def test_only_marked_partitions_are_cleared(
    partitions: Sequence[int], marks: dict[int, tuple[int, int]], cleared: list[tuple[int, int]]
) -> None:
    client = Client(marks)
    reader = PartitionReader(PLAN, TABLE, client)
    reader.clear(partitions)
    assert client.cleared == cleared
    assert reader.marks == {}


def test_a_cache_that_is_no_longer_captured_ends_the_query() -> None:
    simulator = Simulator()
    simulator.mark_all(GONE)
    cluster = SimpleNamespace(ask=simulator.ask, credentials=simulator.credentials)
    client = BacklogClient(cast(Cluster, cluster), "mine", lambda connection, secret: connection)
    with pytest.raises(CacheDestroyed, match="made again"):
        PartitionReader(PLAN, TABLE, client).read_changes()
