"""Entries in Ignite's binary format from one cluster into another one, which has none of their types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from ignite_kafka import events
from ignite_kafka.errors import RecordRefused, TopicError
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.state import status
from tests.support import emitted_events
from tests.support.java_caches import PREFIX, java_caches
from tests.support.kept_events import assert_kept
from tests.support.two_clusters import Copy, all_caches, read_by_java, written_by_java
from tests.support.waiting import REQUEST_S
from tools.servers import IgniteCluster, Jars, KafkaBroker

TABLES = (
    "CREATE TABLE people (id INT, region VARCHAR, name VARCHAR, pay DECIMAL(10,2), PRIMARY KEY (id, region)) "
    'WITH "cache_name=people,key_type=PersonKey,value_type=Person,affinity_key=region,atomicity=TRANSACTIONAL,cache_group=staff"',
    "CREATE INDEX by_name ON people (name DESC, pay)",
    'CREATE TABLE regions (region VARCHAR PRIMARY KEY, country VARCHAR) WITH "cache_name=regions,value_type=Region"',
)
_OWN = "TABLE_NAME IN ('PEOPLE', 'REGIONS')"  # other tests have tables in the first cluster, too
INDEXES = f"SELECT TABLE_NAME, INDEX_NAME, COLUMNS, INLINE_SIZE FROM SYS.INDEXES WHERE INDEX_NAME = 'BY_NAME' AND {_OWN}"
COLUMNS = f"SELECT TABLE_NAME, COLUMN_NAME, TYPE, NULLABLE, PRECISION, SCALE, AFFINITY_COLUMN FROM SYS.TABLE_COLUMNS WHERE {_OWN}"
JOINED = "SELECT p.name, r.country FROM people p JOIN regions r ON p.region = r.region ORDER BY p.id"
PEOPLE = "SELECT id, region, name, pay FROM people ORDER BY id"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two-clusters")


def test_entries_of_one_cluster_are_typed_values_of_another(
    spark: SparkSession,
    kafka: KafkaBroker,
    ignite: IgniteCluster,
    ignite_cluster: Callable[..., IgniteCluster],
    jars: Jars,
    classes: Path,
) -> None:
    there = ignite_cluster(data_region_mib=1_024)  # an empty cache of 1,024 partitions takes 20 MiB
    copy = Copy(spark, kafka, ignite, there)
    with java_caches(ignite, jars, classes), ignite.client() as here, there.client() as other:
        other_copy = Copy(spark, kafka, ignite, there)
        other_copy.send(PREFIX + "flat")
        empty = f"{other_copy.name}.empty"
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic(empty, 1, 1)])[empty].result(REQUEST_S)
        with pytest.raises(RecordRefused, match=f"no metadata of a binary type, and topic {empty} has none either"):
            other_copy.store(empty)
        with pytest.raises(TopicError, match="the topic of binary types does not exist"):
            other_copy.store("no-such-topic")

        for statement in TABLES:
            list(here.sql(statement))
        list(here.sql("INSERT INTO people VALUES (1, 'eu', 'Ada', 12.5), (2, 'us', NULL, 3)"))
        list(here.sql("INSERT INTO regions VALUES ('eu', 'France'), ('us', 'Ohio')"))
        java = all_caches(classes)
        copy.send(*java, "people", "regions")

        assert copy.store().state == status.COMPLETED
        assert read_by_java(there, jars, classes, java) == written_by_java(classes, java)
        for query in (PEOPLE, JOINED):
            assert list(other.sql(query)) == list(here.sql(query))
        assert [row[:2] for row in other.sql(INDEXES)] == [row[:2] for row in here.sql(INDEXES)]
        assert sorted(other.sql(COLUMNS)) == sorted(here.sql(COLUMNS))

        # a type that grows between two runs, as it does within one
        list(here.sql("ALTER TABLE people ADD COLUMN age INT"))
        list(here.sql("INSERT INTO people (id, region, name, pay, age) VALUES (3, 'eu', 'Cy', 1, 40)"))
        copy.send("people")
        emitted_events.reset()
        assert copy.store().state == status.COMPLETED
        assert emitted_events.counts()[events.CACHE_DIFFERS.id] == 1  # an existing cache is left alone
        assert_kept(copy.sink, events.CACHE_DIFFERS, events.TYPE_REGISTERED)
        list(other.sql("ALTER TABLE people ADD COLUMN age INT"))
        assert list(other.sql("SELECT name, age FROM people WHERE region = 'eu' ORDER BY id")) == [["Ada", None], ["Cy", 40]]

    with Cluster(IgniteEndpoint(ignite.addresses)) as a, Cluster(IgniteEndpoint(there.addresses)) as b:
        made, as_made = (cluster.configuration("people") for cluster in (b, a))
        assert made.atomicity == "TRANSACTIONAL"
        assert made == replace(as_made, query_entities=made.query_entities)
        for name in ("Person", "PersonKey", "WriteTypes$Color", "WriteTypes$KeyA"):
            ours, theirs = (cluster.binary_type(java_hash(name.lower())) for cluster in (a, b))
            assert theirs.schemas == ours.schemas
            assert set(theirs.fields) == set(ours.fields)
            assert (theirs.affinity_field, theirs.enum_values) == (ours.affinity_field, ours.enum_values)
