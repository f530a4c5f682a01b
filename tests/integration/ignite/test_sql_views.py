"""Configurations of caches as a Java client sees them: what is made from what was read is the same cache, as it is now."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.schema import get_or_create_cache
from ignite_kafka.ignite.sql_views import with_present_tables
from ignite_kafka.ignite.types.model import QueryField
from tests.support.java_programs import IGNITE_CLIENT_JVM, compile_java
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, Jars
from tools.servers.jars import java_command

Java = Callable[..., list[str]]


@pytest.fixture(scope="module")
def java(jars: Jars, tmp_path_factory: pytest.TempPathFactory, ignite: IgniteCluster) -> Java:
    """Run tests/java/Caches.java; its lines."""
    classes = tmp_path_factory.mktemp("caches")
    compile_java([Path(__file__).parents[2] / "java" / "Caches.java"], jars.thin_client, classes)

    def run(*arguments: str) -> list[str]:
        command = java_command("Caches", [ignite.address, *arguments], [classes, jars.thin_client], IGNITE_CLIENT_JVM)
        return subprocess.run(command, check=True, timeout=DEADLINE_S, stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()

    return run


def test_a_cache_made_of_what_was_read_has_every_property(ignite: IgniteCluster, java: Java, unique: Callable[[str], str]) -> None:
    name, copy = unique("whole"), unique("copy")
    java("make", name)
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        found = with_present_tables(cluster, cluster.configuration(name))
        assert found == cluster.configuration(name)
        assert (found.expiry_policy, found.key_configuration) == ((86_400_000, 172_800_000, -2), (("acme.Key", "region"),))
        # one group may have caches of equal names of tables in other schemas alone
        get_or_create_cache(cluster, replace(found, name=copy, sql_schema="other"))
    theirs, ours = java("show", name, copy)
    assert ours == theirs.replace("payroll", "other")


def test_columns_and_indexes_are_those_of_now(ignite: IgniteCluster, java: Java) -> None:
    java(
        "sql",
        "CREATE TABLE grown (id INT, region VARCHAR, name VARCHAR(20) NOT NULL, gone INT, PRIMARY KEY (id, region)) "
        'WITH "cache_name=grown,key_type=GrownKey,value_type=Grown,affinity_key=region"',
        "CREATE INDEX dropped ON grown (name)",
        "ALTER TABLE grown ADD COLUMN (zone UUID, age INT, pay DECIMAL(5,1), code VARCHAR(7) NOT NULL, text VARCHAR)",
        "ALTER TABLE grown DROP COLUMN gone",
        "DROP INDEX dropped",
        "CREATE INDEX grown_by_name ON grown (name ASC, age DESC) INLINE_SIZE 20",
        "CREATE INDEX grown_by_key ON grown (pay, id)",
    )
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        (entity,) = (found := with_present_tables(cluster, cluster.configuration("grown"))).query_entities
        assert entity.fields[3:] == (
            QueryField("ZONE", "java.util.UUID"), QueryField("AGE", "java.lang.Integer"),
            QueryField("PAY", "java.math.BigDecimal", precision=5, scale=1),
            QueryField("CODE", "java.lang.String", not_null=True, precision=7), QueryField("TEXT", "java.lang.String"),
        )  # fmt: skip
        assert {one.name: one.fields for one in entity.indexes} == {
            "GROWN_BY_NAME": (("NAME", False), ("AGE", True)),
            "GROWN_BY_KEY": (("PAY", False),),  # Ignite appends the columns of the key to every index
        }
        get_or_create_cache(cluster, replace(found, name="grown_copy", sql_schema="OTHER"))
        again = with_present_tables(cluster, cluster.configuration("grown_copy")).query_entities[0]
    assert (again.fields, again.indexes) == (entity.fields, entity.indexes)
    columns = "SELECT COLUMN_NAME, TYPE, NULLABLE FROM SYS.TABLE_COLUMNS WHERE SCHEMA_NAME = '{}' AND TABLE_NAME = 'GROWN'"
    theirs, ours = (sorted(java("sql", columns.format(schema))) for schema in ("PUBLIC", "OTHER"))
    assert ours == theirs


def test_a_cache_without_tables_is_as_reported(ignite: IgniteCluster, unique: Callable[[str], str]) -> None:
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        name = get_or_create_cache(cluster, CacheConfiguration(unique("plain"), backups=1)).name
        found = cluster.configuration(name)
        assert with_present_tables(cluster, found) is found
