"""Partition scans against two real nodes: complete, bounded, and never short without an error."""

from __future__ import annotations

import os
import signal
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import pytest
from pyignite.datatypes.cache_config import PartitionLossPolicy
from pyignite.datatypes.prop_codes import PROP_BACKUPS_NUMBER, PROP_NAME, PROP_PARTITION_LOSS_POLICY

from ignite_kafka.errors import CacheDestroyed, IgniteKafkaError, ScanFailed
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types.model import CacheInfo, Page
from tests.integration.ignite.conftest import MakeCache, fill
from tests.integration.ignite.nodes import THIRD, OneNodeCluster, endpoint_of, primary_nodes, writer
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster

ENTRIES = 6_000
MAX_CURSORS = 128  # of a connection, when the node's configuration says nothing


def keys(page: Page) -> Iterator[int]:
    """Keys of a page of Long keys and String values."""
    position = 0
    for _ in range(page.rows):
        code, key, value_code, length = struct.unpack_from("<BqBi", page.data, position)
        assert (code, value_code) == (4, 9)
        position += 14 + length
        yield key
    assert position == len(page.data)


def all_keys(pages: Iterable[Page]) -> Counter[int]:
    return Counter(key for page in pages for key in keys(page))


def once_each(entries: int) -> Counter[int]:
    return Counter(range(entries))


@pytest.mark.parametrize("window", [1, 8])
@pytest.mark.parametrize("page_bytes", [200, 4 << 20])
def test_every_entry_once(cluster: Cluster, make_cache: MakeCache, window: int, page_bytes: int) -> None:
    info = cluster.cache(make_cache(ENTRIES))
    pages = list(scan_partitions(cluster, info, range(info.partitions), page_bytes=page_bytes, window=window))
    assert all_keys(pages) == once_each(ENTRIES)
    assert sorted(page.partition for page in pages if page.last) == list(range(info.partitions))
    assert [page.partition for page in pages if page.last] == [partition for partition, _ in groupby(page.partition for page in pages)]


@pytest.mark.parametrize("name", ["parts-32", "parts-7", "copies-9", "group-a"])
def test_odd_partition_counts(cluster: Cluster, pair: IgniteCluster, name: str) -> None:
    with writer(pair) as connected:
        connected.get_cache(name).put_all(dict.fromkeys(range(1_000), "x"))
    info = cluster.cache(name)
    assert all_keys(scan_partitions(cluster, info, range(info.partitions))) == once_each(1_000)


def test_empty_partitions_end_too(cluster: Cluster, make_cache: MakeCache) -> None:
    info = cluster.cache(make_cache(0))
    pages = list(scan_partitions(cluster, info, [3, 1, 63]))
    assert sorted((page.partition, page.rows, bytes(page.data), page.last) for page in pages) == [
        (1, 0, b"", True),
        (3, 0, b"", True),
        (63, 0, b"", True),
    ]


def test_only_the_given_partitions(cluster: Cluster, make_cache: MakeCache) -> None:
    info = cluster.cache(make_cache(ENTRIES))
    assert {page.partition for page in scan_partitions(cluster, info, [5, 6])} == {5, 6}
    assert list(scan_partitions(cluster, info, [])) == []


@pytest.mark.parametrize("kind", ["single", "replicated"])
def test_through_one_node(pair: IgniteCluster, make_cache: MakeCache, kind: str) -> None:
    with OneNodeCluster(endpoint_of(pair)) as cluster:
        info = cluster.cache(make_cache(ENTRIES, kind))

        def read() -> Counter[int]:
            return all_keys(scan_partitions(cluster, info, range(info.partitions), page_bytes=100))

        # the copies of a replicated cache get what is put a moment later (PRIMARY_SYNC)
        wait_until(lambda: read().total() == ENTRIES, "all entries on the node")
        assert read() == once_each(ENTRIES)


def test_pages_follow_the_size_of_entries(cluster: Cluster, make_cache: MakeCache) -> None:
    info = cluster.cache(make_cache(300, text="x" * 50_000))
    pages = list(scan_partitions(cluster, info, range(info.partitions), page_bytes=200_000))
    assert all_keys(pages) == once_each(300)
    assert max(len(page.data) for page in pages) < 400_000


def test_cursors_are_closed_when_the_reader_stops(cluster: Cluster, make_cache: MakeCache) -> None:
    info = cluster.cache(make_cache(ENTRIES))
    for _ in range(3 * MAX_CURSORS):
        pages = scan_partitions(cluster, info, range(info.partitions), page_bytes=100, window=4)
        next(pages)
        pages.close()
    assert all_keys(scan_partitions(cluster, info, range(info.partitions))) == once_each(ENTRIES)


def test_window_beyond_the_nodes_cursor_limit(cluster: Cluster, make_cache: MakeCache) -> None:
    info = cluster.cache(make_cache(3 * ENTRIES, "many"))  # more entries in a partition than its first page has
    pages = scan_partitions(cluster, info, range(info.partitions), page_bytes=100, window=4 * MAX_CURSORS)
    assert all_keys(pages) == once_each(3 * ENTRIES)


def test_unknown_cache(cluster: Cluster) -> None:
    with pytest.raises(CacheDestroyed, match="cache never-made"):
        list(scan_partitions(cluster, CacheInfo("never-made", 77), [0]))


