"""Rounds of faults in an order that a seed gives: ``make soak ROUNDS=10 SEED=7``. Each begins with new caches, and is judged at its end."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.soak.test_stream_faults_long import python_workers
from tests.stream.conftest import RATE, MakeStream, Stream, assert_right
from tests.support.kafka_proxy import Api
from tests.support.oracle import ends
from tests.support.processes import App, await_value, kill_process
from tests.support.servers import ProxiedBroker
from tests.support.traffic import TrafficProgram
from tools.servers import IgniteCluster

KINDS = ("atomic-a", "tx-a", "grouped-a", "grouped-b")
WRITERS = ("puts:atomic-a", "batches:atomic-a", "tx:tx-a", "tx:grouped-a,grouped-b")
FAULTS_A_ROUND = 4
SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
ROUNDS = int(os.environ.get("SOAK_ROUNDS") or 2)


class Round:
    """A connector that is run again whenever a fault has ended it."""

    def __init__(self, stack: ExitStack, chance: random.Random, followed: Stream, broker: ProxiedBroker) -> None:
        self._stack, self._chance, self._followed, self._broker = stack, chance, followed, broker
        self.app = self._start()

    def _start(self) -> App:
        cores = self._chance.choice([1, 2, 3])
        return self._stack.enter_context(self._followed.running(master=f"local[{cores},8]"))  # a task may fail that often

    @property
    def faults(self) -> dict[str, Callable[[], None]]:
        return {
            "workers killed": self.kill_workers,
            "all killed": self.kill_all,
            "stopped": self.stop,
            "started twice": self.start_twice,
            "links to Kafka cut": self._broker.proxy.cut,
            "broker killed": self.kill_broker,
            "a cache sent again": self.send_again,
        }

    def kill_workers(self) -> None:
        for process in python_workers(self.app):
            kill_process(process)

    def kill_all(self) -> None:
        self.app.stop()
        self.app = self._start()

    def stop(self) -> None:
        self._followed.stop(self.app)
        self.app = self._start()

    def start_twice(self) -> None:
        older, self.app = self.app, self._start()
        older.result().assert_exit(3)

    def kill_broker(self) -> None:
        """While the answer to a commit is on its way, whose markers are written: see test_broker_killed_and_started_again."""
        held = self._broker.proxy.hold_reply(Api.END_TXN, f"{self._followed.name}-0")
        self.app.reaches(held)
        topics = [f"in-{self._followed.name}-offsets-{self._followed.name}", *map(self._followed.topic, KINDS)]
        await_value(
            lambda: all(stable == end for topic in topics for stable, end in ends(self._broker.bootstrap, topic).values()), "markers"
        )
        self._broker.kill()
        held.drop()
        self._broker.start()

    def send_again(self) -> None:
        self._followed.send_again(self._chance.choice(KINDS))


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_round_of_faults(
    pair: IgniteCluster, mortal_broker: ProxiedBroker, stream: MakeStream, traffic: TrafficProgram, number: int
) -> None:
    seed = SEED + number
    chance = random.Random(seed)
    print(f"SOAK_SEED={seed} SOAK_ROUNDS=1")
    followed = stream(pair, mortal_broker, *KINDS, slots=1)  # a broker that is killed forgets markers of other slots: docs/operations.md
    with traffic.start(pair, followed.writers(*WRITERS), seed=seed % (1 << 31), rate=RATE) as writers, ExitStack() as stack:
        life = Round(stack, chance, followed, mortal_broker)
        followed.await_records(life.app, KINDS)
        for name in chance.choices(sorted(life.faults), k=FAULTS_A_ROUND):
            print(name)
            life.faults[name]()
            followed.await_records(life.app, KINDS, chance.choice([1, 10, 40]))
        writers.stop()
        assert_right(followed.await_same(life.app, *KINDS), besides=("repeated",))
        followed.stop(life.app)
    assert followed.unsent() == 0
