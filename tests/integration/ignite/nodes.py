"""What the thin client's tests need of a cluster: caches of odd partition counts, a node that joins later, a client that sees one node."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyignite

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteEndpoint, TlsSettings
from tools.servers import IgniteCluster

THIRD = 2
_CACHE = "org.apache.ignite.configuration.CacheConfiguration"
_AFFINITY = "org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction"


def cache_xml(name: str, partitions: int, **properties: Any) -> str:
    """A cache that the first node of a cluster makes when it starts; the thin protocol cannot ask for a partition count."""
    more = "".join(f'<property name="{key}" value="{value}"/>' for key, value in properties.items())
    affinity = f'<bean class="{_AFFINITY}"><property name="partitions" value="{partitions}"/></bean>'
    return f'<bean class="{_CACHE}"><property name="name" value="{name}"/>{more}<property name="affinity">{affinity}</property></bean>'


CACHES = "".join(
    [
        cache_xml("parts-32", 32, backups=1),
        cache_xml("parts-7", 7),
        cache_xml("group-a", 64, groupName="shared", atomicityMode="TRANSACTIONAL"),
        cache_xml("group-b", 64, groupName="shared", atomicityMode="TRANSACTIONAL"),
        cache_xml("copies", 512, cacheMode="REPLICATED"),
        cache_xml("copies-9", 9, cacheMode="REPLICATED"),
        # templates: what a cache is like whose name begins so
        cache_xml("backed-*", 64, backups=1),
        cache_xml("single-*", 64),
        cache_xml("replicated-*", 64, cacheMode="REPLICATED"),
        cache_xml("many-*", 512),
    ]
)


@contextmanager
def writer(nodes: IgniteCluster) -> Iterator[Any]:
    """A pyignite client of the first node, to write with; given the address of a node that is down it would leave a socket open."""
    client = pyignite.Client()
    with client.connect("127.0.0.1", int(nodes.address.rpartition(":")[2])):
        yield client


class OneNodeCluster(Cluster):
    """A cluster of which this client reaches one node only."""

    def connection(self, node: object = None) -> ThinConnection:
        return super().connection()


def primary_nodes(cluster: Cluster, cache_id: int) -> dict[int, uuid.UUID]:
    """Partition to the node of its primary copy at this moment: a cluster that was used before may hold older owners."""
    with Cluster(cluster.endpoint, cluster.credentials) as fresh:
        return fresh.partitions(cache_id).primary


def endpoint_of(nodes: IgniteCluster, tls: TlsSettings | None = None) -> IgniteEndpoint:
    return IgniteEndpoint(nodes.addresses, tls or TlsSettings(), connect_timeout_ms=60_000, request_timeout_ms=120_000)
