"""A real Kafka cluster on loopback: KRaft nodes, each broker and controller, which are killed and started one by one.

Before Kafka 3.3 they are brokers with one ZooKeeper, which is not killed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from .jars import Jars
from .kafka import KRAFT_SINCE, KafkaBroker, KafkaOptions
from .kafka_requests import RequestRefused, active_controller, elect_preferred, limit_client, order_replicas
from .process import await_condition, free_ports
from .zookeeper import ZooKeeper

_ADMIN_S = 60.0


class KafkaCluster:
    """Nodes 1 to ``nodes``. Topics, internal ones included, have a replica per node, at most three, and ``min.insync.replicas`` is 2.

    :param directory: of configuration, data and logs; one subfolder per node.
    :param proxied: of each node the port of a second listener, and the address of the proxy before it, which the
        listener advertises.
    """

    def __init__(
        self,
        directory: Path,
        *,
        jars: Jars,
        nodes: int = 3,
        options: KafkaOptions | None = None,
        proxied: Sequence[tuple[int, str]] = (),
        **named: Any,
    ) -> None:
        given = replace(options or KafkaOptions(heap_mib=256), **named)
        ports = free_ports(nodes * 2)
        voters = ",".join(f"{number + 1}@127.0.0.1:{port}" for number, port in enumerate(ports[nodes:]))
        self._zookeeper = ZooKeeper(directory / "zookeeper", jars=jars) if jars.kafka_version < KRAFT_SINCE else None
        self.brokers: dict[int, KafkaBroker] = {}
        self._proxies = [address for _, address in proxied]
        for number in range(nodes):
            settings = {
                **_replication_settings(nodes),
                **_node_settings(number + 1, ports[number], ports[nodes + number], voters),
                **(_proxied_settings(ports[number], ports[nodes + number], *proxied[number]) if proxied else {}),
                **given.settings,
            }
            mine = replace(given, settings=settings)
            home = directory / f"node-{number + 1}"
            self.brokers[number + 1] = KafkaBroker(
                home, jars=jars, options=mine, port=ports[number], zookeeper=self._zookeeper
            )
        self._away: set[int] = set(self.brokers)
        self._shared_admin: AdminClient | None = None

    @property
    def bootstrap(self) -> str:
        """Addresses of all nodes."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    @property
    def clients(self) -> str:
        """Addresses of all nodes, for clients: those of the proxies, if there are any."""
        return ",".join(self._proxies) or self.bootstrap

    @property
    def admin(self) -> AdminClient:
        """A shared admin client of all nodes: a client must live until its answers have arrived."""
        if self._shared_admin is None:
            self._shared_admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return self._shared_admin

    @property
    def log(self) -> Path:
        """Log of node 1."""
        return self.brokers[1].log

    @property
    def alive(self) -> list[int]:
        """Ids of the running nodes."""
        return [node for node in self.brokers if node not in self._away]

    def start(self, *nodes: int) -> KafkaCluster:
        """Start stopped nodes, all if none is given, and wait until every running node knows every other."""
        started = [node for node in nodes or self.brokers if node in self._away]
        for node in started:
            self.brokers[node].launch()
            self._away.discard(node)
        for node in started:
            self.brokers[node].await_ready()
        self.await_members()
        return self

    def kill(self, *nodes: int) -> None:
        """Kill nodes (SIGKILL)."""
        for node in nodes:
            self.brokers[node].kill()
            self._away.add(node)

    def stop(self) -> None:
        """End all nodes."""
        for node in self.alive:  # killed, because the last nodes would wait for a quorum to shut down in order
            self.brokers[node].kill()
            self._away.add(node)
        if self._zookeeper is not None:
            self._zookeeper.stop()

    def await_members(self) -> None:
        """Wait until every running node sees every other one; without a quorum, return at once."""
        if len(self.alive) * 2 <= len(self.brokers):
            return
        admins = {node: self._admin(node) for node in self.alive}
        wanted = set(self.alive)
        known = {node: set[int]() for node in self.alive}

        def all_known() -> bool:
            known.update((node, _members(admins[node])) for node in known if known[node] != wanted)
            return all(members == wanted for members in known.values())

        await_condition(all_known, f"nodes {self.alive} know each other")

    def await_in_sync(self) -> None:
        """Wait until every partition has a leader and all its running replicas are in sync."""

        def in_sync() -> bool:
            try:
                topics = self._admin(self.alive[0]).list_topics(timeout=_ADMIN_S).topics
            except KafkaException:
                return False
            partitions = [partition for topic in topics.values() for partition in topic.partitions.values()]
            return all(
                part.leader in self.alive and set(part.isrs) >= set(part.replicas) & set(self.alive)
                for part in partitions
            )

        await_condition(in_sync, "all partitions are in sync")

    def controller(self) -> int:
        """Id of the active controller."""
        found: list[int] = []

        def known() -> bool:
            for node in self.alive:
                with suppress(OSError, RequestRefused, KafkaException):
                    leader = self._controller_by(node)
                    if leader in self.alive:
                        found.append(leader)
                        return True
            return False

        await_condition(known, "the quorum has a leader")
        return found[0]

    def _controller_by(self, node: int) -> int:
        """Controller as a node knows it.

        :raises KafkaException: it does not answer.
        """
        if self._zookeeper is None:
            return active_controller(self.brokers[node].port)
        return int(self._admin(node).list_topics(timeout=2).controller_id)

    def move_leaders(self, topics: Iterable[str], chance: random.Random) -> int:
        """Make another replica that is in sync the leader of every partition of the topics.

        :return: number of partitions whose leader was to move.
        """
        admin = self._admin(self.alive[0])
        moved: dict[tuple[str, int], list[int]] = {}
        found = admin.list_topics(timeout=_ADMIN_S).topics
        for topic in topics:
            for partition in found[topic].partitions.values() if topic in found else ():
                others = [node for node in partition.isrs if node != partition.leader]
                if others:
                    first = chance.choice(others)
                    moved[topic, partition.id] = [first, *(node for node in partition.replicas if node != first)]
        if moved:
            port = self.brokers[self.alive[0]].port
            order_replicas(port, moved)
            elect_preferred(port, moved)
        return len(moved)

    def reassign(self, topics: Iterable[str]) -> None:
        """Take the leader of every partition of the topics out of its replicas, wait until another node leads, and give it back."""
        port = self.brokers[self.alive[0]].port
        found = self._admin(self.alive[0]).list_topics(timeout=_ADMIN_S).topics
        before = {
            (topic, part.id): (part.leader, part.replicas)
            for topic in topics
            for part in found[topic].partitions.values()
        }
        without = {place: [node for node in replicas if node != leader] for place, (leader, replicas) in before.items()}
        order_replicas(port, without)
        admin = self._admin(self.alive[0])

        def moved() -> bool:
            now = admin.list_topics(timeout=_ADMIN_S).topics
            parts = [(now[topic].partitions[number], wanted) for (topic, number), wanted in without.items()]
            return all(sorted(part.replicas) == sorted(wanted) and part.leader in wanted for part, wanted in parts)

        await_condition(moved, "other nodes lead")
        order_replicas(port, {place: [*nodes, before[place][0]] for place, nodes in without.items()})
        self.await_in_sync()

    def limit_client(self, client_id: str, bytes_per_second: float | None) -> None:
        """Set the quotas of a client id, in each direction; None removes them."""
        limit_client(self.brokers[self.alive[0]].port, client_id, bytes_per_second)

    def require_in_sync(self, topics: Iterable[str], replicas: int) -> None:
        """Set ``min.insync.replicas`` of the topics."""
        entry = ConfigEntry("min.insync.replicas", str(replicas), incremental_operation=AlterConfigOpType.SET)
        resources = [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry]) for topic in topics]
        for answer in self.admin.incremental_alter_configs(resources, request_timeout=_ADMIN_S).values():
            answer.result()

    def _admin(self, node: int) -> AdminClient:
        return AdminClient({**self.brokers[node].client_config, "log_level": 0, "log.connection.close": False})

    def __enter__(self) -> KafkaCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _members(admin: AdminClient) -> set[int]:
    try:
        return set(admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return set()


def _node_settings(node: int, port: int, controller_port: int, voters: str) -> Mapping[str, Any]:
    return {
        "node.id": node,
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
    }


def _proxied_settings(port: int, controller_port: int, proxied_port: int, proxy: str) -> Mapping[str, Any]:
    own = f"PLAINTEXT://127.0.0.1:{port}"
    return {
        "listeners": f"{own},PROXIED://127.0.0.1:{proxied_port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"{own},PROXIED://{proxy}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT",
    }


def _replication_settings(nodes: int) -> Mapping[str, Any]:
    copies, least = min(3, nodes), min(2, nodes)
    return {
        "default.replication.factor": copies,
        "min.insync.replicas": least,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": least,
        # a killed node leaves the cluster and the in-sync replicas within seconds
        "broker.session.timeout.ms": 6_000,
        "replica.lag.time.max.ms": 6_000,
    }
