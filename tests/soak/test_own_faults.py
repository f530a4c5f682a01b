"""Faults that an operator or another program causes, on three brokers and two or three nodes, under a stream and a sink.

Each is judged from outside: nothing is lost or comes twice; the connectors flow again, or end with an error that names the cause.
``SEED`` gives moments and nodes. All tests share the servers.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from ignite_kafka import events
from tests.faults.conftest import Copy, make_copy
from tests.soak.stream_and_sink import KINDS, StreamAndSink, has_event
from tests.stream.conftest import MakeStream, small_cluster
from tests.support.broker_faults import BrokerFaults
from tests.support.frozen_workers import suspended
from tests.support.processes import App
from tests.support.sink_case import SinkCase
from tests.support.sink_oracle import NOT_YET
from tests.support.three_brokers import brokers, shared_brokers
from tests.support.traffic import TrafficProgram
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, Jars, KafkaCluster

__all__ = ["brokers", "shared_brokers"]

SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
THIRD = 2
FROZEN_S = 20.0  # longer than brokers (6 s) and nodes (10 s) wait for one that does not answer
TOO_FEW_S = 30.0
SLOW_BYTES = 4_000.0  # a second
# pyignite leaves the socket open of a node that it cannot reach
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def shared_nodes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """Two nodes; the addresses name a third that does not run yet."""
    nodes = small_cluster(tmp_path_factory.mktemp("nodes"), jars, 3)
    try:
        for number in range(THIRD):
            nodes.start_node(number)
        yield nodes
    finally:
        nodes.stop()


@pytest.fixture
def nodes(shared_nodes: IgniteCluster) -> Iterator[IgniteCluster]:
    yield shared_nodes
    for number in range(THIRD):
        if not shared_nodes.node(number).running():
            shared_nodes.start_node(number)
    await_owners(shared_nodes)


@dataclass
class World:
    """The servers and the two connectors, as a fault needs them."""

    brokers: KafkaCluster
    nodes: IgniteCluster
    both: StreamAndSink
    chance: random.Random

    @property
    def connectors(self) -> tuple[str, str]:
        return self.both.followed.name, self.both.case.name


def replicas_reassigned(world: World) -> None:
    """Transaction and group coordinators move, because their partitions leave the broker for a while."""
    for _ in range(2):
        world.both.send()
        world.brokers.reassign(["__transaction_state", "__consumer_offsets"])
        world.both.flow("coordinators moved")


def leaders_elected(world: World) -> None:
    """As by kafka-leader-election, of all topics at once, data topics included."""
    for _ in range(5):
        world.both.send()
        assert world.brokers.move_leaders(list(world.brokers.admin.list_topics(timeout=REQUEST_S).topics), world.chance)
        world.both.flow("leaders elected", 1)


def group_coordinator_killed(world: World) -> None:
    """As soon as the sink has committed something of a batch."""
    case, group = world.both.case, f"connect-{world.both.case.name}"
    for _ in range(3):
        coordinator = wait_until(partial(coordinator_of, world.brokers, group), "the group's coordinator")
        before = sum(case.committed().values())
        world.both.send()
        wait_until(partial(committed_beyond, case, before), "a commit")
        world.brokers.kill(coordinator)
        world.both.flow(f"coordinator {coordinator} of the group killed", 1)
        world.brokers.start(coordinator)
        world.brokers.await_in_sync()


def coordinator_of(brokers: KafkaCluster, group: str) -> int | None:
    """Id of the broker that coordinates a group; None while it has none."""
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap, "log_level": 0})  # an older one may ask a broker that was killed for ever
    try:
        described = admin.describe_consumer_groups([group], request_timeout=REQUEST_S)[group].result(REQUEST_S)
    except KafkaException as error:
        if error.args[0].code() in NOT_YET:
            return None
        raise
    return described.coordinator.id if described.coordinator else None


def committed_beyond(case: SinkCase, records: int) -> bool:
    return sum(case.committed().values()) > records


def broker_frozen(world: World) -> None:
    frozen = world.chance.choice(list(world.brokers.brokers))
    with suspended(world.brokers.brokers[frozen].process.pid):
        world.both.send()
        time.sleep(FROZEN_S)
    world.both.flow(f"broker {frozen} frozen")


def node_frozen(world: World) -> None:
    """One of three: the others go on without it, and it ends when it sees that. (Of two, each would be a cluster of its own.)"""
    with third_node(world.nodes):
        wait_until(partial(owners_are_complete, world.nodes, 3), "the owners of all partitions")
        frozen = world.chance.randrange(THIRD)
        with suspended(world.nodes.node(frozen).pid):
            world.both.send()
            time.sleep(FROZEN_S)
        world.both.flow(f"node {frozen} frozen")
        wait_until(lambda: not world.nodes.node(frozen).running(), "the end of a node that the others have given up")
        world.nodes.start_node(frozen)
        wait_until(partial(owners_are_complete, world.nodes, 3), "the owners of all partitions")


def node_joins_and_leaves(world: World) -> None:
    for _ in range(2):
        with third_node(world.nodes):
            world.both.send()
            world.both.flow("the third node is there")
        world.both.send()
        world.both.flow("the third node has left")


def too_few_in_sync(world: World) -> None:
    """No write is accepted for half a minute."""
    names = [topic for mark in world.connectors for topic in BrokerFaults(world.brokers, world.chance, mark).topics()]
    topics = list(dict.fromkeys([*names, "__consumer_offsets"]))
    world.brokers.require_in_sync(topics, 3)
    away = world.chance.choice(list(world.brokers.brokers))
    try:
        world.brokers.kill(away)
        time.sleep(TOO_FEW_S)
        world.brokers.start(away)
    finally:
        world.brokers.require_in_sync(topics, 2)
    world.brokers.await_in_sync()
    world.both.send()
    world.both.flow("enough replicas again")


def transactional_ids_taken(world: World) -> None:
    """A foreign client begins transactions by the ids of the connectors' slots: their producers are fenced."""
    for turn in range(3):
        world.both.send()
        for connector in world.connectors:
            for slot in range(4):
                foreign = Producer({"bootstrap.servers": world.brokers.bootstrap, "transactional.id": f"{connector}-{slot}"})
                foreign.init_transactions(REQUEST_S)
        world.both.flow(f"turn {turn + 1} of foreign clients", 1)
    for app in (world.both.stream, world.both.sink):
        assert has_event(app, events.UNIT_REDONE.id), app.output_tail()


