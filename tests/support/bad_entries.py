"""Entries that cannot be converted to records, put as raw bytes."""

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
"""A map with a null key, which neither JSON nor a map column can represent."""


def long(value: int) -> bytes:
    return number(codes.LONG, value)


def put_bytes(ignite: IgniteCluster, cache: str, entries: Mapping[bytes, bytes]) -> None:
    """Put entries in Ignite's binary format into an existing cache."""
    with Cluster(IgniteEndpoint(tuple(ignite.addresses))) as cluster, CacheWriter(cluster, cluster.cache(cache), overwrite=True) as writer:
        writer.put(pa.array(list(entries), pa.binary()), pa.array(list(entries.values()), pa.binary()))
        writer.flush()
