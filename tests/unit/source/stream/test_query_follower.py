"""Caches followed by continuous queries, with the cluster, its queries and the topic in memory, over any order of steps and faults."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Generator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka.errors import CacheDestroyed, IgniteUnreachable, KafkaUnavailable
from ignite_kafka.events import CACHES_SENT_AGAIN, CHANGES_MISSING
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.continuous_query import CacheEvents, ContinuousQueries
from ignite_kafka.ignite.types.model import CacheInfo, Page
from ignite_kafka.kafka.records import Records
from ignite_kafka.plan.slots import SlotState, UnitKey, UnitOffset
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.runtime.counts import CacheCount
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.batch import page_of_states
from ignite_kafka.source.stream.query_follower import QueryFollower
from ignite_kafka.source.stream.query_sender import QuerySender, slot_of_cache, tasks_of_caches
from ignite_kafka.source.stream.rate_limit import RateLimiter
from ignite_kafka.state.slot_writer import SlotWriter
from tests.support.event_log import event_log, ids

INFO = CacheInfo("c", 1, 8)
CACHE = CachePlan("c", 1, "t", 8, 2)
NEVER: Callable[[], None] = lambda: None  # noqa: E731


def long(value: int) -> bytes:
    return struct.pack("<Bq", 4, value)


class World:
    """A cluster with one cache, its queries, and the topic of a connector."""

    def __init__(self, **settings: Any) -> None:
        named: dict[str, Any] = {
            "name": "c",
            "ignite_addresses": ("a:1",),
            "bootstrap_servers": "a:1",
            "key_converter": "ignite-binary",
            "value_converter": "ignite-binary",
            "poll_interval_ms": 1,
            "batch_bytes": 1_024,
            "run_mode": "continuous",
            "process_removals": True,
            "failover_policy": "FULL_SNAPSHOT",
        }
        made = SourceSettings(**{**named, **settings})
        self.plan = TransferPlan("c", "s", 1, 4, made, (CACHE,))
        self.entries: dict[int, int] = {}
        self.topic: list[tuple[bytes, bytes | None]] = []
        self.alive: list[Queries] = []
        self.state = SlotState(slot_of_cache(CACHE, 4))
        self.members = {"one", "two"}
        self.meanwhile: Callable[[], None] = NEVER
        self.fails: Callable[[], bool] = lambda: False
        self.counts = {slot: {"c": CacheCount()} for slot in range(4)}
        self.follower = self.new_follower()
        self.sender = self.new_sender()

    def new_follower(self, gap: str = "") -> QueryFollower:
        return QueryFollower(self.plan, [CACHE], RateLimiter(None), gap, self.begin, self.scan)

    def new_sender(self) -> QuerySender:
        return QuerySender(self.plan, [CACHE], cast(Cluster, self), self.counts, lambda slot: cast(SlotWriter, Writer(self)))

    def cache(self, name: str) -> CacheInfo:
        return INFO

    def nodes(self) -> frozenset[str]:
        return frozenset(self.members)

    def put(self, key: int, value: int) -> None:
        self.entries[key] = value
        self._notify(key, value)

    def remove(self, key: int) -> None:
        if self.entries.pop(key, None) is not None:
            self._notify(key, None)

    def _notify(self, key: int, value: int | None) -> None:
        page = page_of_states([(long(key), None if value is None else long(value))])
        for queries in self.alive:
            queries.events.append(CacheEvents("c", page, np.array([value is None])))

    def begin(self, cluster: Cluster, caches: Sequence[str], interval_ms: int, expired: bool) -> ContinuousQueries:
        assert (list(caches), expired) == (["c"], self.plan.settings.process_removals)
        self.alive = [Queries(self)]
        return cast(ContinuousQueries, self.alive[0])

    def scan(self, cluster: Cluster, info: CacheInfo, partitions: Sequence[int], *, page_bytes: int) -> Generator[Page, None, None]:
        for partition in partitions:
            found = [(long(key), long(value)) for key, value in self.entries.items() if key % 8 == partition]
            self.meanwhile()
            page = page_of_states(found)
            yield Page(partition, page.rows, page.data, True)
            self.meanwhile()

    def lose(self) -> None:
        """Lose the connection, and with it what was on its way."""
        for queries in self.alive:
            queries.lost = True
            queries.events.clear()
        self.alive = []

    def step(self) -> None:
        """One step; a task continues after an error with another sender."""
        try:
            self.follower.begin(cast(Cluster, self), self.sender)
            self.follower.step(cast(Cluster, self), self.sender)
        except (KafkaUnavailable, IgniteUnreachable):
            self.sender.close()
            self.sender = self.new_sender()

    def settle(self) -> None:
        """Steps without faults until everything is sent."""
        self.meanwhile, self.fails = NEVER, lambda: False
        self.step()
        while not self.follower.all_loaded or any(queries.events for queries in self.alive):
            self.step()
        self.step()

    @property
    def folded(self) -> dict[bytes, bytes]:
        """The topic after compaction."""
        return {key: value for key, value in dict(self.topic).items() if value is not None}

    @property
    def expected(self) -> dict[bytes, bytes]:
        return {long(key): long(value) for key, value in self.entries.items()}


class Queries:
    """The queries of one connection."""

    address = "a:1"

    def __init__(self, world: World) -> None:
        self._world = world
        self.events: list[CacheEvents] = []
        self.lost = self.ended = False
        self.doubtful: list[str] = []
        self.begun_again: list[str] = []

    def read(self, wait_s: float) -> CacheEvents | None:
        if self.lost:
            raise IgniteUnreachable("the connection is lost")
        return self.events.pop(0) if self.events else None

    def check(self, timeout_s: float) -> list[str]:
        found, self.doubtful = self.doubtful, []
        return found

    def begin_again(self, cache: str) -> None:
        self.begun_again.append(cache)

    def end(self) -> None:
        self.ended = True
        self._world.alive = []


class Writer:
    """A slot's transactions."""

    past_limits = commit_requested = False

    def __init__(self, world: World) -> None:
        self._world, self.state = world, world.state
        self._data: list[tuple[bytes, bytes | None]] = []
        self._offsets: list[tuple[bytes, bytes]] = []
        self.types_sent: dict[int, Any] = {}
        self.uses_sent: dict[str, Any] = {}

    def send_control(self, *_: object) -> None: ...

    def send(self, topic: str, partitions: int | None, records: Records, topic_id: str = "") -> None:
        self._data += zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True)

    def unit_done(self, cache: str, partition: int, incarnation: str, snapshot_id: str, records: int, **_: Any) -> None:
        offset = UnitOffset(1, incarnation, snapshot_id, True, records)
        self._offsets.append((UnitKey("c", cache, partition).to_json(), offset.to_json()))

    def commit(self) -> None:
        if self._world.fails():
            raise KafkaUnavailable("the commit failed")
        self._world.topic += self._data
        for key, value in self._offsets:
            self.state.apply(key, value)
        self._data, self._offsets = [], []

    def close(self) -> None: ...