def throttled(world: World) -> None:
    """The brokers' quotas of the connectors' client id let almost nothing through for half a minute."""
    world.both.send()
    world.brokers.limit_client(CLIENT, SLOW_BYTES)
    try:
        time.sleep(TOO_FEW_S)
    finally:
        world.brokers.limit_client(CLIENT, None)
    world.both.flow("no quota any more")


CLIENT = "throttled"
Fault = Callable[[World], None]
FAULTS: Mapping[str, Fault] = {
    "replicas reassigned": replicas_reassigned,
    "leaders elected": leaders_elected,
    "group coordinator killed": group_coordinator_killed,
    "broker frozen": broker_frozen,
    "node frozen": node_frozen,
    "node joins and leaves": node_joins_and_leaves,
    "replicas in sync below the minimum": too_few_in_sync,
    "transactional ids taken": transactional_ids_taken,
    "throttled": throttled,
}
OF_NODES = ("node frozen", "node joins and leaves")  # what was sent last before the topology changed may be sent again


@pytest.mark.parametrize("name", FAULTS)
def test_a_stream_and_a_sink(
    brokers: KafkaCluster, nodes: IgniteCluster, stream: MakeStream, traffic: TrafficProgram, tmp_path: Path, name: str
) -> None:
    print(f"SOAK_SEED={SEED}", flush=True)
    chance = random.Random(f"{SEED} {name}")
    case = SinkCase(brokers, nodes, tmp_path, chance.randrange(1 << 31), records=400)
    both = StreamAndSink(stream(nodes, brokers, *KINDS), case, traffic, {"kafka_config": {"client.id": CLIENT}})
    with both.running():
        FAULTS[name](World(brokers, nodes, both, chance))
        both.judge(("repeated",) if name in OF_NODES else ())


def test_a_snapshot_while_a_node_joins_and_leaves(brokers: KafkaCluster, nodes: IgniteCluster, tmp_path: Path) -> None:
    """Quotas slow the snapshot down, so that partitions move while it reads them: each entry is sent once."""
    copy = make_copy(brokers, nodes, tmp_path)
    brokers.limit_client(CLIENT, SLOW_BYTES // 4)
    app = copy.start(settings={"kafka_config": {"client.id": CLIENT}})
    try:
        with third_node(nodes):
            wait_until(partial(has_units, copy, app, 1), "the first units")
            wait_until(partial(owners_are_complete, nodes, 3), "the owners of all partitions")
            joined = len(copy.offsets().records)
            wait_until(partial(has_units, copy, app, joined + 1), "a unit while three nodes are there")
        left = len(copy.offsets().records)
        brokers.limit_client(CLIENT, None)
        app.result().assert_exit(0)
    finally:
        brokers.limit_client(CLIENT, None)
        app.stop()
    print(f"{joined} units were sent when the third node owned its partitions, {left} when it had left")
    copy.assert_complete()


def has_units(copy: Copy, app: App, count: int) -> bool:
    """Whether a snapshot that runs has committed so many units."""
    assert app.running(), f"the snapshot ended:\n{app.output_tail()}"
    return len(copy.offsets().records) >= count


@contextmanager
def third_node(nodes: IgniteCluster) -> Iterator[None]:
    """Entries move to a third node within the block, and back after it."""
    nodes.start_node(THIRD)
    try:
        yield
    finally:
        nodes.kill(THIRD)
        await_owners(nodes)


def await_owners(nodes: IgniteCluster) -> None:
    """Wait until both nodes have all entries of their partitions."""
    wait_until(partial(owners_are_complete, nodes, THIRD), "the owners of all partitions")


def owners_are_complete(nodes: IgniteCluster, count: int) -> bool:
    """Whether so many nodes have all entries of their partitions."""
    with nodes.client() as client:
        query = "SELECT COUNT(DISTINCT NODE_ID), COUNT(CASE WHEN STATE <> 'OWNING' THEN 1 END) FROM SYS.PARTITION_STATES"
        return next(iter(client.sql(query, schema="SYS"))) == [count, 0]
