"""The jar of the backlog service, inserts and refusals on a node of the oldest Ignite that has the service.

Other versions run the other tests, chosen by TEST_IGNITE_VERSION (`tools/servers/versions.py`, docs/compatibility.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from ignite_kafka.errors import BacklogRefused, IgniteKafkaError
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_service import BacklogService, has_service
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cache_inserts import insert_op
from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.continuous_query import check_supported
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.schema import get_or_create_cache
from tests.integration.ignite.test_backlog_service import SETTINGS, fold, units_of
from tests.integration.ignite.test_cache_writer import entries_of, longs, texts
from tests.support import PARTITIONS, QUICK_JVM
from tools.servers import IgniteCluster, Jars
from tools.servers.versions import OLDEST_IGNITE


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    jars = Jars.of_checkout(ignite=OLDEST_IGNITE)
    node = IgniteCluster(tmp_path_factory.mktemp("oldest"), jars=jars, data_region_mib=128, partitions=PARTITIONS, java_options=QUICK_JVM)
    with node, Cluster(IgniteEndpoint(node.addresses)) as opened:
        yield opened


def put(cluster: Cluster, cache: str, keys: pa.BinaryArray, values: pa.BinaryArray, *, overwrite: bool = True) -> None:
    with CacheWriter(cluster, cluster.cache(cache), overwrite=overwrite) as writer:
        writer.put(keys, values)
        writer.flush()


def test_a_capture_begins_is_started_again_and_ends(cluster: Cluster) -> None:
    """Where the jar was linked with a newer Ignite, the second start and the end failed, or the service was not there at all."""
    get_or_create_cache(cluster, CacheConfiguration("captured"))
    assert cluster.ask(has_service)
    assert cluster.cache("captured").incarnation
    service = BacklogService(cluster.connection())
    started = service.start("c", SETTINGS, ["captured"])
    put(cluster, "captured", longs(1, 2, 3), texts("one", "two", "three"))
    with CacheWriter(cluster, cluster.cache("captured"), overwrite=True) as writer:
        writer.remove(longs(2))
        writer.flush()
    again = service.start("c", SETTINGS, ["captured"])
    assert again["incarnation.captured"] == started["incarnation.captured"]
    service.barrier("c")
    assert fold(service.read("c", units_of(started, "captured"), 1 << 20)) == {1: "one", 3: "three"}
    assert service.status("c")["caches"]
    with pytest.raises(BacklogRefused):
        service.start("c", {"backlogMemoryRegionName": "none"}, ["captured"])
    ended = service.stop("c", True)
    assert (ended["service"], ended["cache"]) == ("kafka-connect-backlog-service-c", "kafka-connect-backlog-c")
    assert service.connectors() == []


def test_inserts_leave_what_is_there_without_a_data_streamer(cluster: Cluster) -> None:
    cache = get_or_create_cache(cluster, CacheConfiguration("inserted"))
    assert insert_op(cluster, cache.cache_id) == protocol.CACHE_PUT_IF_ABSENT
    put(cluster, "inserted", longs(*range(700)), texts(*["first"] * 700), overwrite=False)
    put(cluster, "inserted", longs(*range(1_000)), texts(*["second"] * 1_000), overwrite=False)
    assert entries_of(cluster, cache) == dict.fromkeys(range(700), "first") | dict.fromkeys(range(700, 1_000), "second")


def test_continuous_queries_are_refused_with_the_version_that_has_them(cluster: Cluster) -> None:
    with pytest.raises(IgniteKafkaError, match="no continuous queries for thin clients") as caught:
        cluster.ask(check_supported)
    assert "Ignite 2.10 or newer" in caught.value.remedy
