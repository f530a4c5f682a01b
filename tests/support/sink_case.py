"""A topic of updates and tombstones, its cache, a connector between them that is started as a process, and what may die of it."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import NewTopic

from ignite_kafka.plan.slots import slot_of
from tests.support.kafka_proxy import Api
from tests.support.oracle import TopicRecord, ends
from tests.support.processes import SINK_APP, App, AppResult, AppStarter, alive, kill_process
from tests.support.servers import CACHE_TEMPLATE, Brokers, ProxiedBroker
from tests.support.sink_oracle import SinkVerdict, ahead, compare, entries_of, group_offsets, number_of
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster

PARTITIONS = 4
KEYS = 400
_JITTER_S = 0.1


@dataclass
class SinkCase:
    """One topic and its cache. Records of a key are in one partition, in order; the seed gives keys, removals and moments."""

    broker: Brokers
    ignite: IgniteCluster
    directory: Path
    seed: int
    records: int = 12_000
    settings: dict[str, Any] = field(default_factory=dict)
    secrets: dict[str, Any] | None = None
    master: str = "local[2]"

    def __post_init__(self) -> None:
        self.name = f"k{uuid.uuid4().hex[:6]}"
        self.topic = f"in-{self.name}"
        self.cache = f"{CACHE_TEMPLATE}{self.name}"
        self.chance = random.Random(self.seed)
        self._sent = 0
        self._starter = AppStarter(self.directory, self.master, app=SINK_APP)
        self._group = self._new_group()
        self._common = {
            "ignite_addresses": list(self.ignite.addresses),
            "bootstrap_servers": self.broker.clients,
            "topics": [self.topic],
            "topic_prefix": "in-",
            "cache_prefix": CACHE_TEMPLATE,
            "process_updates": True,
            "internal_topic_prefix": f"int-{self.name}",
            "slots": PARTITIONS,
            "batch_size": 100,  # many batches of a small topic
            "push_interval_ms": 20,
            "progress_interval_ms": 500,
        }
        self.broker.admin.create_topics([NewTopic(self.topic, PARTITIONS)])[self.topic].result(REQUEST_S)
        with self.ignite.client() as client:
            client.get_or_create_cache(self.cache)
        self.send(self.records)

    def send(self, count: int, size: int = 20, keys: int = KEYS) -> None:
        """Append records: of few keys, so that each comes often, unless there are to be more; one of six is a tombstone."""
        settings = {
            "linger.ms": 5,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 0,
        }  # idempotent: what is tried again keeps its place
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, **settings})
        for seq in range(self._sent, self._sent + count):
            key = self.chance.randrange(keys)
            value = None if self.chance.random() < 1 / 6 else json.dumps({"seq": seq, "text": f"{seq:0{size}d}"})
            producer.produce(self.topic, value, str(key), key % PARTITIONS, headers=self.headers())
        assert producer.flush(REQUEST_S) == 0
        self._sent += count

    @contextmanager
    def running(self, **named: Any) -> Iterator[App]:
        """A run that is gone with all its processes at the end."""
        settings = {**self._common, **self.settings, **named.pop("settings", {})}
        app = self._starter.start(self.name, None, settings, secrets=named.pop("secrets", self.secrets), **named)
        app.servers = (self.broker.log, self.ignite.log)
        try:
            yield app
        finally:
            app.stop()

    def run(self, **named: Any) -> AppResult:
        with self.running(**named) as app:
            return app.result()

    def committed(self) -> dict[int, int]:
        def found() -> dict[int, int] | None:
            offsets = group_offsets(self._group, self.topic, PARTITIONS)
            if offsets is None:
                self._group = self._new_group()
            return offsets

        return wait_until(found, f"the group's offsets of {self.topic}")

    def _new_group(self) -> Consumer:
        # as uncommitted: so that it does not wait for transactions that are open
        group = {"group.id": f"connect-{self.name}", "isolation.level": "read_uncommitted", "enable.auto.commit": False, "log_level": 2}
        return Consumer({"bootstrap.servers": self.broker.bootstrap, **group})

    def headers(self) -> list[tuple[str, str | bytes | None]]:
        """Headers of the next record."""
        return []

    def entries(self) -> dict[int, int]:
        return entries_of(self.ignite, self.cache)

    @staticmethod
    def entry_of(record: TopicRecord) -> int:
        """Number of a record's entry among :meth:`entries`."""
        return number_of(record)

    def await_moment(self, app: App, most: float = 0.5) -> int:
        """Wait until a random share of the records is committed, and a moment more; how many records are.

        :param most: the largest share.
        """
        wanted = self.chance.randrange(1, int(self.records * most))

        def come() -> int | None:
            assert app.running(), f"the run ended before {wanted} records were committed:\n{app.output_tail()}"
            done = sum(self.committed().values())
            return done if done >= wanted else None

        done = wait_until(come, f"{wanted} records committed by {self.name}")
        time.sleep(self.chance.random() * _JITTER_S)  # anywhere in a batch, not always right behind a commit
        assert done < self.records, "all was done before the fault"
        return done

    def assert_not_ahead(self) -> None:
        """Assert that everything committed is stored; to be called while no run is active."""
        committed = self.committed()
        wrong = ahead(self.broker.bootstrap, self.topic, committed, self.entries(), self.entry_of)
        assert not wrong, f"seed {self.seed}: {len(wrong)} keys are behind what is committed: {wrong[:5]}"

    def assert_same(self) -> SinkVerdict:
        """Assert that the cache equals the topic's fold and the group's offsets are at the topic's end."""
        sunk = compare(self.broker.bootstrap, self.topic, self.entries(), self.entry_of)
        assert not sunk.faults, f"seed {self.seed}: {'; '.join(sunk.faults)}"
        assert sunk.tombstones
        assert self.committed() == {partition: high for partition, (_, high) in ends(self.broker.bootstrap, self.topic).items()}
        return sunk