def test_unknown_partition(cluster: Cluster) -> None:
    with pytest.raises(ScanFailed, match=r"Invalid partition number: 32.*cache parts-32, partition 32"):
        list(scan_partitions(cluster, cluster.cache("parts-32"), [32]))


@pytest.mark.parametrize("again", [False, True], ids=["destroyed", "and made again"])
@pytest.mark.parametrize("page_bytes", [100, 4 << 20], ids=["within partitions", "between partitions"])
def test_cache_destroyed_while_it_is_read(
    cluster: Cluster, pair: IgniteCluster, make_cache: MakeCache, again: bool, page_bytes: int
) -> None:
    name = make_cache(ENTRIES)
    pages = scan_partitions(cluster, cluster.cache(name), range(64), page_bytes=page_bytes)
    for _ in range(20):
        next(pages)
    with writer(pair) as connected:
        connected.get_cache(name).destroy()
        if again:
            fill(connected, name, ENTRIES)
    with pytest.raises(CacheDestroyed, match=f"destroyed{' and made again' if again else ''}.*cache {name}") as raised:
        list(pages)
    assert raised.value.final


@pytest.mark.parametrize("again", [False, True], ids=["destroyed", "and made again"])
def test_cache_destroyed_while_another_node_fetches_it(pair: IgniteCluster, make_cache: MakeCache, again: bool) -> None:
    """The node ends such scans early and reports nothing (seen with Ignite 2.17)."""
    name = make_cache(ENTRIES, "single")
    with OneNodeCluster(endpoint_of(pair)) as cluster:
        info = cluster.cache(name)
        remote = [number for number, node in primary_nodes(cluster, info.cache_id).items() if node != cluster.connection().node_id]
        pages = scan_partitions(cluster, info, remote[:8], page_bytes=60)
        first = next(pages)
        with writer(pair) as connected:
            connected.get_cache(name).destroy()
            if again:
                fill(connected, name, ENTRIES)
        ended = {first.partition} if first.last else set()
        with pytest.raises((CacheDestroyed, ScanFailed)):
            ended |= {page.partition for page in pages if page.last}
        assert not ended


def test_another_cache_made_meanwhile_is_no_matter(cluster: Cluster, make_cache: MakeCache) -> None:
    info = cluster.cache(make_cache(ENTRIES))
    pages = scan_partitions(cluster, info, range(info.partitions), page_bytes=100)
    found = all_keys([next(pages)])
    make_cache(10)
    assert found + all_keys(pages) == once_each(ENTRIES)


def scan_with_redo(cluster: Cluster, info: CacheInfo, during: Iterator[None]) -> tuple[Counter[int], list[IgniteKafkaError]]:
    """All keys, partitions that failed read again whole, as the callers of scan_partitions do; one step of `during` a page."""
    found: Counter[int] = Counter()
    errors: list[IgniteKafkaError] = []
    left = list(range(info.partitions))
    while left and len(errors) < 200:
        parts: dict[int, list[Page]] = {}
        try:
            for page in scan_partitions(cluster, info, left, page_bytes=200):
                next(during, None)
                parts.setdefault(page.partition, []).append(page)
        except ScanFailed as error:
            errors.append(error)
        for partition, pages in parts.items():
            if pages[-1].last:
                found += all_keys(pages)
                left.remove(partition)
    return found, errors


@pytest.mark.parametrize("end", ["killed", pytest.param("stopped", marks=pytest.mark.long("killed"))])
def test_node_ends_while_it_is_read(third: IgniteCluster, make_cache: MakeCache, end: str) -> None:
    name = make_cache(5 * ENTRIES)

    def after_some_pages() -> Iterator[None]:
        for _ in range(100):
            yield
        if end == "killed":
            third.kill(THIRD)
        else:
            os.kill(third.node(THIRD).pid, signal.SIGTERM)
        yield

    with Cluster(endpoint_of(third)) as cluster:
        info = cluster.cache(name)
        wait_until(lambda: len(set(primary_nodes(cluster, info.cache_id).values())) == 3, "partitions on the third node")
        found, errors = scan_with_redo(cluster, info, after_some_pages())
    assert found == once_each(5 * ENTRIES)
    assert errors
    assert not [error for error in errors if error.final]


def test_lost_partitions_are_an_error(third: IgniteCluster, unique: Callable[[str], str]) -> None:
    name = unique("safe")
    with writer(third) as connected, Cluster(endpoint_of(third)) as cluster:
        safe = {PROP_NAME: name, PROP_BACKUPS_NUMBER: 0, PROP_PARTITION_LOSS_POLICY: PartitionLossPolicy.READ_WRITE_SAFE}
        cache = connected.create_cache(safe)
        info = cluster.cache(name)
        wait_until(lambda: len(set(primary_nodes(cluster, info.cache_id).values())) == 3, "partitions on the third node")
        cache.put_all(dict.fromkeys(range(1_000), "x"))
        assert all_keys(scan_partitions(cluster, info, range(info.partitions))) == once_each(1_000)
        third.kill(THIRD)
        wait_until(lambda: len(set(primary_nodes(cluster, info.cache_id).values())) == 2, "the third node to be gone")

        def refused(partition: int) -> str | None:
            try:
                list(scan_partitions(cluster, info, [partition]))
            except ScanFailed as error:
                return str(error)
            return None

        answers = [answer for answer in map(refused, range(0, info.partitions, 8)) if answer]
        cache.destroy()
    assert answers
    assert all("lost" in answer for answer in answers)
