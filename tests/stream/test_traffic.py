"""The writers themselves: each mode writes, they go on over a killed node, and what they roll back is nowhere."""

from __future__ import annotations

import pytest

from tests.support.stream_oracle import entries_of
from tests.support.traffic import TrafficProgram
from tools.servers import IgniteCluster

CACHES = ("atomic-a", "atomic-b", "tx-a", "grouped-a", "grouped-b")
WRITERS = ("puts:atomic-a", "batches:atomic-a", "stream:atomic-b", "insert:atomic-b", "tx:tx-a", "tx:grouped-a,grouped-b")


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_writers_continue_when_a_node_is_killed(mortal_pair: IgniteCluster, traffic: TrafficProgram) -> None:
    cluster = mortal_pair
    with cluster.client() as client:
        for cache in CACHES:
            client.create_cache(cache)
    with traffic.start(cluster, WRITERS, seed=7, rate=300) as running:
        running.await_operations(300)
        cluster.kill(1)
        after = running.await_operations(100)
        counts = running.stop()
    assert counts.operations >= after.operations > 400
    assert min(counts.puts, counts.removes, counts.rolled_back) > 0
    assert counts.failures < counts.operations / 10
    held = {cache: entries_of(cluster, cache) for cache in CACHES}
    assert all(held.values())
    values = [value for entries in held.values() for value in entries.values()]
    assert min(values) > 0
    assert max(values) <= counts.highest
    with traffic.start(cluster, WRITERS[:1], first=counts.highest) as again:
        again.await_operations(20)
        assert again.stop().highest > counts.highest
    assert max(entries_of(cluster, "atomic-a").values()) > counts.highest
