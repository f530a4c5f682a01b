"""Two or three clusters that all write two caches, the pairs of connectors between them, and the links that a test can cut."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyignite import Client
from pyignite.exceptions import CacheError, ReconnectError, SocketError

from tests.integration.active_active.clusters import CACHE, RANKED, Direction, node_options
from tests.soak.ranked_values import Ranked
from tests.support.processes import App
from tests.support.shifted_clock import build_shift, preloaded
from tests.support.tcp_proxy import TcpProxy
from tools.servers import IgniteCluster, Jars, KafkaBroker

KEYS = 80
CACHES = CACHE, RANKED
"""A cache whose latest writes stay, and one whose greatest grades do."""
PAIR, RING, MESH = "pair", "ring", "mesh"
_PAUSE_S = 0.004
_LOCK_MS = 5_000  # of a writer's transaction; a sink's batch may hold its keys in another order

_TEMPLATE = """<list><bean class="org.apache.ignite.configuration.CacheConfiguration">
 <property name="name" value="*"/><property name="atomicityMode" value="{mode}"/><property name="backups" value="1"/>
 <property name="writeSynchronizationMode" value="FULL_SYNC"/>
 <property name="affinity"><bean class="org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction">
  <property name="partitions" value="16"/></bean></property></bean></list>"""


@dataclass(frozen=True)
class Plan:
    """What a round has.

    :param shifted: index of the cluster whose clock is wrong.
    :param shift_s: seconds by which it is ahead.
    """

    topology: str
    mode: str
    shifted: int
    shift_s: int

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return 2 if self.topology == PAIR else 3


class Writer(threading.Thread):
    """Puts, removals and, in TRANSACTIONAL caches, transactions of random keys without end; each value is written once.

    :param greatest: of each key of the cache with a rule, the greatest grade of the puts that have returned.
    """

    def __init__(self, cluster: IgniteCluster, label: str, seed: str, mode: str) -> None:
        super().__init__(daemon=True)
        self.calls = self.failures = 0
        self.greatest: dict[int, int] = {}
        self._values = 0
        self._cluster, self._label, self._chance, self._mode = cluster, label, random.Random(seed), mode
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.is_set():
            try:
                with self._cluster.client() as client:
                    while not self._end.is_set():
                        self._write(client)
                        self.calls += 1
                        self._end.wait(_PAUSE_S)
            except (OSError, SocketError, ReconnectError, CacheError):  # a node was killed, or a transaction waited for too long
                self.failures += 1
                self._end.wait(0.2)

    def _value(self, cache: str) -> Any:
        self._values += 1
        text = f"{self._label}-{self._values}"
        # grades grow, so that later puts are stored, too, and overlap, so that many puts are refused
        return text if cache == CACHE else Ranked(grade=self.calls // 40 + self._chance.randrange(20), text=text)

    def _write(self, client: Client) -> None:
        name, kind = self._chance.choice([CACHE, RANKED]), self._chance.random()
        cache, keys = client.get_cache(name), sorted(self._chance.sample(range(KEYS), self._chance.randint(2, 5)))
        written: dict[int, Any] = {}
        if kind < 0.5:
            written[keys[0]] = self._value(name)
            cache.put(keys[0], written[keys[0]])
        elif kind < 0.75:
            cache.remove_key(keys[0])
        elif kind < 0.85 or self._mode == "ATOMIC":
            written = {key: self._value(name) for key in keys}
            cache.put_all(written)
        else:
            written = self._write_transaction(client, name, keys)
        if name == RANKED:
            for key, value in written.items():
                self.greatest[key] = max(value.grade, self.greatest.get(key, 0))

    def _write_transaction(self, client: Client, name: str, keys: Sequence[int]) -> dict[int, Any]:
        """Return what was put; empty after a rollback."""
        cache, written = client.get_cache(name), dict[int, Any]()
        with client.tx_start(timeout=_LOCK_MS) as transaction:
            for key in keys:
                if self._chance.random() < 0.3:
                    cache.remove_key(key)
                else:
                    written[key] = self._value(name)
                    cache.put(key, written[key])
            if self._chance.random() < 0.2:
                transaction.rollback()
                return {}
            transaction.commit()
        return written

    def stop(self) -> None:
        """End; calls that were made are done."""
        self._end.set()


@dataclass
class World:
    """The servers of a round; the second cluster has two nodes, each other cluster one.

    :param node_links: of each cluster, a proxy for each of its nodes.
    :param broker_links: of each pair, the proxy of its link to the broker.
    :param first_puts: of each cluster, the time of its first put by the clock of the test, in seconds.
    """

    plan: Plan
    clusters: list[IgniteCluster]
    node_links: list[list[TcpProxy]]
    broker_links: Sequence[TcpProxy]
    directions: list[Direction]
    library: Path
    first_puts: list[float]
    apps: list[App] = field(default_factory=list)
    ends: int = 0

    def start_node(self, cluster: int, node: int) -> None:
        """Start a killed node again, with the clock of its cluster."""
        with preloaded(self.library) if cluster == self.plan.shifted else nullcontext():
            self.clusters[cluster].start_node(node)

    def start_pair(self, index: int) -> None:
        """Start a pair that was killed or has ended."""
        self.apps[index].stop()
        self.apps[index] = self.directions[index].start()

    def stop_pairs(self) -> None:
        """End all pairs."""
        for app in self.apps:
            app.stop()

    def may_end(self, faults: int) -> int:
        """Ends of pairs, with those so far, that some faults explain: a cut ends all that are just starting."""
        return self.ends + faults * len(self.apps)

    def start_ended(self, most: int) -> None:
        """Start the pairs that have ended, as a scheduler does.

        :param most: ends that the faults explain.
        """
        for index, app in enumerate(self.apps):
            if not app.running():
                self.ends += 1
                print(f"pair {index} ended:\n{app.output_tail()}", flush=True)
                assert self.ends <= most, f"pair {index} ended without a fault"
                self.start_pair(index)


@contextmanager
def running_world(folder: Path, jars: Jars, broker: KafkaBroker, broker_links: Sequence[TcpProxy], plan: Plan) -> Iterator[World]:
    """All clusters with one entry in each cache, and the pairs that are to run."""
    library = build_shift(folder, plan.shift_s)
    with ExitStack() as stack:
        clusters, node_links, first_puts = [], [], []
        for index in range(plan.clusters):
            cluster = IgniteCluster(
                folder / f"cluster-{index}", jars=jars, nodes=2 if index == 1 else 1, data_region_mib=128,
                properties=(("cacheConfiguration", _TEMPLATE.format(mode=plan.mode)),), java_options=node_options(index + 1),
            )  # fmt: skip
            with preloaded(library) if index == plan.shifted else nullcontext():
                clusters.append(stack.enter_context(cluster))
            ports = [int(address.rpartition(":")[2]) for address in cluster.addresses]
            node_links.append([stack.enter_context(TcpProxy(port)) for port in ports])
            with cluster.client() as client:
                # removals from before a source's first start are not sent: each cluster begins with an entry that all must get
                cache = client.create_cache(CACHE)
                first_puts.append(time.time())
                cache.put(-1 - index, f"first-{index}")
                client.create_cache(RANKED).put(-1 - index, Ranked(grade=index, text=f"first-{index}"))
        directions = _directions(folder, broker, plan, clusters, node_links, broker_links)
        world = World(plan, clusters, node_links, broker_links, directions, library, first_puts)
        stack.callback(world.stop_pairs)
        for direction in directions:
            world.apps.append(direction.start())
        yield world


def _directions(
    folder: Path, broker: KafkaBroker, plan: Plan, clusters: Sequence[IgniteCluster], nodes: Sequence[Sequence[TcpProxy]],
    brokers: Sequence[TcpProxy],
) -> list[Direction]:  # fmt: skip
    """A pair from each cluster to the next one; in a mesh each sink reads the topics of all other clusters."""
    directions = []
    for origin in range(plan.clusters):
        target = (origin + 1) % plan.clusters
        pair_folder = folder / f"from-{origin}-{folder.name}"
        direction = Direction.between(pair_folder, broker, clusters[origin], clusters[target], CACHES)
        common: dict[str, Any] = {"bootstrap_servers": brokers[origin].address}
        source = {"ignite_addresses": [link.address for link in nodes[origin]], "forward_foreign_changes": plan.topology == RING}
        sink: dict[str, Any] = {"ignite_addresses": [link.address for link in nodes[target]]}
        if plan.topology == MESH:
            others = [index for index in range(plan.clusters) if index != target]
            topics = [f"from-{index}-{folder.name}-{cache}" for index in others for cache in CACHES]
            sink |= {"topics": topics, "cache_names": {f".*-{cache}": cache for cache in CACHES}}
        settings = direction.source | common | source, direction.sink | common | sink
        directions.append(replace(direction, source=settings[0], sink=settings[1], master="local[2,4]"))
    return directions
