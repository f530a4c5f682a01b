"""A key has the same bytes from every node of three, in every page and batch, after restarts of nodes and after its class changed."""

from __future__ import annotations

import random
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ignite_kafka.convert.to_kafka.read_back import KeyReader
from ignite_kafka.errors import ScanFailed
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.binary import raw_entries
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types.model import CacheInfo, Page
from ignite_kafka.java.hash_code import java_hash
from tests.integration.ignite.nodes import OneNodeCluster
from tests.support.java_programs import IGNITE_CLIENT_JVM, compile_java
from tests.support.key_converters import KEY_CONVERTERS
from tests.support.randomness import generator
from tests.support.servers import small_caches
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, Jars
from tools.servers.jars import java_command

NODES, COUNT = 3, 12
PAGE_BYTES = 2_000, 1 << 20
BATCHES = 1, 6, 30, 90  # pages
SIMPLE, OBJECTS = 9, 5  # keys of a number: simple ones, which are equal in all caches, and those of the cache's own types
SOURCE = Path(__file__).parents[2] / "java" / "WriteKeys.java"
CONVERTERS = [name for name in KEY_CONVERTERS if name not in ("string", "long", "float")]
Keys = dict[bytes, bytes]
"""Key in Ignite's binary format to the key of its record."""


class Writer:
    """Writes keys through one node; the types of each cache are registered there first."""

    def __init__(self, nodes: IgniteCluster, jars: Jars, classes: Path) -> None:
        self.nodes, self._jars, self._classes = nodes, jars, classes

    def write(self, node: int, cache: int, first: int) -> None:
        arguments: list[str | Path] = [self.nodes.addresses[node], f"small-keys-{cache}", str(cache), str(first), str(COUNT)]
        command = java_command("WriteKeys", arguments, [self._classes, self._jars.thin_client], IGNITE_CLIENT_JVM)
        subprocess.run(command, check=True, timeout=DEADLINE_S)