def test_entries_then_changes() -> None:
    world = World()
    for key in range(100):
        world.put(key, key)
    world.settle()
    assert len(world.topic) == 100
    assert world.folded == world.expected
    world.put(5, 500)
    world.remove(6)
    world.settle()
    assert world.topic[100:] == [(long(5), long(500)), (long(6), None)]
    assert world.folded == world.expected
    assert sum(count["c"].records for count in world.counts.values()) == 102
    assert {unit.records for unit in world.state.units.values()} == {12, 13}


@pytest.mark.parametrize("policy", ["NONE", "FULL_SNAPSHOT"])
@pytest.mark.parametrize("seed", range(20))
def test_the_topic_becomes_the_cache_whatever_changes_and_fails(policy: str, seed: int) -> None:
    """Changes at every point of a scan, and commits that fail; nothing is lost where no query is."""
    chance, world = random.Random(seed), World(failover_policy=policy)

    def change() -> None:
        for _ in range(chance.randrange(4)):
            key = chance.randrange(40)
            if chance.random() < 0.3:
                world.remove(key)
            else:
                world.put(key, chance.randrange(1_000_000))

    for key in range(40):
        world.put(key, key)
    world.meanwhile, world.fails = change, lambda: chance.random() < 0.3
    for _ in range(chance.randrange(5, 60)):
        world.step()
        change()
    world.settle()
    assert world.folded == world.expected


