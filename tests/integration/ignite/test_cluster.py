"""What a real cluster of two nodes says of its caches, types and owners."""

from __future__ import annotations

from typing import Any

import pytest
from pyignite import GenericObjectMeta
from pyignite.datatypes import IntObject, String

from ignite_kafka.errors import CacheNotFound, IgniteKafkaError, UnknownBinaryType
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.protocol import cache_id
from ignite_kafka.ignite.types.model import QueryField
from tests.integration.ignite.conftest import MakeCache
from tests.integration.ignite.nodes import endpoint_of, primary_nodes, writer
from tools.servers import IgniteCluster


@pytest.mark.parametrize(
    ("name", "partitions", "mode", "atomicity", "backups"),
    [
        ("parts-32", 32, "PARTITIONED", "ATOMIC", 1),
        ("parts-7", 7, "PARTITIONED", "ATOMIC", 0),
        ("group-b", 64, "PARTITIONED", "TRANSACTIONAL", 0),
        ("copies", 512, "REPLICATED", "ATOMIC", 0x7FFFFFFF),
        ("copies-9", 9, "REPLICATED", "ATOMIC", 0x7FFFFFFF),
    ],
)
def test_configuration(cluster: Cluster, name: str, partitions: int, mode: str, atomicity: str, backups: int) -> None:
    info = cluster.cache(name)
    assert (info.name, info.cache_id) == (name, cache_id(name))
    assert (info.partitions, info.mode, info.atomicity, info.backups) == (partitions, mode, atomicity, backups)


def test_cache_names_are_the_users(cluster: Cluster, make_cache: MakeCache) -> None:
    name = make_cache(0)
    names = cluster.cache_names()
    assert {name, "parts-32", "copies"} <= set(names)
    assert names == sorted(names)
    assert not [name for name in names if name.startswith("ignite-sys")]


def test_unknown_cache(cluster: Cluster) -> None:
    with pytest.raises(CacheNotFound, match="cache Parts-32"):
        cluster.cache("Parts-32")


def test_a_name_with_the_id_of_another_cache_is_not_that_cache(cluster: Cluster) -> None:
    assert cache_id("parts-2Q") == cache_id("parts-32")
    for read in (cluster.cache, cluster.configuration):
        with pytest.raises(IgniteKafkaError, match="same hash code as cache parts-32"):
            read("parts-2Q")


def test_query_entity(cluster: Cluster, pair: IgniteCluster) -> None:
    with writer(pair) as connected:
        columns = "id INT, city VARCHAR NOT NULL, area DECIMAL(10, 2), born TIMESTAMP DEFAULT '2020-01-01 00:00:00', PRIMARY KEY (id, city)"
        connected.sql(f'CREATE TABLE towns ({columns}) WITH "cache_name=towns,key_type=TownKey,value_type=Town"')
        connected.sql("CREATE INDEX towns_area ON towns (area DESC)")
        (entity,) = cluster.cache("towns").query_entities
        connected.sql("DROP TABLE towns")
    assert (entity.key_type, entity.value_type, entity.table) == ("TownKey", "Town", "TOWNS")
    fields = {field.name: field for field in entity.fields}
    assert list(fields) == ["ID", "CITY", "AREA", "BORN"]
    assert fields["ID"] == QueryField("ID", "java.lang.Integer", True, fields["ID"].not_null)
    assert (fields["CITY"].is_key, fields["CITY"].not_null) == (True, True)
    assert fields["AREA"] == QueryField("AREA", "java.math.BigDecimal", precision=10, scale=2)
    assert fields["BORN"].java_type == "java.sql.Timestamp"


def test_binary_type(cluster: Cluster, pair: IgniteCluster, make_cache: MakeCache) -> None:
    kind: Any = GenericObjectMeta("Parcel", (), {}, type_name="ThinParcel", schema={"weight": IntObject, "label": String})
    name = make_cache(0)
    with writer(pair) as connected:
        connected.get_cache(name).put(1, kind(weight=3, label="x"))
    type_id = cache_id("thinparcel")  # a type's id is the same hash, of its name in lower case
    found = cluster.binary_type(type_id)
    assert (found.type_id, found.name, found.is_enum) == (type_id, "ThinParcel", False)
    assert [(field.name, field.type_code) for field in found.fields] == [("weight", 3), ("label", 9)]
    assert list(found.schemas.values()) == [tuple(field.field_id for field in found.fields)]
    assert cluster.binary_type(type_id) is found


def test_unknown_binary_type(cluster: Cluster) -> None:
    with pytest.raises(UnknownBinaryType, match="type id 123"):
        cluster.binary_type(123)


def test_owners_and_connections_to_them(cluster: Cluster) -> None:
    owners = primary_nodes(cluster, cache_id("parts-32"))
    assert sorted(owners) == list(range(32))
    assert len(set(owners.values())) == 2
    for node in set(owners.values()):
        connection = cluster.connection(node)
        assert connection.node_id == node
        assert cluster.connection(node) is connection
    assert primary_nodes(cluster, cache_id("copies")) == {}


def test_other_nodes_are_found_from_one_address(pair: IgniteCluster) -> None:
    endpoint = IgniteEndpoint((pair.addresses[0],))
    with Cluster(endpoint) as cluster:
        for node in set(primary_nodes(cluster, cache_id("parts-32")).values()):
            assert cluster.connection(node).node_id == node


def test_lost_connection_is_made_again(cluster: Cluster) -> None:
    before = cluster.connection()
    names = cluster.cache_names()
    before._socket.close()
    assert cluster.cache_names() == names
    assert before.closed


def test_cache_lists_on_an_endpoint_with_a_dead_address(pair: IgniteCluster) -> None:
    endpoint = endpoint_of(pair)
    with Cluster(IgniteEndpoint(("127.0.0.1:1", *endpoint.addresses))) as cluster:
        assert "parts-7" in cluster.cache_names()
