"""Versions of entries, and the requests that have them: the bytes are those that Java's thin client of Ignite 2.17 sends."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.binary import encoded
from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.entry_versions import EntryVersions, concat_versions
from ignite_kafka.ignite.types.model import CacheInfo
from tests.unit.ignite.test_cache_writer import Node

# TcpClientCache.putAllConflict({7: ("x", (order 0x0102030405060708, cluster 3)), 8: ("y", (order 9, cluster 31))}) of cache c
PUT_BY_JAVA = (
    "63000000000200000003070000000901000000"
    "78fe170000006548d6811d000000000000080706050403020100000018000000000000000003080000000901000000"
    "79fe170000006548d6811d0000000000000900000000000000000000f80000000000000000"
)
# TcpClientCache.removeAllConflict: topology version 5 and number of a node 2^26 + 7 are the rank
REMOVE_BY_JAVA = "6300000000010000000307000000fe170000006548d6811d00000500000009070605040302010700001c"
RANK = (5 << 26) + 7
C = CacheInfo("c", 0x63)


def versions(*pairs: tuple[int, int]) -> EntryVersions:
    orders, clusters = zip(*pairs, strict=True)
    return EntryVersions(np.array(orders, np.int64), np.array(clusters, np.int8), np.full(len(pairs), RANK))


def ints(*numbers: int) -> pa.BinaryArray:
    return encoded(pa.array(numbers, pa.int32()), pa.field("key", pa.int32()))


def texts(*values: str) -> pa.BinaryArray:
    return encoded(pa.array(values), pa.field("value", pa.string()))


def test_puts_and_removals_with_versions_are_written_as_java_writes_them() -> None:
    node = Node(partitions=1)
    with CacheWriter(cast(Any, node), C, overwrite=True) as writer:
        writer.put(ints(8, 7), texts("y", "x"), versions((9, 31), (0x0102030405060708, 3)))
        writer.flush()
        writer.remove(ints(7), versions((0x0102030405060709, 3)))
        writer.flush()
    assert node.ops == [protocol.CACHE_PUT_ALL_CONFLICT, protocol.CACHE_REMOVE_ALL_CONFLICT] == [1022, 1023]
    assert [sent.hex() for sent in node.sent] == [PUT_BY_JAVA, REMOVE_BY_JAVA]


def test_versions_are_chosen_by_rows_flags_and_slices_and_joined() -> None:
    every = versions((1, 1), (2, 2), (3, 3))
    for rows in (np.array([1, 2]), np.array([False, True, True]), slice(1, 3)):
        assert every[rows].orders.tolist() == [2, 3]
        assert every[rows].clusters.tolist() == [2, 3]
    joined = concat_versions([every[:1], every[1:]])
    assert len(joined) == 3
    assert joined.orders.tolist() == every.orders.tolist()
    assert joined.clusters.tolist() == every.clusters.tolist()
    assert joined.ranks.tolist() == [RANK] * 3


def test_the_rank_decides_then_the_order_then_the_cluster() -> None:
    columns = np.array([(1, 9, 9), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 0, 0)]).T
    every = EntryVersions(columns[1], columns[2].astype(np.int8), columns[0])
    assert every[np.array([4, 2, 0, 3, 1])].ascending().tolist() == [2, 4, 1, 3, 0]
