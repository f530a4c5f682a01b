"""A plain cluster of two nodes that a third may join, and data in it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ignite_kafka.ignite.cluster import Cluster
from tests.integration.ignite.nodes import CACHES, THIRD, endpoint_of, writer
from tests.support import QUICK_JVM
from tools.servers import IgniteCluster, Jars

MakeCache = Callable[..., str]


@pytest.fixture(scope="session")
def pair(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """Nodes 0 and 1; the addresses name a third, that only the tests with `third` start."""
    caches = (("cacheConfiguration", f"<list>{CACHES}</list>"),)
    nodes = IgniteCluster(
        tmp_path_factory.mktemp("pair"), jars=jars, nodes=3, data_region_mib=256, properties=caches, java_options=QUICK_JVM
    )
    try:
        nodes.start_node(0)
        nodes.start_node(1)
        yield nodes
    finally:
        nodes.stop()


@pytest.fixture
def third(pair: IgniteCluster) -> Iterator[IgniteCluster]:
    """The pair, with its third node for this test."""
    pair.start_node(THIRD)
    yield pair
    pair.kill(THIRD)


@pytest.fixture
def cluster(pair: IgniteCluster) -> Iterator[Cluster]:
    with Cluster(endpoint_of(pair)) as opened:
        yield opened


def fill(pyignite_client: Any, name: str, entries: int, text: str = "value") -> None:
    """A cache of `entries` Long keys from 0 on, with the text and the key as value."""
    cache = pyignite_client.get_or_create_cache(name)
    for start in range(0, entries, 20_000):
        cache.put_all({key: f"{text} {key}" for key in range(start, min(start + 20_000, entries))})


@pytest.fixture
def make_cache(pair: IgniteCluster) -> Iterator[MakeCache]:
    """`make_cache(entries, kind)`: a cache with a name of its own, by one of the templates; destroyed after the test."""
    made: list[str] = []

    def make(entries: int, kind: str = "backed", text: str = "value") -> str:
        made.append(f"{kind}-{uuid.uuid4().hex[:8]}")
        with writer(pair) as connected:
            fill(connected, made[-1], entries, text)
        return made[-1]

    yield make
    with writer(pair) as connected:
        for name in made:
            if name in connected.get_cache_names():
                connected.get_cache(name).destroy()