Round: TypeAlias = Callable[[SinkCase], None]


def executor_killed(case: SinkCase) -> None:
    """On a cluster: an executor with its workers; or the executor alone, whose worker lives on for a while; or one worker."""
    kind = case.chance.choice(["executor", "executor alone", "worker"])
    with case.running() as app:
        case.await_moment(app)
        executor = case.chance.choice(sorted(wait_until(app.executors, "executors"), key=lambda process: process.pid))
        below = executor.children(recursive=True)
        parents = {process.ppid() for process in below}
        # the daemon of the workers has them for children
        workers = [process for process in below if process.pid not in parents]
        for process in {"executor": [executor, *below], "executor alone": [executor], "worker": workers[:1]}[kind]:
            kill_process(process)
        app.result().assert_exit(0)
    case.assert_same()


def driver_killed(case: SinkCase) -> None:
    """The driver with all that it started; nothing is ahead of the cache, and a second run converges."""
    with case.running() as app:
        case.await_moment(app)
        family = app.family()
        for process in family:
            kill_process(process)
        wait_until(lambda: not any(map(alive, family)), "end of the run's processes")
        case.assert_not_ahead()
    assert sum(case.committed().values()) < case.records
    case.run().assert_exit(0)
    case.assert_same()


def slept(case: SinkCase, before_waking: Callable[[], None] = lambda: None) -> None:
    """All processes of a run stop amid its batches, a newer run stores what is left and more, then the older one wakes up.

    :param before_waking: called once the newer run has ended.
    """
    with case.running() as older:
        case.await_moment(older)
        family = older.family()
        for process in family:
            process.suspend()
        try:
            case.send(case.records // 4)
            case.run().assert_exit(0)
            case.assert_same()
            before_waking()
        finally:
            for process in family:
                process.resume()
        older.result().assert_exit(3)
    case.assert_same()


def broker_killed(case: SinkCase) -> None:
    """Before a commit, or while the answer to it is on its way. One slot: see :meth:`tests.faults.conftest.Copy.await_settled`."""
    broker = case.broker
    assert isinstance(broker, ProxiedBroker)
    case.settings |= {"slots": 1}
    before = case.chance.random() < 0.5
    with case.running() as app:
        case.await_moment(app)
        hold = broker.proxy.hold_request if before else broker.proxy.hold_reply
        held = hold(Api.END_TXN, f"{case.name}-0")
        app.reaches(held)
        if not before:
            wait_until(lambda: settled(case), "the markers of the commit")
        broker.kill()
        held.drop()
        broker.start()
        app.result().assert_exit(0)
    case.assert_same()


def settled(case: SinkCase) -> bool:
    return all(stable == high for stable, high in ends(case.broker.bootstrap, f"int-{case.name}-offsets-{case.name}").values())


def node_killed(case: SinkCase) -> None:
    """One of two nodes, whose backup has all that was acknowledged."""
    with case.running() as app:
        case.await_moment(app)
        case.ignite.kill(case.chance.randrange(2))
        app.result().assert_exit(0)
    case.assert_same()


def started_twice(case: SinkCase) -> None:
    """The older run, one commit of which is late, ends as fenced; the newer one finishes; the commit changes nothing."""
    broker = case.broker
    assert isinstance(broker, ProxiedBroker)
    with case.running() as older:
        case.await_moment(older, most=0.2)
        done = case.committed()
        behind = min(range(PARTITIONS), key=lambda partition: done.get(partition, 0))  # has commits left that can be held
        held = broker.proxy.hold_request(Api.END_TXN, f"{case.name}-{slot_of(case.topic, behind, PARTITIONS)}")
        older.reaches(held)
        with case.running() as newer:
            fenced = older.result().assert_exit(3)
            newer.result().assert_exit(0)
        held.release()
    assert fenced.error is not None
    assert fenced.error[0] == "Fenced", fenced.error
    case.assert_same()
