"""Rounds of faults of three brokers (replication 3, min.insync.replicas 2), on a Spark standalone cluster: source and sink in turn.

``make soak ROUNDS=10 SEED=7``: faults are dealt from shuffled decks of all kinds. All rounds share the servers.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stream.conftest import KINDS, RATE, WRITERS, MakeStream, assert_right, small_cluster
from tests.support.broker_faults import FAULTS, BrokerFaults
from tests.support.processes import SparkCluster
from tests.support.servers import small_caches
from tests.support.sink_case import SinkCase
from tests.support.three_brokers import brokers, shared_brokers
from tests.support.traffic import TrafficProgram
from tools.servers import IgniteCluster, Jars, KafkaCluster

__all__ = ["brokers", "shared_brokers"]

SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
ROUNDS = int(os.environ.get("SOAK_ROUNDS") or 3)
FAULTS_A_ROUND = 3
RECORDS = 150_000


def faults_of(seed: int, number: int) -> list[str]:
    """The faults of one round: all of them, shuffled, then all of them shuffled anew, and so on."""
    chance, dealt, end = random.Random(seed), list[str](), (number + 1) * FAULTS_A_ROUND
    while len(dealt) < end:
        dealt += chance.sample(list(FAULTS), len(FAULTS))
    return dealt[end - FAULTS_A_ROUND : end]


@pytest.fixture(scope="module")
def node(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """One node for streams."""
    with small_cluster(tmp_path_factory.mktemp("node"), jars, nodes=1) as started:
        yield started


@pytest.fixture(scope="module")
def sink_node(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """One node for sinks."""
    with small_caches(tmp_path_factory.mktemp("sink"), jars) as started:
        yield started


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_stream(
    brokers: KafkaCluster, node: IgniteCluster, spark_cluster: SparkCluster, stream: MakeStream, traffic: TrafficProgram, number: int
) -> None:
    names, chance = faults_of(SEED, number), random.Random(f"{SEED} {number}")
    print(f"SOAK_SEED={SEED} SOAK_ROUNDS={number + 1}, stream {number}: {', '.join(names)}")
    followed = stream(node, brokers, *KINDS)
    faults = BrokerFaults(brokers, chance, followed.name)
    seed = chance.randrange(1 << 31)
    with (
        traffic.start(node, followed.writers(*WRITERS), seed=seed, rate=RATE) as writers,
        followed.running(master=spark_cluster.master) as app,
    ):
        followed.await_records(app, KINDS)
        for name in names:
            FAULTS[name](faults)
            followed.await_records(app, KINDS, chance.choice([1, 10, 40]))
        counts = writers.stop()
        verdicts = followed.await_same(app, *KINDS)
        print(f"{counts}; {'; '.join(map(str, verdicts.values()))}")
        assert_right(verdicts)
        followed.stop(app)
    assert_right(followed.verdicts(*KINDS))
    assert followed.unsent() == 0


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_sink(brokers: KafkaCluster, sink_node: IgniteCluster, spark_cluster: SparkCluster, tmp_path: Path, number: int) -> None:
    names = faults_of(SEED + 1, number)
    print(f"SOAK_SEED={SEED} SOAK_ROUNDS={number + 1}, sink {number}: {', '.join(names)}")
    case = SinkCase(brokers, sink_node, tmp_path, SEED + number, RECORDS, master=spark_cluster.master)
    faults = BrokerFaults(brokers, case.chance, case.name)
    with case.running() as app:
        case.await_moment(app, most=0.1)
        met = 0
        for name in names:
            met += app.running()
            FAULTS[name](faults)
        app.result().assert_exit(0)
    print(f"{met} of {len(names)} faults began while it ran; {case.assert_same()}")
    assert met
