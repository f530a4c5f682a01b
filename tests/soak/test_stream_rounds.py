"""Rounds of faults in an order that a seed gives: ``make soak ROUNDS=10 SEED=7``. Each begins with new servers, and is judged at its end.

Faults are dealt from shuffled decks of all kinds, so that three rounds have had each kind.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.soak.test_stream_faults_long import python_workers
from tests.stream.conftest import RATE, MakeStream, Stream, assert_right, small_cluster
from tests.support.kafka_proxy import Api
from tests.support.oracle import ends
from tests.support.processes import App, kill_process
from tests.support.servers import ProxiedBroker
from tests.support.tcp_proxy import TcpProxy
from tests.support.traffic import TrafficProgram
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars

KINDS = ("atomic-a", "tx-a", "grouped-a", "grouped-b")
WRITERS = ("puts:atomic-a", "batches:atomic-a", "tx:tx-a", "tx:grouped-a,grouped-b")
NODES = 2
FAULTS_A_ROUND = 4
SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
ROUNDS = int(os.environ.get("SOAK_ROUNDS") or 2)


@dataclass
class Round:
    """A connector that is run again whenever a fault has ended it.

    :param links: to Ignite's nodes.
    """

    stack: ExitStack
    chance: random.Random
    followed: Stream
    ignite: IgniteCluster
    broker: ProxiedBroker
    links: Sequence[TcpProxy]

    def __post_init__(self) -> None:
        self.app = self._start()

    def _start(self) -> App:
        cores = self.chance.choice([1, 2, 3])
        return self.stack.enter_context(self.followed.running(master=f"local[{cores},8]"))  # a task may fail that often

    def kill_workers(self) -> None:
        for process in python_workers(self.app):
            kill_process(process)

    def kill_connector(self) -> None:
        self.app.stop()
        self.app = self._start()

    def stop(self) -> None:
        self.followed.stop(self.app)
        self.app = self._start()

    def start_twice(self) -> None:
        older, self.app = self.app, self._start()
        older.result().assert_exit(3)

    def kill_broker(self) -> None:
        """While the answer to a commit is on its way, whose markers are written: see test_broker_killed_and_started_again."""
        held = self.broker.proxy.hold_reply(Api.END_TXN, f"{self.followed.name}-0")
        self.app.reaches(held)
        topics = [f"in-{self.followed.name}-offsets-{self.followed.name}", *map(self.followed.topic, KINDS)]
        wait_until(lambda: all(stable == end for topic in topics for stable, end in ends(self.broker.bootstrap, topic).values()), "markers")
        self.broker.kill()
        held.drop()
        self.broker.start()

    def cut_links_to_kafka(self) -> None:
        self.broker.proxy.cut()

    def cut_links_to_ignite(self) -> None:
        for link in self.links:
            link.cut()

    def kill_node(self) -> None:
        """It comes back, and has all its entries before anything else happens."""
        number = self.chance.randrange(NODES)
        self.ignite.kill(number)
        self.followed.await_records(self.app, KINDS, self.chance.choice([1, 10]))
        self.ignite.start_node(number)
        wait_until(lambda: owners_are_complete(self.ignite), "the rebalance after a node came back")

    def kill_all_nodes(self) -> None:
        for number in range(NODES):
            self.ignite.kill(number)
        for number in range(NODES):
            self.ignite.start_node(number, wait=False)
        for number in range(NODES):
            self.ignite.await_node(number)
        wait_until(lambda: owners_are_complete(self.ignite), "the owners after all nodes came back")

    def send_again(self) -> None:
        self.followed.send_again(self.chance.choice(KINDS))


FAULTS = {
    "workers killed": Round.kill_workers,
    "connector killed": Round.kill_connector,
    "stopped": Round.stop,
    "started twice": Round.start_twice,
    "links to Kafka cut": Round.cut_links_to_kafka,
    "links to Ignite cut": Round.cut_links_to_ignite,
    "broker killed": Round.kill_broker,
    "a node killed": Round.kill_node,
    "all nodes killed": Round.kill_all_nodes,
    "a cache sent again": Round.send_again,
}


def faults_of(seed: int, number: int) -> list[str]:
    """The faults of one round of a run: all of them, shuffled, then all of them shuffled anew, and so on."""
    chance, dealt, end = random.Random(seed), list[str](), (number + 1) * FAULTS_A_ROUND
    while len(dealt) < end:
        dealt += chance.sample(list(FAULTS), len(FAULTS))
    return dealt[end - FAULTS_A_ROUND : end]


def owners_are_complete(ignite: IgniteCluster) -> bool:
    """Whether both nodes have all entries of their partitions."""
    with ignite.client() as client:
        ((nodes, moving),) = client.sql(
            "SELECT COUNT(DISTINCT NODE_ID), COUNT(CASE WHEN STATE <> 'OWNING' THEN 1 END) FROM SYS.PARTITION_STATES", schema="SYS"
        )
    return (nodes, moving) == (NODES, 0)


@pytest.mark.parametrize("seed", range(20))
def test_three_rounds_have_every_fault(seed: int) -> None:
    dealt = Counter(name for number in range(3) for name in faults_of(seed, number))
    assert dealt.keys() == FAULTS.keys()
    assert max(dealt.values()) == 2


@pytest.fixture
def lasting_pair(jars: Jars, tmp_path: Path) -> Iterator[IgniteCluster]:
    """Two nodes of the test's own that keep their data over a restart."""
    with small_cluster(tmp_path / "lasting", jars, NODES, persistence=True) as started:
        yield started


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_round_of_faults(
    lasting_pair: IgniteCluster, mortal_broker: ProxiedBroker, stream: MakeStream, traffic: TrafficProgram, number: int
) -> None:
    faults = faults_of(SEED, number)
    chance = random.Random(f"{SEED} {number}")
    print(f"SOAK_SEED={SEED} SOAK_ROUNDS={number + 1}, round {number}: {', '.join(faults)}")
    with ExitStack() as stack:
        links = [stack.enter_context(TcpProxy(int(address.rpartition(":")[2]))) for address in lasting_pair.addresses]
        # one slot: a broker that is killed forgets markers of other slots (docs/operations.md)
        followed = stream(lasting_pair, mortal_broker, *KINDS, slots=1, ignite_addresses=[link.address for link in links])
        seed = chance.randrange(1 << 31)
        writers = stack.enter_context(traffic.start(lasting_pair, followed.writers(*WRITERS), seed=seed, rate=RATE))
        life = Round(stack, chance, followed, lasting_pair, mortal_broker, links)
        followed.await_records(life.app, KINDS)
        for name in faults:
            print(name)
            FAULTS[name](life)
            followed.await_records(life.app, KINDS, chance.choice([1, 10, 40]))
        counts = writers.stop()
        verdicts = followed.await_same(life.app, *KINDS)
        print(f"{counts}; {'; '.join(map(str, verdicts.values()))}")
        assert_right(verdicts, besides=("repeated",))
        followed.stop(life.app)
    assert followed.unsent() == 0
