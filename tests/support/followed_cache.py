"""A cache that a stream follows with continuous queries; cluster, queries and topic are in memory."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np

from ignite_kafka.common.deadline import Clock
from ignite_kafka.errors import IgniteUnreachable, KafkaUnavailable
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.continuous_query import CacheEvents, ContinuousQueries
from ignite_kafka.ignite.types.model import CacheInfo, Page
from ignite_kafka.kafka.records import Records
from ignite_kafka.plan.slots import SlotState, UnitKey, UnitOffset
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.batch import page_of_states
from ignite_kafka.source.stream.query_follower import QueryFollower
from ignite_kafka.source.stream.query_sender import QuerySender, slot_of_cache
from ignite_kafka.source.stream.rate_limit import RateLimiter
from ignite_kafka.state.slot_writer import SlotWriter
from ignite_kafka.state.status import CacheCount

INFO = CacheInfo("c", 1, 8)
CACHE = CachePlan("c", 1, "t", 8, 2)
NEVER: Callable[[], None] = lambda: None  # noqa: E731


def long(value: int) -> bytes:
    return struct.pack("<Bq", 4, value)


class World:
    """A cluster with one cache, its queries, and the topic of a connector."""

    def __init__(self, clock: Clock = time.monotonic, **settings: Any) -> None:
        self.clock = clock
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
        self.page_rows = 1_000
        self.topic: list[tuple[bytes, bytes | None]] = []
        self.alive: list[Queries] = []
        self.state = SlotState(slot_of_cache(CACHE, 4))
        self.members = {"one", "two"}
        self.meanwhile: Callable[[], None] = NEVER
        self.fails: Callable[[], bool] = lambda: False
        self.counts = {slot: {"c": CacheCount()} for slot in range(4)}
        self.limiter = RateLimiter.of_task(made.max_records_per_second, 4, 4, 0.0)
        self.follower = self.new_follower()
        self.sender = self.new_sender()

    def new_follower(self, gap: str = "") -> QueryFollower:
        return QueryFollower(self.plan, [CACHE], self.limiter, gap, self.begin, self.scan, lambda: self.clock())

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
            for first in range(0, max(1, len(found)), self.page_rows):
                self.meanwhile()
                page = page_of_states(found[first : first + self.page_rows])
                yield Page(partition, page.rows, page.data, first + self.page_rows >= len(found))
                self.meanwhile()

    def lose(self) -> None:
        """Lose the connection and the changes in transit."""
        for queries in self.alive:
            queries.lost = True
            queries.events.clear()
        self.alive = []

    def step(self) -> None:
        """Make one step; after an error, continue with a new sender as a task does."""
        try:
            self.follower.begin(cast(Cluster, self), self.sender)
            self.follower.step(cast(Cluster, self), self.sender)
        except (KafkaUnavailable, IgniteUnreachable):
            self.sender.close()
            self.sender = self.new_sender()

    def drain(self) -> None:
        """Do what a task does when its epoch ends; an error ends it."""
        with suppress(KafkaUnavailable, IgniteUnreachable):
            self.follower.drain(cast(Cluster, self), self.sender)

    def settle(self) -> None:
        """Make steps without faults until everything is sent."""
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
        self.lost = self.asked_to_end = False
        self.silent = False  # the node does not answer
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
        self.asked_to_end = True
        self._world.alive = []

    @property
    def ended(self) -> bool:
        """Whether the changes that were sent before the end are read."""
        return self.asked_to_end and not self.events and not self.silent

    def close(self) -> None:
        self.lost = True


class Writer:
    """A slot's transactions."""

    past_limits = commit_requested = False

    def __init__(self, world: World) -> None:
        self._world, self.state = world, world.state
        self._data: list[tuple[bytes, bytes | None]] = []
        self._offsets: list[tuple[bytes, bytes]] = []
        self.types_sent: dict[int, Any] = {}
        self.uses_sent: dict[str, Any] = {}

    def send_type_record(self, *_: object) -> None: ...

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
