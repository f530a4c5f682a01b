"""Rounds of clusters that all write the same keys, under faults; at rest each has the newest write of each key, and nothing else.

One cache has no rule, so the latest write is the newest; the other has a rule by field, so the greatest grade is.

``make soak ROUNDS=4 SEED=7``: so many rounds of each topology and atomicity mode, on the same servers. Faults are dealt from shuffled
decks: two rounds have all of them. One cluster, drawn by the seed, has a clock that is minutes off.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from tests.integration.active_active.clusters import RANKED, newest_records, states
from tests.soak.ranked_values import all_entries, assert_ranks, java_lines
from tests.soak.several_clusters import CACHES, MESH, PAIR, RING, Plan, World, Writer, running_world
from tests.soak.test_stream_faults_long import python_workers
from tests.support import QUICK_JVM
from tests.support.processes import kill_process
from tests.support.tcp_proxy import TcpProxy
from tests.support.two_clusters import read_by_java
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import Jars, KafkaBroker, free_ports

SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
ROUNDS = int(os.environ.get("SOAK_ROUNDS") or 3)
FAULTS_A_ROUND = 3
MORE = 300  # calls of each writer after each fault
MOST_LOOKS = 60  # at caches that differ while all lags are 0
SHIFTS_S = (-420, -120, 180, 600)
CUTS_S = (5, 20, 60, 130)


class CachesDiffer(AssertionError):
    """Clusters that nothing is on its way to have different states of a key."""


Fault = Callable[[World, random.Random], str]


def kill_pair(world: World, chance: random.Random) -> str:
    """Kill the drivers and workers of a pair, as the loss of a machine does, and start it again."""
    index = chance.randrange(len(world.apps))
    for process in world.apps[index].family():
        kill_process(process)
    world.start_pair(index)
    return f"pair {index} killed"


def kill_workers(world: World, chance: random.Random) -> str:
    """Kill the Python workers of a pair, if it has started them."""
    index = chance.randrange(len(world.apps))
    workers = python_workers(world.apps[index])
    for process in workers:
        kill_process(process)
    return f"{len(workers)} workers of pair {index} killed"


def cut_broker(world: World, chance: random.Random) -> str:
    """Cut the links of a pair to the broker for some time."""
    index, seconds = chance.randrange(len(world.apps)), chance.choice(CUTS_S)
    TcpProxy.cut_all([world.broker_links[index]], seconds)
    return f"pair {index} without the broker for {seconds} s"


def cut_nodes(world: World, chance: random.Random) -> str:
    """Cut the links of all pairs to the nodes of a cluster for some time."""
    index, seconds = chance.randrange(len(world.clusters)), chance.choice(CUTS_S)
    TcpProxy.cut_all(world.node_links[index], seconds)
    return f"cluster {index} cut off for {seconds} s"


def kill_node(world: World, chance: random.Random) -> str:
    """Kill a node of the cluster of two, and start it again."""
    node = chance.randrange(2)
    world.clusters[1].kill(node)
    world.start_node(1, node)
    return f"node {node} of cluster 1 killed"


def nothing(world: World, chance: random.Random) -> str:
    """No fault."""
    return "no fault"


FAULTS: list[Fault] = [kill_pair, kill_workers, cut_broker, cut_nodes, kill_node, nothing]


@pytest.fixture(scope="module")
def listeners() -> Iterator[dict[int, TcpProxy]]:
    """Proxies of the broker, by the port of the listener that each is for."""
    with ExitStack() as stack:
        yield {port: stack.enter_context(TcpProxy(port)) for port in free_ports(3)}


@pytest.fixture(scope="module")
def broker(jars: Jars, tmp_path_factory: pytest.TempPathFactory, listeners: dict[int, TcpProxy]) -> Iterator[KafkaBroker]:
    direct, controller = free_ports(2)
    names = ["PLAINTEXT", *(f"LINK{number}" for number in range(len(listeners)))]
    own = [f"127.0.0.1:{port}" for port in (direct, *listeners)]
    advertised = [own[0], *(link.address for link in listeners.values())]
    settings = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": ",".join([*map("://".join, zip(names, own, strict=True)), f"CONTROLLER://127.0.0.1:{controller}"]),
        "advertised.listeners": ",".join(map("://".join, zip(names, advertised, strict=True))),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in (*names, "CONTROLLER")),
    }
    folder = tmp_path_factory.mktemp("broker")
    started = KafkaBroker(folder, jars=jars, port=direct, settings=settings, java_options=QUICK_JVM)
    try:
        yield started.start()
    finally:
        started.stop()


def await_rest(world: World, clients: KafkaClients, what: str, *, most: int, entries_at_least: int = 0) -> None:
    """Wait until nothing is on its way, and all caches are equal; pairs that a fault has ended are started again.

    :param most: ends of pairs so far that the faults explain.
    :raises CachesDiffer: nothing was on its way, look after look, and the caches differed.
    """
    different = 0

    def at_rest() -> bool:
        nonlocal different
        world.start_ended(most)
        try:
            # twice: in a ring a source forwards what the sink before it has just stored
            if not all(direction.is_drained(clients) for direction in world.directions * 2):
                return False
        except KafkaUnavailable:  # a busy broker has not answered in time
            return False
        by_cluster = [all_entries(cluster) for cluster in world.clusters]
        if min(map(len, by_cluster)) < entries_at_least:
            return False
        keys = [key for key in set().union(*by_cluster) if len({each.get(key) for each in by_cluster}) > 1]
        different += bool(keys)
        if different == MOST_LOOKS:
            states_of_one = [each.get(keys[0]) for each in by_cluster]
            raise CachesDiffer(f"{what}: nothing is on its way, and {len(keys)} keys differ: {states_of_one}, …")
        return not keys

    wait_until(at_rest, what, poll_s=1.0)


def assert_shifted(world: World, clients: KafkaClients) -> None:
    """The first put of each cluster has the time of that cluster's clock."""
    versions = [version for version, _ in newest_records(clients, world.directions).values()]
    first = {cluster - 1: order for _, order, cluster in versions}
    for index, put_at in enumerate(world.first_puts):
        shift_s = (first[index] >> 16) / 1000 - put_at  # the order is the time in milliseconds and a count of 16 bits
        assert abs(shift_s - (world.plan.shift_s if index == world.plan.shifted else 0)) < min(map(abs, SHIFTS_S)) / 2


