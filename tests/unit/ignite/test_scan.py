"""Scans of caches whose nodes report no owners of partitions: few requests that a node refuses, since it logs each with a stack trace."""

from __future__ import annotations

import struct
import uuid
from typing import Any, cast

import pytest

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.metadata_replies import Partitions
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types.model import CacheInfo

NODE, PARTITIONS, WINDOW = uuid.UUID(int=1), 256, 8
EMPTY = struct.pack("<qi", 1, 0) + b"\0"  # cursor, rows, whether there are more


class Node:
    """A connection to a node that has some of the partitions itself, and fetches the others from elsewhere."""

    node_id, affinity, closed = NODE, (1, 0), False

    def __init__(self, held: range) -> None:
        self._held, self._replies, self.refused = held, dict[int, bytes | None](), 0
        self._under_way = self.most_under_way = 0

    def send(self, _op: int, payload: bytes) -> int:
        partition, local = struct.unpack_from("<i", payload, len(payload) - 5)[0], bool(payload[-1])
        self._under_way += 1
        self.most_under_way = max(self.most_under_way, self._under_way)
        self._replies[len(self._replies)] = EMPTY if partition in self._held or not local else None
        return len(self._replies) - 1

    def receive(self, request: int) -> memoryview:
        reply = self._replies[request]
        self._under_way -= 1
        if reply is None:
            self.refused += 1
            raise ThinError(1, "No queryable nodes for partition 7")
        return memoryview(reply)


@pytest.mark.parametrize("held", [range(PARTITIONS), range(0), range(4)])
def test_after_some_refusals_no_node_is_guessed(held: range) -> None:
    """But for those under way, and for 32 in the search of a cursor that proves the cache's identity: no partition has rows here."""
    node = Node(held)
    owners = Partitions((1, 0), {}, {})
    cluster = cast(Cluster, type("Fake", (), {"partitions": lambda *_: owners, "connection": lambda *_: node})())
    pages = list(scan_partitions(cluster, CacheInfo("c", PARTITIONS), range(PARTITIONS), window=WINDOW))
    assert sorted(page.partition for page in pages) == list(range(PARTITIONS))
    assert (node.refused > 0) == (len(held) < PARTITIONS)
    assert node.refused <= 32 + node.most_under_way < PARTITIONS


def test_the_number_of_partitions_is_found_once_for_an_affinity_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(IgniteEndpoint(("a:1",)))
    asked: list[int] = []
    versions = [Partitions((1, version), {}, {}) for version in range(2)]

    def has_partition(_name: str, _id: int, partition: int) -> bool:
        asked.append(partition)
        return partition < 512

    at: dict[str, Any] = {"version": 0}
    monkeypatch.setattr(cluster, "partitions", lambda _: versions[at["version"]])
    monkeypatch.setattr(cluster, "_has_partition", has_partition)
    assert [cluster._partition_count("c", 1) for _ in range(3)] == [512] * 3
    assert asked == [512, 511]
    at["version"] = 1
    assert cluster._partition_count("c", 1) == 512
    assert asked == [512, 511] * 2
