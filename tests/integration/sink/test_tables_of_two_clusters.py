"""A column that a table of one cluster gets reaches the table of another cluster, with either form of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession

from tests.support.two_clusters import Copy
from tools.servers import IgniteCluster, KafkaBroker

FORMS = ("ignite-binary", "json")


def test_a_table_grows_with_the_table_that_it_is_copied_from(
    spark: SparkSession,
    kafka: KafkaBroker,
    ignite: IgniteCluster,
    ignite_cluster: Callable[..., IgniteCluster],
    unique: Callable[[str], str],
) -> None:
    there = ignite_cluster(data_region_mib=512)
    name = unique("grown").replace("-", "_")
    tables = {form: f"{name}_{number}" for number, form in enumerate(FORMS)}
    with ignite.client() as here, there.client() as other:
        for form, table in tables.items():
            list(here.sql(f'CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR) WITH "cache_name={table},value_type={table}"'))
            list(here.sql(f"INSERT INTO {table} VALUES (1, 'Ada')"))
            copy = Copy(spark, kafka, ignite, there, form)
            copy.sink = replace(copy.sink, schema_contract="evolve")
            copy.run(table)
            list(here.sql(f"ALTER TABLE {table} ADD COLUMN (hired TIMESTAMP, grade INT)"))
            list(here.sql(f"INSERT INTO {table} VALUES (2, 'Bob', '2026-01-02 03:04:05', 7)"))
            copy.run(table)
            query = f"SELECT id, name, hired, grade FROM {table} ORDER BY id"
            try:
                assert list(other.sql(query)) == list(here.sql(query)), form
            finally:
                list(here.sql(f"DROP TABLE {table}"))
