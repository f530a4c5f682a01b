"""Two nodes that give one type's metadata in two orders: reads through either node are the same."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyignite
import pytest
from pyignite import GenericObjectMeta
from pyignite.datatypes import DoubleObject, LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.datasources.ignite import IgniteDataSource
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.planning import make_plan
from ignite_kafka.source.snapshot.run import run_snapshot
from tests.integration.ignite.nodes import OneNodeCluster
from tests.support.converters import converter
from tests.support.servers import small_caches
from tools.compare_topics import verify
from tools.servers import IgniteCluster, Jars, KafkaBroker

CACHES, KEYS = ("small-orders-0", "small-orders-1"), 100
TABLE = """CREATE TABLE orders{0} (warehouse INT, region VARCHAR, shop BIGINT, customer VARCHAR, line INT, zone VARCHAR, amount BIGINT,
 PRIMARY KEY (warehouse, region, shop, customer, line))
 WITH "template=small-,cache_name=small-orders-{0},key_type=OrderKey{0},value_type=OrderValue{0}" """
COLUMNS = ["WAREHOUSE", "REGION", "SHOP", "CUSTOMER", "LINE"]


@pytest.fixture(scope="module")
def nodes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """The types of one table are registered through node 0, those of the other through node 1: one of them is the coordinator, which keeps
    the fields in the order given, while the other node has them in an order of its own."""
    with small_caches(tmp_path_factory.mktemp("two"), jars, nodes=2) as started:
        for number, address in enumerate(started.addresses):
            client = pyignite.Client()
            with client.connect("127.0.0.1", int(address.rpartition(":")[2])):
                client.sql(TABLE.format(number))
                for row in range(KEYS):
                    values = f"{row % 7}, 'r{row % 3}', {row}, 'c{row}', {row % 5}, 'z', {row}"
                    client.sql(f"INSERT INTO orders{number} VALUES ({values})")
        yield started


def one_node(nodes: IgniteCluster, number: int) -> Cluster:
    return OneNodeCluster(IgniteEndpoint((nodes.addresses[number],)))


def test_records_are_the_same_through_either_node(nodes: IgniteCluster) -> None:
    metadata, records = [], []
    for number in range(2):
        with one_node(nodes, number) as cluster:
            metadata.append([_metadata(cluster, f"orderkey{table}") for table in range(2)])
            records.append([_records(cluster, cache) for cache in CACHES])
    assert metadata[0] != metadata[1], "the metadata of the two nodes must differ, or nothing is shown"
    assert records[0] == records[1]
    for found in records[0]:
        assert len(found) == KEYS
        assert {tuple(json.loads(key)) for key, _ in found} == {tuple(COLUMNS)}
        assert {tuple(json.loads(value)) for _, value in found} == {("ZONE", "AMOUNT")}


def _metadata(cluster: Cluster, type_name: str) -> bytes:
    return bytes(cluster.connection().request(protocol.BINARY_TYPE, struct.pack("<i", java_hash(type_name))))


def _records(cluster: Cluster, cache: str) -> list[tuple[bytes, bytes]]:
    info = cluster.cache(cache)
    made = converter("json").convert(list(scan_partitions(cluster, info, range(info.partitions))), info, cluster)
    return sorted(zip(made.keys.to_pylist(), made.values.to_pylist(), strict=True))


def test_a_cache_of_several_kinds_is_one_frame(nodes: IgniteCluster, spark: SparkSession) -> None:
    """Without spark.sql.python.filterPushdown.enabled, too, which is off by default."""
    one: Any = GenericObjectMeta("KindOne", (), {}, schema={"walk": LongObject, "tail": String, "side": String, "area": DoubleObject})
    two: Any = GenericObjectMeta("KindTwo", (), {}, schema={"side": DoubleObject, "zone": LongObject, "area": String, "kept": LongObject})
    with nodes.client() as client:
        cache = client.get_or_create_cache("small-kinds")
        cache.put_all({row: one(row, f"t{row}", "s", row / 2) if row % 2 else two(row / 2, row, "a", row) for row in range(40)})
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "false"
    spark.dataSource.register(IgniteDataSource)
    seen = set()
    for read in range(4):
        addresses = nodes.addresses if read % 2 else nodes.addresses[::-1]
        frame = spark.read.format("ignite").option("cache", "small-kinds").option("addresses", ",".join(addresses)).load()
        rows = frame.filter("_key < 20").collect()
        assert len(rows) == 20
        assert {row["side_KindTwo"] for row in rows if row["_type"] == "KindTwo"} == {row / 2 for row in range(0, 20, 2)}
        seen.add(tuple(frame.columns))
    assert seen == {("_key", "walk", "tail", "side", "area", "side_KindTwo", "zone", "area_KindTwo", "kept", "_type")}


def test_a_snapshot_after_a_node_died_has_the_same_keys(nodes: IgniteCluster, spark: SparkSession, kafka: KafkaBroker) -> None:
    """Node 0 is killed here: the last test of this module."""
    settings = SourceSettings(
        name="two-nodes",
        ignite_addresses=nodes.addresses,
        bootstrap_servers=kafka.bootstrap,
        cache_whitelist=CACHES,
        topic_prefix="two-nodes-",
        internal_topic_prefix="in-two-nodes",
        topic_partitions=3,
        slots=4,
    )
    run_snapshot(spark, RunRequest(settings, "first-run", "first"))
    nodes.kill(0)
    run_snapshot(spark, RunRequest(settings, "second-run", "second"))
    clients = kafka_clients(settings, Secrets())
    topics = Topics(clients)
    for cache in CACHES:
        keys = defaultdict(set)
        for message in read_to_end(clients, topics, f"two-nodes-{cache}", list(range(3))):
            keys[json.loads(message.value() or b"")["AMOUNT"]].add((message.key(), message.partition()))
        assert sorted(keys) == list(range(KEYS))
        assert [len(found) for found in keys.values()] == [1] * KEYS
    with ignite_cluster(settings, Secrets()) as cluster:
        verified = verify(make_plan(settings, cluster, topics, "any", 16), cluster, clients)
    found = {result.cache: (result.equal, result.entries, result.records, result.repeated) for result in verified}
    assert found == dict.fromkeys(CACHES, (True, KEYS, 2 * KEYS, KEYS)), verified