@pytest.mark.parametrize("seed", range(20))
def test_full_snapshot_makes_up_for_lost_connections(seed: int) -> None:
    chance, world = random.Random(seed), World()

    def change() -> None:
        world.put(chance.randrange(40), chance.randrange(1_000_000))
        if chance.random() < 0.1:
            world.lose()

    world.meanwhile, world.fails = change, lambda: chance.random() < 0.2
    for _ in range(50):
        world.step()
        change()
    world.lose()
    world.put(1, -1)
    world.meanwhile = NEVER
    world.step()
    world.settle()
    assert world.folded == world.expected


def test_policy_none_reports_a_gap_and_goes_on() -> None:
    world = World(failover_policy="NONE")
    world.put(1, 1)
    with event_log() as emitted:
        world.settle()
        assert CHANGES_MISSING.id not in ids(emitted)
        world.lose()
        world.put(1, 2)
        world.step()
        world.settle()
        world.put(2, 3)
        world.settle()
        assert ids(emitted).count(CHANGES_MISSING.id) == 1
    assert world.topic == [(long(1), long(1)), (long(2), long(3))]


def test_a_task_that_takes_over_begins_with_a_gap() -> None:
    world = World(failover_policy="NONE")
    world.put(1, 1)
    world.settle()
    world.follower = world.new_follower("the stream was interrupted")
    with event_log() as emitted:
        world.settle()
    assert ids(emitted) == [CHANGES_MISSING.id]
    assert len(world.topic) == 1, "what the offsets call loaded is not sent again"


def test_a_node_that_leaves_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.put(1, 1)
    world.settle()
    monkeypatch.setattr(world.follower, "_node_checks", SimpleNamespace(due=lambda: True))
    world.members.add("three")
    world.settle()
    assert len(world.topic) == 1
    world.members.discard("one")
    with event_log() as emitted:
        world.settle()
    assert ids(emitted) == [CACHES_SENT_AGAIN.id]
    assert world.topic == [(long(1), long(1))] * 2


def test_a_cache_that_may_be_another_is_followed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.put(1, 1)
    world.settle()
    queries = world.alive[0]
    queries.doubtful = ["c"]
    world.settle()
    assert queries.begun_again == ["c"]
    assert world.topic == [(long(1), long(1))] * 2
    queries.doubtful = ["c"]
    monkeypatch.setattr(world, "cache", lambda name: CacheInfo("c", 1, 16))
    with pytest.raises(CacheDestroyed, match="other partitions"):
        world.step()


def test_removals_are_left_out_on_request() -> None:
    world = World(process_removals=False)
    world.put(1, 1)
    world.settle()
    world.put(2, 2)
    world.remove(1)
    world.put(3, 3)
    world.settle()
    assert world.topic == [(long(key), long(key)) for key in (1, 2, 3)]


def test_the_end_sends_what_has_arrived() -> None:
    world = World()
    world.settle()
    queries = world.alive[0]
    world.put(1, 1)
    world.follower.drain(world.sender)
    assert queries.ended
    assert world.folded == world.expected


def test_slots_with_caches_are_shared_by_tasks() -> None:
    caches = tuple(CachePlan(f"c{number}", number, f"t{number}", 8, 2) for number in range(6))
    plan = World().plan
    assert tasks_of_caches(plan, 8) == ((slot_of_cache(CACHE, 4),),)
    several = TransferPlan("c", "s", 1, 4, plan.settings, caches)
    slots = sorted({slot_of_cache(cache, 4) for cache in caches})
    for most in (1, 2, 8):
        tasks = tasks_of_caches(several, most)
        assert len(tasks) == min(most, len(slots))
        assert sorted(slot for task in tasks for slot in task) == slots
