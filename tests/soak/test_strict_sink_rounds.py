"""Rounds of faults of a strict sink, on three nodes and three brokers, in an order that a seed gives: ``make soak ROUNDS=40 SEED=7``.

Each round is a topic and a cache of its own, which a continuous query of a Java client watches. At the end the cache equals the topic's
fold, and no key has stepped back: neither by a write of an older task or run, nor where one began again at what is committed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from ignite_kafka.settings.sink import STRICT
from tests.soak.test_stream_faults_long import python_workers
from tests.support import sink_case
from tests.support.broker_faults import BrokerFaults
from tests.support.java_programs import SOURCES, compile_java
from tests.support.oracle import read_committed
from tests.support.processes import App, kill_process
from tests.support.servers import small_caches
from tests.support.sink_case import SinkCase
from tests.support.sink_oracle import histories
from tests.support.tcp_proxy import TcpProxy
from tests.support.three_brokers import brokers, shared_brokers
from tests.support.watched_cache import WatchedCache, steps_back, watched
from tools.servers import IgniteCluster, Jars, KafkaCluster

__all__ = ["brokers", "shared_brokers"]

SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
ROUNDS = int(os.environ.get("SOAK_ROUNDS") or 3)
RECORDS = 12_000
MODES = ("ATOMIC", "TRANSACTIONAL")


@dataclass
class World:
    """One round; the watching client is connected to node 0, which no fault kills."""

    case: SinkCase
    ignite: IgniteCluster
    brokers: KafkaCluster
    links: list[TcpProxy]
    changes: WatchedCache

    def count_changes(self) -> int:
        """Wait until the client has heard of all changes, and count them."""
        return len(self.changes.await_newest(self.case.entries()))


def slept(world: World) -> None:
    """A run that slept changes nothing once the newer run has ended."""
    counts = []
    sink_case.slept(world.case, lambda: counts.append(world.count_changes()))
    assert world.count_changes() == counts[0], "the run that slept has changed the cache"


def superseded(world: World) -> None:
    """A second run begins beside the first one, which ends with exit code 3."""
    case = world.case
    case.send(4 * case.records)  # the first run still works when the second one has started
    with case.running() as older:
        case.await_moment(older, most=0.2)
        with case.running() as newer:
            older.result().assert_exit(3)
            newer.result().assert_exit(0)


def killed_driver(world: World) -> None:
    """The driver is killed with its workers, and started again."""
    sink_case.driver_killed(world.case)


def run_through(world: World, fault: Callable[[App], None]) -> None:
    """A run that meets a fault amid its batches and ends well."""
    with world.case.running(master="local[2,4]") as app:
        world.case.await_moment(app, most=0.3)
        fault(app)
        app.result().assert_exit(0)


def killed_workers(world: World) -> None:
    """The Python workers are killed; Spark starts their tasks again."""

    def kill(app: App) -> None:
        for process in python_workers(app):
            kill_process(process)

    run_through(world, kill)


def killed_node(world: World) -> None:
    """A node dies, and joins again after the run."""
    node = world.case.chance.choice([1, 2])
    run_through(world, lambda app: world.ignite.kill(node))
    world.ignite.start_node(node)


def joining_node(world: World) -> None:
    """A node joins amid the run, and gets partitions."""
    node = world.case.chance.choice([1, 2])
    world.ignite.kill(node)
    run_through(world, lambda app: world.ignite.start_node(node))


def half_open_links(world: World) -> None:
    """The connections to all nodes transmit nothing any more: the run ends with OutcomeUnknown, unless nothing was under way."""
    case = world.case
    with case.running(settings={"ignite_request_timeout_ms": 3_000, "retry_timeout_ms": 10_000}) as app:
        case.await_moment(app, most=0.3)
        for link in world.links:
            link.silence()
        ended = app.result()
    if ended.exit_code:
        assert ended.error is not None
        assert ended.error[0] == "OutcomeUnknown", ended.error
        case.run().assert_exit(0)


def broker_away(world: World) -> None:
    """Two of three brokers are away for some seconds."""
    run_through(world, lambda app: BrokerFaults(world.brokers, world.case.chance, world.case.name).kill_two())


FAULTS = [slept, superseded, killed_driver, killed_workers, killed_node, joining_node, half_open_links, broker_away]


def fault_of(number: int) -> Callable[[World], None]:
    """The fault of a round: all of them, shuffled, then all of them shuffled anew, and so on."""
    deck = number // len(FAULTS)
    return random.Random(f"{SEED} {deck}").sample(FAULTS, len(FAULTS))[number % len(FAULTS)]


@pytest.fixture(scope="module", params=MODES)
def trio(request: pytest.FixtureRequest, jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """Three nodes with a template of caches of one backup."""
    with small_caches(tmp_path_factory.mktemp("trio"), jars, nodes=3, atomicity=request.param) as started:
        yield started


@pytest.fixture(scope="module")
def classes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    compile_java([SOURCES / "WatchEntries.java"], jars.thin_client, folder)
    return folder


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_round(brokers: KafkaCluster, trio: IgniteCluster, jars: Jars, classes: Path, tmp_path: Path, number: int) -> None:
    fault = fault_of(number)
    print(f"SOAK_SEED={SEED}, round {number}: {fault.__name__}", flush=True)
    with ExitStack() as stack:
        links = [stack.enter_context(TcpProxy(int(address.rpartition(":")[2]))) for address in trio.addresses]
        settings = {"delivery": STRICT, "ignite_addresses": [link.address for link in links]}
        case = SinkCase(brokers, trio, tmp_path, SEED + number, RECORDS, settings)
        changes = stack.enter_context(watched(jars, classes, tmp_path / "changes", trio.address, case.cache))
        fault(World(case, trio, brokers, links, changes))
        case.assert_same()
        heard = changes.await_newest(case.entries())
    read = histories(read_committed(brokers.bootstrap, case.topic).records)
    steps = steps_back(heard, {key: [seq for _, seq in history] for key, history in read.items()})
    print(f"round {number}: {len(heard)} changes; {len(steps)} keys stepped back", flush=True)
    assert not steps, f"SOAK_SEED={SEED}, round {number}: {steps.most_common(5)}"
