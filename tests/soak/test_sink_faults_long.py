"""Rounds of what may die while topics go into caches, at random moments: ROUNDS of each kind, from SEED on (see ``make soak``)."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ignite_kafka.settings.sink import CONVERGING, STRICT
from tests.support.processes import SparkCluster
from tests.support.servers import ProxiedBroker, small_caches
from tests.support.sink_case import Round, SinkCase, broker_killed, driver_killed, executor_killed, node_killed, slept, started_twice
from tools.servers import IgniteCluster, Jars

FIRST_SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("SOAK_ROUNDS") or 4))
RECORDS = 20_000


@pytest.fixture(scope="module")
def broker(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedBroker]:
    with ProxiedBroker(tmp_path_factory.mktemp("broker"), jars) as started:
        yield started


@pytest.fixture(scope="module")
def node(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    with small_caches(tmp_path_factory.mktemp("ignite"), jars) as started:
        yield started


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("delivery", [CONVERGING, STRICT])
@pytest.mark.parametrize("fault", [driver_killed, started_twice, broker_killed])
def test_run_or_broker_dies(broker: ProxiedBroker, node: IgniteCluster, tmp_path: Path, fault: Round, delivery: str, seed: int) -> None:
    fault(SinkCase(broker, node, tmp_path, seed, RECORDS, {"delivery": delivery}))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_older_run_that_slept_changes_nothing(broker: ProxiedBroker, node: IgniteCluster, tmp_path: Path, seed: int) -> None:
    slept(SinkCase(broker, node, tmp_path, seed, RECORDS, {"delivery": STRICT}))


@pytest.mark.parametrize("seed", SEEDS)
def test_executor_or_worker_dies(
    broker: ProxiedBroker, node: IgniteCluster, tmp_path: Path, spark_cluster: SparkCluster, seed: int
) -> None:
    executor_killed(SinkCase(broker, node, tmp_path, seed, RECORDS, master=spark_cluster.master))


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_node_dies(broker: ProxiedBroker, jars: Jars, tmp_path: Path, seed: int) -> None:
    with small_caches(tmp_path / "pair", jars, nodes=2) as pair:
        node_killed(SinkCase(broker, pair, tmp_path, seed, RECORDS, {"delivery": STRICT if seed % 2 else CONVERGING}))
