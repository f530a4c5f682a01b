"""Entries put into caches of a real cluster and read again."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from pyignite.datatypes.cluster_state import ClusterState

from ignite_kafka.errors import CacheDestroyed, IgniteUnreachable, OutcomeUnknown, TypeClash, UnsupportedType, WriteFailed
from ignite_kafka.ignite.binary import ObjectLayout, decode_rows, encode_objects, encoded
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cache_writer import CacheWriter, WriteLimits
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.schema import get_or_create_cache, register_type
from ignite_kafka.ignite.types.model import CacheInfo
from tests.integration.ignite.nodes import THIRD, OneNodeCluster, endpoint_of, primary_nodes
from tests.integration.ignite.nodes import writer as writer_of
from tests.support import QUICK_JVM
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars

LONG, TEXT = pa.field("long", pa.int64()), pa.field("text", pa.string())
LAYOUT = ObjectLayout("Put", (LONG, TEXT))
_DESTROY = 1056
NewCacheOf = Callable[..., CacheInfo]


@pytest.fixture
def new_cache(cluster: Cluster) -> Iterator[NewCacheOf]:
    """`new_cache(**settings)`: an empty cache with a name of its own, destroyed after the test."""
    made: list[CacheInfo] = []

    def make(**settings: Any) -> CacheInfo:
        made.append(get_or_create_cache(cluster, CacheConfiguration(f"put-{uuid.uuid4().hex[:8]}", **settings)))
        return made[-1]

    yield make
    for info in made:
        destroy(cluster, info)


def destroy(cluster: Cluster, cache: CacheInfo) -> None:
    cluster.ask(lambda connection: connection.request(_DESTROY, struct.pack("<i", cache.cache_id)))


def rows_of(cluster: Cluster, cache: CacheInfo) -> list[tuple[Any, Any]]:
    pages = [page for page in scan_partitions(cluster, cache, range(cache.partitions)) if page.rows]
    return list(decode_rows(pages, cache, cluster))


def entries_of(cluster: Cluster, cache: CacheInfo) -> dict[Any, Any]:
    rows = rows_of(cluster, cache)
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def longs(*numbers: int) -> pa.BinaryArray:
    return encoded(pa.array(numbers, pa.int64()), LONG)


def texts(*values: str) -> pa.BinaryArray:
    return encoded(pa.array(values, pa.string()), TEXT)


KINDS = [
    {"atomicity": "ATOMIC", "mode": "PARTITIONED", "backups": 1},
    {"atomicity": "TRANSACTIONAL", "mode": "PARTITIONED", "backups": 1},
    {"atomicity": "ATOMIC", "mode": "REPLICATED"},
]


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: f"{settings['atomicity']}-{settings['mode']}")
def test_entries_are_put_and_removed(cluster: Cluster, new_cache: NewCacheOf, settings: dict[str, Any]) -> None:
    cache = new_cache(**settings)
    assert {name: getattr(cache, name) for name in settings} == settings
    keys = range(5_000)
    with CacheWriter(cluster, cache, overwrite=True, limits=WriteLimits(entries=700, size_bytes=9_000)) as writer:
        writer.put(longs(*keys), texts(*(f"first {key}" for key in keys)))
        writer.flush()
        writer.put(longs(*range(1_000)), texts(*["second"] * 1_000))
        writer.remove(longs(*range(1_000, 2_000), 9_999))
        writer.flush()
    expected = dict.fromkeys(range(1_000), "second") | {key: f"first {key}" for key in range(2_000, 5_000)}
    assert entries_of(cluster, cache) == expected


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: f"{settings['atomicity']}-{settings['mode']}")
def test_without_overwriting_what_is_there_stays(cluster: Cluster, new_cache: NewCacheOf, settings: dict[str, Any]) -> None:
    cache = new_cache(**settings)
    with CacheWriter(cluster, cache, overwrite=False, limits=WriteLimits(entries=300)) as writer:
        writer.put(longs(*range(500)), texts(*["first"] * 500))
        writer.flush()
        writer.put(longs(*range(1_000)), texts(*["second"] * 1_000))
        writer.flush()
        writer.remove(longs(7))
        writer.flush()
    entries = entries_of(cluster, cache)
    assert entries == dict.fromkeys([*range(7), *range(8, 500)], "first") | dict.fromkeys(range(500, 1_000), "second")


def test_objects_are_put_once_their_type_is_registered(cluster: Cluster, new_cache: NewCacheOf) -> None:
    cache = new_cache()
    register_type(cluster, LAYOUT.metadata)
    register_type(cluster, LAYOUT.metadata)
    columns = [pa.array([1, None]), pa.array(["one", None])]
    with CacheWriter(cluster, cache, overwrite=True) as writer:
        writer.put(encode_objects(LAYOUT, columns), encode_objects(LAYOUT, columns))
        writer.flush()
    rows = sorted((key.fields["text"] or "", key.fields, value.fields) for key, value in rows_of(cluster, cache))
    expected = [{"long": None, "text": None}, {"long": 1, "text": "one"}]
    assert [row[1:] for row in rows] == [(fields, fields) for fields in expected]
    with pytest.raises(TypeClash, match="Field text of binary type Put is String in the cluster, and long is to be written"):
        register_type(cluster, ObjectLayout("Put", (LONG, LONG.with_name("text"))).metadata)


def test_a_cache_that_went_away_is_named(cluster: Cluster) -> None:
    cache = CacheInfo("gone", 4711)
    with CacheWriter(cluster, cache, overwrite=True) as writer:
        writer.put(longs(1), texts("x"))
        with pytest.raises(CacheDestroyed, match="cache gone"):
            writer.flush()


def stable(put: Callable[[Callable[[], None]], None], meanwhile: Callable[[], None] = lambda: None) -> bool:
    """Whether all is put; False: nodes came or went meanwhile."""
    try:
        put(meanwhile)
    except IgniteUnreachable as error:
        if "nodes came or went" not in error.what:
            raise
        return False
    return True


@pytest.mark.parametrize("overwrite", [True, pytest.param(False, marks=pytest.mark.long("True"))])
def test_a_node_that_dies_loses_nothing(third: IgniteCluster, new_cache: NewCacheOf, overwrite: bool) -> None:
    with Cluster(endpoint_of(third)) as cluster:
        cache = new_cache(atomicity="ATOMIC", backups=1)
        await_owners(cluster, cache, 3)
        keys = range(40_000)

        def put(meanwhile: Callable[[], None]) -> None:
            with CacheWriter(cluster, cache, overwrite=overwrite, limits=WriteLimits(entries=500, in_flight=10)) as writer:
                writer.put(longs(*keys[:20_000]), texts(*map(str, keys[:20_000])))
                meanwhile()
                writer.put(longs(*keys[20_000:]), texts(*map(str, keys[20_000:])))
                writer.flush()

        if not stable(put, lambda: third.kill(THIRD)):
            assert not overwrite
            wait_until(lambda: stable(put), "an insert while no node comes or goes")
        assert entries_of(cluster, cache) == {key: str(key) for key in keys}


def test_a_node_that_hangs_is_waited_for_until_it_has_left(third: IgniteCluster, new_cache: NewCacheOf) -> None:
    """Its entries go to others then, each once: of a node that has left nothing comes any more."""
    node = psutil.Process(third.node(THIRD).pid)
    # a node that hangs takes connections and never answers: a long time-out would be waited for by chance
    with Cluster(replace(endpoint_of(third), connect_timeout_ms=1_000, request_timeout_ms=1_000, retry_timeout_ms=90_000)) as cluster:
        cache = new_cache(atomicity="ATOMIC", backups=1)
        await_owners(cluster, cache, 3)
        with CacheWriter(cluster, cache, overwrite=True) as writer:
            writer.put(longs(*range(2_000)), texts(*["before"] * 2_000))
            writer.flush()
            hung = next(connection for connection in cluster._by_node.values() if connection.address == third.addresses[THIRD])
            assert not cluster.has_left(hung, writer._topology)
            node.suspend()
            writer.put(longs(*range(2_000)), texts(*["after"] * 2_000))
            writer.flush()
            assert cluster.has_left(hung, writer._topology)
        assert (hung.closed, hung.gave_up) == (True, False)
        assert set(entries_of(cluster, cache).values()) == {"after"}
        third.kill(THIRD)  # before the cache is destroyed by a client with long time-outs


def test_an_answer_that_comes_late_is_waited_for(pair: IgniteCluster, cluster: Cluster, new_cache: NewCacheOf) -> None:
    cache = new_cache()
    with (
        TcpProxy(int(pair.address.rpartition(":")[2])) as link,
        OneNodeCluster(IgniteEndpoint((link.address,), request_timeout_ms=1_000)) as slow,
        CacheWriter(slow, cache, overwrite=True) as writer,
    ):
        writer.put(longs(1), texts("before"))
        writer.flush()
        used, link.delay_s = slow.connection(), 1.5
        writer.put(longs(1), texts("after"))
        writer.flush()
        assert slow.connection() is used
        link.delay_s = 0
    assert entries_of(cluster, cache) == {1: "after"}


def test_a_node_that_neither_answers_nor_leaves_is_an_error(pair: IgniteCluster, cluster: Cluster, new_cache: NewCacheOf) -> None:
    cache = new_cache()
    with (
        TcpProxy(int(pair.address.rpartition(":")[2])) as link,
        OneNodeCluster(IgniteEndpoint((link.address, *pair.addresses), request_timeout_ms=500, retry_timeout_ms=2_000)) as half_open,
    ):
        while half_open.connection().address != link.address:
            half_open.connection().close()
        writer = CacheWriter(half_open, cache, overwrite=True)
        writer.put(longs(1), texts("x"))
        writer.flush()
        link.silence()
        writer.put(longs(1), texts("y"))
        with pytest.raises(OutcomeUnknown, match="may still put them"):
            writer.flush()
        assert entries_of(cluster, cache) == {1: "x"}


def test_entries_go_to_the_primary_node_of_their_partition(cluster: Cluster, new_cache: NewCacheOf) -> None:
    cache = new_cache(atomicity="ATOMIC")
    await_owners(cluster, cache, 2)
    keys = encoded(pa.array([f"key {number}" for number in range(500)]), TEXT)
    with CacheWriter(cluster, cache, overwrite=True) as writer:
        parts = list(writer._group_by_node(keys))
        writer.put(keys, keys)
        writer.flush()
    assert len(parts) == 2
    primary = primary_nodes(cluster, cache.cache_id)
    for node, rows in parts:
        mine = {row.as_py() for row in keys.take(rows)}
        held = {
            encoded(pa.array([key]), TEXT)[0].as_py()
            for page in scan_partitions(cluster, cache, [part for part, owner in primary.items() if owner == node])
            for key, _ in decode_rows([page], cache, cluster)
        }
        assert held == mine


def test_a_read_only_cluster_is_named(pair: IgniteCluster, cluster: Cluster, new_cache: NewCacheOf) -> None:
    cache = new_cache()
    with read_only(pair), CacheWriter(cluster, cache, overwrite=True) as writer:
        writer.put(longs(1), texts("x"))
        with pytest.raises(WriteFailed, match="read-only") as caught:
            writer.flush()
    assert {"cache", "node", "address"} <= caught.value.where.keys()
    assert "--set-state ACTIVE" in caught.value.remedy


def test_no_node_that_answers_is_an_error(pair: IgniteCluster) -> None:
    endpoint = IgniteEndpoint((pair.addresses[THIRD],), connect_timeout_ms=500)
    with (
        Cluster(endpoint) as cluster,
        CacheWriter(cluster, CacheInfo("any", 1), overwrite=True) as writer,
        pytest.raises(IgniteUnreachable),
    ):
        writer.put(longs(1), texts("x"))


def await_owners(cluster: Cluster, cache: CacheInfo, nodes: int) -> None:
    """Return once partitions of the cache are spread over so many nodes."""

    def spread() -> bool:
        cluster.cache(cache.name)  # refreshes the map of partitions
        return len(set(primary_nodes(cluster, cache.cache_id).values())) >= nodes

    wait_until(spread, f"partitions on {nodes} nodes")


@contextmanager
def read_only(nodes: IgniteCluster) -> Iterator[None]:
    with writer_of(nodes) as client:
        client.get_cluster().set_state(ClusterState.ACTIVE_READ_ONLY)
        try:
            yield
        finally:
            client.get_cluster().set_state(ClusterState.ACTIVE)


def test_objects_are_not_written_in_a_form_that_the_nodes_do_not_have(jars: Jars, tmp_path: Path) -> None:
    form = '<bean class="org.apache.ignite.configuration.BinaryConfiguration"><property name="compactFooter" value="false"/></bean>'
    with (
        IgniteCluster(tmp_path, jars=jars, backlog_mib=0, properties=(("binaryConfiguration", form),), java_options=QUICK_JVM) as nodes,
        Cluster(endpoint_of(nodes)) as cluster,
        pytest.raises(UnsupportedType, match="compact"),
    ):
        register_type(cluster, LAYOUT.metadata)
