"""Faults of a cluster of three brokers: moved leaders, killed brokers or controller, too few in-sync replicas."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tests.support.waiting import REQUEST_S
from tools.servers import KafkaCluster

_TRANSACTION_STATE = "__transaction_state"


@dataclass
class BrokerFaults:
    """Faults of one cluster, at moments and on brokers chosen by a seed. After each, all brokers run and replicas are in sync.

    :param mark: part of the names of the connector's topics, whose leaders move.
    """

    cluster: KafkaCluster
    chance: random.Random
    mark: str

    def topics(self) -> list[str]:
        """Existing topics of the connector, and the topic of the transaction coordinators."""
        names = self.cluster.admin.list_topics(timeout=REQUEST_S).topics
        return [name for name in names if self.mark in name or name == _TRANSACTION_STATE]

    def move_leaders(self) -> None:
        """Move the leaders of all partitions, several times."""
        for _ in range(3):
            assert self.cluster.move_leaders(self.topics(), self.chance)
            self._a_while(2)

    def kill_in_turn(self) -> None:
        """Kill each broker after the one before has restarted."""
        for node in self.chance.sample(list(self.cluster.brokers), len(self.cluster.brokers)):
            self._killed(node)

    def kill_controller(self) -> None:
        self._killed(self.cluster.controller())

    def kill_two(self) -> None:
        """Kill two brokers: no controller quorum remains, and no partition has enough in-sync replicas."""
        self._killed(*self.chance.sample(list(self.cluster.brokers), 2))

    def too_few_in_sync(self) -> None:
        """Require three in-sync replicas while one broker is down; then restart it and require two again."""
        topics = self.topics()
        self.cluster.require_in_sync(topics, 3)
        self._killed(self.chance.choice(list(self.cluster.brokers)), most_s=15)
        self.cluster.require_in_sync(topics, 2)

    def _killed(self, *nodes: int, most_s: float = 10) -> None:
        self.cluster.kill(*nodes)
        self._a_while(most_s)
        self.cluster.start(*nodes)
        self.cluster.await_in_sync()

    def _a_while(self, most_s: float) -> None:
        time.sleep(self.chance.random() * most_s)  # a random point of the connector's work


Fault: TypeAlias = Callable[[BrokerFaults], None]

FAULTS: Mapping[str, Fault] = {
    "leaders moved": BrokerFaults.move_leaders,
    "brokers killed in turn": BrokerFaults.kill_in_turn,
    "controller killed": BrokerFaults.kill_controller,
    "two of three brokers killed": BrokerFaults.kill_two,
    "replicas in sync below the minimum": BrokerFaults.too_few_in_sync,
}
