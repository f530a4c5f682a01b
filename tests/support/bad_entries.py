"""Entries that no record can be made of, put as the bytes that they are."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.types import type_codes as codes
from tests.support.ignite_bytes import NULL, Types, binary, mapping, number, string
from tools.servers import IgniteCluster

OF_UNKNOWN_TYPE = binary(Types().add("NobodyRegisteredThis", {"x": codes.LONG}), {"x": number(codes.LONG, 1)})
NULL_KEY = mapping([(NULL, string("v"))])
"""A map that JSON, and a map column, has no form for."""


def long(value: int) -> bytes:
    return number(codes.LONG, value)


def put_bytes(ignite: IgniteCluster, cache: str, entries: Mapping[bytes, bytes]) -> None:
    """Put entries given in Ignite's binary format into a cache that is there."""
    with Cluster(IgniteEndpoint(tuple(ignite.addresses))) as cluster, CacheWriter(cluster, cluster.cache(cache), overwrite=True) as writer:
        writer.put(pa.array(list(entries), pa.binary()), pa.array(list(entries.values()), pa.binary()))
        writer.flush()
