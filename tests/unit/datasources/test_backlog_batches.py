"""Batches of `ignite-backlog` over a backlog in memory: the rows fold to the cache, across restarts of the query."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.datasources.backlog_batches import BacklogBatchPlanner, Batch
from ignite_kafka.datasources.backlog_offset import Offset
from ignite_kafka.datasources.partition_reader import PartitionReader
from ignite_kafka.datasources.streamed_cache import StreamedCache
from ignite_kafka.errors import ChangesLost
from ignite_kafka.ignite.backlog_changes import EXPIRED, REMOVED
from ignite_kafka.ignite.backlog_units import ASKED, GIVEN_UP, UnitStates
from ignite_kafka.ignite.binary import raw_entries
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_client import BacklogClient
from ignite_kafka.source.stream.capture import Captured
from ignite_kafka.source.stream.unit_reader import WHOLE_BACKLOG
from ignite_kafka.source.stream.unit_table import UnitTable
from tests.support.backlog_changes import PARTITIONS, key_bytes
from tests.support.backlog_simulator import Simulator
from tests.support.randomness import examples

POLL_MS = 1


class Client(BacklogClient):
    """The simulator in place of the service."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(cast(Cluster, simulator), "mine", lambda connection, secret: connection)
        self._simulator = simulator

    def units(self) -> UnitStates:
        return self._simulator.unit_states()


class Target(StreamedCache):
    """The simulator's cache, which is always captured."""

    def start_capture(self, cluster: Cluster) -> tuple[StreamedCache, Captured]:
        return self, Captured(1, {self.cache.name: self.cache.incarnation})

    def client(self, cluster: Cluster) -> BacklogClient:
        return Client(cast(Simulator, cluster))

    def reader(self, cluster: Cluster) -> PartitionReader:
        plan = TransferPlan("mine", "", 0, 1, self.settings, (self.cache,))
        return PartitionReader(plan, UnitTable.of(plan, [0]), self.client(cluster), lambda: cast(Simulator, cluster).now_s)


class Query:
    """A query as Spark runs it: requests the end of a batch, logs it, reads the batch, and logs that it is done."""

    def __init__(self, simulator: Simulator, *, reload: bool = True) -> None:
        self.simulator = simulator
        simulator.bytes_for_all = WHOLE_BACKLOG  # else a partition that has more is loaded, without its removals
        cache = replace(simulator.plan, load=False, deployment="")
        source = SourceSettings(name="mine", poll_interval_ms=POLL_MS)
        self._target = Target(cache, source, reload, 2)
        self.state: dict[bytes, bytes] = {}
        self.read: list[tuple[bytes, bytes | None]] = []
        self._open()
        self.offset = self.planner.beginning()

    def _open(self) -> None:
        self.planner = BacklogBatchPlanner(lambda: cast(Cluster, self.simulator), lambda _: self._target)

    def restart(self, *, amid: bool = False) -> None:
        """Start the query anew from its checkpoint.

        :param amid: after the end of a batch is logged, and before the batch is read.
        """
        start = self.offset
        end = self.planner.plan_next(start) if amid else start
        self._open()
        if end is not start:
            self._read(start, Offset.from_dict(json.loads(json.dumps(end.to_dict()))))

    def batch(self) -> bool:
        """Run one batch, if there is one."""
        start = self.offset
        end = self.planner.plan_next(start)
        if end is start:
            return False
        self._read(start, end)
        self.planner.acknowledge(end)
        return True

    def _read(self, start: Offset, end: Offset) -> None:
        self._apply(self.planner.batch(start, end))
        self.offset = end

    def _apply(self, batch: Batch) -> None:
        for piece in batch.pieces:
            entries = raw_entries(Page(-1, len(piece), memoryview(piece.entries), True))
            for (key, value), kind in zip(entries, piece.kind.tolist(), strict=True):
                self._row(key, None if kind in (REMOVED, EXPIRED) else value)
        for partition in batch.load:
            for key, value in self.simulator.scan(partition):
                self._row(key, value)

    def _row(self, key: bytes, value: bytes | None) -> None:
        self.read.append((key, value))
        if value is None:
            self.state.pop(key, None)
        else:
            self.state[key] = value

    def settle(self) -> None:
        """Until the backlog is empty."""
        for _ in range(3):
            self.simulator.now_s += 6.0
            self.simulator.barrier("mine")
            for _ in range(200):
                if not self.batch():
                    break
            else:
                raise AssertionError("the query does not settle")
        assert not any(unit.backlog or unit.expired or unit.marks for unit in self.simulator.units)


@pytest.fixture
def simulator() -> Simulator:
    made = Simulator()
    made.close = lambda: None  # type: ignore[attr-defined]
    return made


KEYS, PLACES = st.integers(0, 7), st.integers(0, PARTITIONS - 1)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "put", "remove", "expire"]), KEYS),
    st.tuples(st.sampled_from(["flush", "put_back"]), PLACES),
    st.tuples(st.sampled_from(["batch", "batch", "restart", "restart amid", "node_joins"]), st.just(0)),
    st.tuples(st.just("meanwhile"), st.tuples(st.sampled_from(["put", "put_through", "remove", "expire"]), KEYS)),
)


def follow(query: Query, steps: list[tuple[str, Any]]) -> None:
    calls: dict[str, Callable[[], object]] = {
        "batch": query.batch,
        "restart": query.restart,
        "restart amid": partial(query.restart, amid=True),
    }
    for name, what in steps:
        if name == "meanwhile":
            query.simulator.meanwhile["lookup"].append(partial(getattr(query.simulator, what[0]), what[1]))
        elif name in calls:
            calls[name]()
        else:
            getattr(query.simulator, name)(what)
    query.simulator.meanwhile.clear()
    query.settle()


@settings(max_examples=examples(200))
@given(steps=st.lists(STEPS, max_size=40))
def test_the_rows_fold_to_the_cache(steps: list[tuple[str, Any]]) -> None:
    simulator = Simulator()
    simulator.close = lambda: None  # type: ignore[attr-defined]
    query = Query(simulator)
    follow(query, steps)
    assert query.state == simulator.entries


def test_a_batch_that_was_done_is_not_repeated_after_a_restart(simulator: Simulator) -> None:
    query = Query(simulator)
    simulator.put_through(1)
    start = query.offset
    end = query.planner.plan_next(start)
    query._read(start, end)
    query._open()  # Spark has logged that the batch is done, and the query ends before it is acknowledged
    query.settle()
    assert [key for key, _ in query.read] == [key_bytes(1)]


def test_partitions_whose_changes_were_given_up_are_loaded(simulator: Simulator) -> None:
    query = Query(simulator)
    for key in range(2 * PARTITIONS):
        simulator.put(key)
    simulator.give_up(1)
    simulator.give_up(2)
    query.settle()
    assert query.state == simulator.entries


def test_a_load_continues_after_a_restart(simulator: Simulator) -> None:
    query = Query(simulator)
    for key in range(2 * PARTITIONS):
        simulator.put(key)
    simulator.mark_all(ASKED)
    query.planner.plan_next(query.offset)
    simulator.units[1].marks = 0  # a part of the clearing was done before the query ended
    simulator.units[3].marks = 0
    query.restart(amid=True)
    query.settle()
    assert query.state == simulator.entries


def test_lost_changes_end_a_query_that_does_not_reload(simulator: Simulator) -> None:
    query = Query(simulator, reload=False)
    simulator.give_up(3)
    simulator.mark_all(ASKED)
    with pytest.raises(ChangesLost, match="partitions 3"):
        query.batch()
    assert simulator.units[3].marks & GIVEN_UP