def assert_judged(world: World, clients: KafkaClients, jars: Jars, classes: Path, greatest: Mapping[int, int], shown: str) -> None:
    """Values and versions of each key in each cluster are those of the newest record; a Java client reads these entries and no others.

    :param greatest: of each key of the cache with a rule, the greatest grade that was put in any round.
    """
    for cache in CACHES:
        newest = newest_records(clients, world.directions, cache)
        keys, lines = sorted(newest), java_lines(cache, newest)
        for index, cluster in enumerate(world.clusters):
            present = states(cluster, keys, cache)
            wrong = {key: (present.get(key), newest[key]) for key in keys if present.get(key) != newest[key]}
            if wrong:
                count = f"{len(wrong)} of {len(keys)} keys of {cache}"
                raise CachesDiffer(f"{shown}, cluster {index}: {count} have another state than the newest record: {wrong}")
            assert read_by_java(cluster, jars, classes, [cache], binary=True) == lines, f"{shown}, {cache} of cluster {index}, by Java"
        if cache == RANKED:
            assert_ranks(newest, greatest, shown)
        winners = [sum(state[0][2] == index + 1 for state in newest.values()) for index in range(len(world.clusters))]
        print(f"{shown}: {cache} equal; {len(keys)} keys, {len(lines)} entries, newest by cluster {winners}", flush=True)


def write_under_faults(world: World, writers: Sequence[Writer], chance: random.Random, faults: Sequence[Fault]) -> None:
    """Faults while all write; after each of them all write on for some time."""
    most = world.may_end(len(faults))
    for writer in writers:
        writer.start()
    try:
        for fault in faults:
            began = time.monotonic()
            description = fault(world, chance)
            reached = [writer.calls + MORE for writer in writers]
            wait_until(lambda: all(w.calls > least for w, least in zip(writers, reached, strict=True)), "more writes")  # noqa: B023
            world.start_ended(most)
            print(f"{description}, and {MORE} writes more: {time.monotonic() - began:.0f} s", flush=True)
    finally:
        for writer in writers:
            writer.stop()
        for writer in writers:
            writer.join(DEADLINE_S)
    print(f"calls {[w.calls for w in writers]}, failed {[w.failures for w in writers]}", flush=True)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # clients of killed nodes
@pytest.mark.parametrize("mode", ["ATOMIC", "TRANSACTIONAL"])
@pytest.mark.parametrize("topology", [PAIR, RING, MESH])
def test_clusters_become_equal(
    broker: KafkaBroker, listeners: dict[int, TcpProxy], jars: Jars, tmp_path: Path, topology: str, mode: str
) -> None:
    chance = random.Random(f"{SEED} {topology} {mode}")
    plan = Plan(topology, mode, chance.randrange(2 if topology == PAIR else 3), chance.choice(SHIFTS_S))
    shown = f"SOAK_SEED={SEED} SOAK_ROUNDS={ROUNDS}, {plan}"
    print(shown, flush=True)
    clients, began, deck, greatest = KafkaClients(broker.client_config), time.monotonic(), list[Fault](), dict[int, int]()
    with running_world(tmp_path, jars, broker, list(listeners.values()), plan) as world:
        await_rest(world, clients, "the first entries everywhere", most=0, entries_at_least=plan.clusters * len(CACHES))
        assert_shifted(world, clients)
        print(f"all pairs run after {time.monotonic() - began:.0f} s", flush=True)
        for number in range(ROUNDS):
            if len(deck) < FAULTS_A_ROUND:
                deck += chance.sample(FAULTS, len(FAULTS))
            faults, deck = deck[:FAULTS_A_ROUND], deck[FAULTS_A_ROUND:]
            shown_round = f"{shown}, round {number}"
            writers = [Writer(cluster, f"c{index}-{number}", f"{chance.random()}", mode) for index, cluster in enumerate(world.clusters)]
            write_under_faults(world, writers, chance, faults)
            stopped = time.monotonic()
            await_rest(world, clients, f"equal caches, {shown_round}", most=world.may_end(len(faults)))
            print(f"at rest {time.monotonic() - stopped:.0f} s after the last write; pairs that ended: {world.ends}", flush=True)
            for writer in writers:
                greatest |= {key: max(grade, greatest.get(key, 0)) for key, grade in writer.greatest.items()}
            assert_judged(world, clients, jars, tmp_path / "classes", greatest, shown_round)