@pytest.fixture(scope="module")
def writer(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    """A cluster whose nodes have registered the types of one cache each."""
    classes = tmp_path_factory.mktemp("classes")
    compile_java([SOURCE], jars.thin_client, classes)
    with small_caches(tmp_path_factory.mktemp("three"), jars, nodes=NODES) as started:
        made = Writer(started, jars, classes)
        for number in range(NODES):
            made.write(number, number, 0)
        yield made


def metadata(nodes: IgniteCluster, number: int) -> list[bytes]:
    """What one node replies about the types of the keys."""
    with OneNodeCluster(IgniteEndpoint((nodes.addresses[number],))) as cluster:
        return [
            bytes(cluster.connection().request(protocol.BINARY_TYPE, struct.pack("<i", java_hash(f"order{cache}"))))
            for cache in range(NODES)
        ]


def keys_of(name: str, cluster: Cluster, info: CacheInfo, pages: list[Page], pick: random.Random) -> Keys:
    """Keys of pages, which are converted in batches of a random composition."""
    pick.shuffle(pages)
    found: Keys = {}
    while pages:
        batch = [pages.pop() for _ in range(min(len(pages), pick.choice(BATCHES)))]
        records = KEY_CONVERTERS[name]().convert(batch, info, cluster, topic="t", in_order=True)
        raw = [key for page in batch for key, _ in raw_entries(page, info.name)]
        found |= dict(zip(raw, records.keys.to_pylist(), strict=True))
    return found


def every_key(nodes: IgniteCluster, name: str, number: int, page_bytes: int, pick: random.Random) -> Keys:
    """The keys of all caches, read through one node as a task of some partitions reads them."""
    found: Keys = {}
    with OneNodeCluster(IgniteEndpoint((nodes.addresses[number],))) as cluster:
        for cache in range(NODES):
            info = cluster.cache(f"small-keys-{cache}")
            partitions = pick.sample(range(info.partitions), info.partitions)
            cut = pick.randrange(1, info.partitions)
            for part in (partitions[:cut], partitions[cut:]):
                pages = [page for page in scan_partitions(cluster, info, part, page_bytes=page_bytes) if page.rows]
                found |= keys_of(name, cluster, info, pages, pick)
    return found


def settled(nodes: IgniteCluster, name: str, number: int, page_bytes: int, pick: random.Random) -> Keys:
    """The keys, once the partitions that a node's end or start moves are in their places."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return every_key(nodes, name, number, page_bytes, pick)
        except ScanFailed:
            assert time.monotonic() < deadline


def all_ways(nodes: IgniteCluster, name: str, numbers: tuple[int, ...], seed: int) -> Keys:
    """The keys, which every node gives in the same bytes, one node in small pages and the next in large ones, by turns over the seeds."""
    pick = generator(seed)
    ways = [settled(nodes, name, number, PAGE_BYTES[(number + seed) % 2], pick) for number in numbers]
    for way in ways[1:]:
        assert way == ways[0]
    return ways[0]


@pytest.mark.long("test_keys_of_java_come_back_or_are_doubtful")
def test_keys_keep_their_bytes(writer: Writer) -> None:
    """Over nodes, tasks, pages, batches, a class that gets fields, and nodes that die and come back."""
    nodes = writer.nodes
    given = [metadata(nodes, number) for number in range(NODES)]
    assert len(set(map(tuple, given))) > 1, "the metadata of the nodes must differ, or nothing is shown"
    before = {name: all_ways(nodes, name, tuple(range(NODES)), 1) for name in CONVERTERS}
    assert {len(keys) for keys in before.values()} == {SIMPLE * COUNT + NODES * (3 + OBJECTS * COUNT)}, "three constants of an enum each"
    for cache in range(NODES):
        writer.write((cache + 1) % NODES, cache, 100)  # field extra1, through another node
    evolved = {name: all_ways(nodes, name, tuple(range(NODES)), 2) for name in CONVERTERS}
    nodes.kill(0)
    survived = {name: all_ways(nodes, name, (1, 2), 3) for name in CONVERTERS}
    nodes.start_node(0)
    restarted = {name: all_ways(nodes, name, tuple(range(NODES)), 4) for name in CONVERTERS}
    for name in CONVERTERS:
        assert evolved[name] == evolved[name] | before[name], name
        assert len(evolved[name]) > len(before[name])
        assert evolved[name] == survived[name] == restarted[name], name


@pytest.mark.parametrize("name", ["json-numeric", "schemas-numeric", "ignite-binary"])
def test_keys_of_java_come_back_or_are_doubtful(writer: Writer, name: str) -> None:
    """Keys of one type each are turned back to Java's bytes, those with nested objects included."""
    converter = KEY_CONVERTERS[name]()
    with Cluster(IgniteEndpoint(writer.nodes.addresses)) as cluster:
        info = cluster.cache("small-keys-1")
        pages = [page for page in scan_partitions(cluster, info, range(info.partitions)) if page.rows]
        raw = [key for page in pages for key, _ in raw_entries(page, info.name)]
        records = converter.convert(pages, info, cluster, in_order=True)
        back = KeyReader(converter, records.key_kinds, info, cluster).read_back(records.keys.to_pylist())
        assert all(found in (None, key) for key, found in zip(raw, back, strict=True))
        alone = []
        for key in raw:
            page = Page(0, 1, memoryview(_entry(key)), True)
            record = converter.convert([page], info, cluster)
            alone += KeyReader(converter, record.key_kinds, info, cluster).read_back(record.keys.to_pylist())
    missing = {key for key, found in zip(raw, alone, strict=True) if found != key}
    assert all(b"item" in key for key in missing), "only keys with a collection"
    assert (name == "ignite-binary") == (not missing)


def _entry(key: bytes) -> bytes:
    return (key if key[0] != 103 else struct.pack("<Bi", 27, len(key)) + key + bytes(4)) + b"\x65"
