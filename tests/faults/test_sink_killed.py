"""Processes killed while a sink runs: afterwards each cache equals its topic's fold, and the group's offsets are at the topic's end.

Moments are random, by a seed that a failure names; SINK_FAULT_SEED sets it. SINK_FAULT_ROUNDS are the rounds of each kind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.header_case import NAMES, HeaderCase
from tests.support.processes import SparkCluster
from tests.support.servers import ProxiedBroker, small_caches
from tests.support.sink_case import SinkCase, broker_killed, driver_killed, executor_killed, node_killed, slept, started_twice
from tests.support.sink_oracle import entries_of
from tools.servers import IgniteCluster, Jars

ROUNDS = int(os.environ.get("SINK_FAULT_ROUNDS", "1"))
FIRST_SEED = int(os.environ.get("SINK_FAULT_SEED", "1"))

rounds = pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + ROUNDS))


@pytest.fixture
def case(broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path, seed: int) -> SinkCase:
    return SinkCase(broker, ignite, tmp_path, seed)


@rounds
def test_executor_or_worker_killed(
    broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path, spark_cluster: SparkCluster, seed: int
) -> None:
    executor_killed(SinkCase(broker, ignite, tmp_path, seed, master=spark_cluster.master))


@rounds
def test_driver_killed_and_started_again(case: SinkCase) -> None:
    driver_killed(case)


@pytest.mark.long("test_driver_killed_and_started_again")
@rounds
@pytest.mark.parametrize("delivery", ["converging", "strict"])
def test_driver_killed_amid_a_topic_of_two_caches(
    broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path, delivery: str, seed: int
) -> None:
    """By a header of each record; both caches have the same keys."""
    two = HeaderCase(broker, ignite, tmp_path, seed)
    two.settings |= {"delivery": delivery, "slots": 2}
    driver_killed(two)
    assert min(len(entries_of(ignite, two.cache_of(name))) for name in NAMES) > 0


@rounds
def test_started_twice(case: SinkCase) -> None:
    started_twice(case)


@rounds
def test_an_older_run_that_slept_changes_nothing(case: SinkCase) -> None:
    case.settings |= {"delivery": "strict"}
    slept(case)


@pytest.mark.long("test_driver_killed_and_started_again")
@rounds
def test_broker_killed_and_started_again(broker: ProxiedBroker, case: SinkCase) -> None:
    broker_killed(case)


@pytest.fixture
def mortal_pair(jars: Jars, tmp_path: Path) -> Iterator[IgniteCluster]:
    with small_caches(tmp_path / "pair", jars, nodes=2) as started:
        yield started


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@rounds
def test_node_killed(broker: ProxiedBroker, mortal_pair: IgniteCluster, tmp_path: Path, seed: int) -> None:
    node_killed(SinkCase(broker, mortal_pair, tmp_path, seed))
