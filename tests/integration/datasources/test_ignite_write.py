"""DataFrames put into caches, on a real node: the stored entries are those that Ignite itself would store."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ignite_kafka.datasources.ignite import IgniteDataSource
from ignite_kafka.datasources.kafka_tx import KafkaTxDataSource
from ignite_kafka.ignite.binary import decode_rows
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from tests.support.waiting import REQUEST_S
from tools.servers import IgniteCluster, KafkaBroker

TABLE = """
CREATE TABLE {table} (id BIGINT, day DATE, flag BOOLEAN, small SMALLINT, number INT, ratio DOUBLE, name VARCHAR, price DECIMAL(20, 4),
at TIMESTAMP, code UUID, data VARBINARY, PRIMARY KEY (id, day)) WITH "cache_name={cache},key_type={value}Key,value_type={value}"
"""
ROW = """
INSERT INTO {table} VALUES ({n}, '2026-02-{day:02}', {flag}, {n}, {n} * 1000, {n} / 8.0, 'name ü {n}', {n} / 16.0,
'2026-02-03 04:05:06.{n:03}456', '00000000-0000-0000-0000-{n:012}', X'{n:08x}')
"""
ROWS = 60


class World:
    """A Spark session, a cluster, and the names of one test."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, name: str) -> None:
        self.spark, self.ignite, self.name = spark, ignite, name

    def sql(self, text: str) -> list[Any]:
        with self.ignite.client() as client:
            return list(client.sql(text))

    def read(self, cache: str) -> DataFrame:
        return self.spark.read.format("ignite").options(cache=cache, addresses=",".join(self.ignite.addresses)).load()

    def write(self, frame: DataFrame, cache: str | None = None, mode: str = "append", **options: str) -> None:
        given = {"cache": cache or self.name, "addresses": ",".join(self.ignite.addresses), **options}
        frame.write.format("ignite").options(**given).mode(mode).save()

    def entries(self, cache: str | None = None) -> list[tuple[Any, Any]]:
        """The entries as rows of Python values, objects with their types, sorted by the text of the key."""
        with Cluster(IgniteEndpoint(self.ignite.addresses)) as cluster:
            info = cluster.cache(cache or self.name)
            pages = [page for page in scan_partitions(cluster, info, range(info.partitions)) if page.rows]
            return sorted(decode_rows(pages, info, cluster), key=lambda entry: str(entry[0]))

    def exists(self, cache: str) -> bool:
        with Cluster(IgniteEndpoint(self.ignite.addresses)) as cluster:
            return cache in cluster.cache_names()


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, unique: Callable[[str], str]) -> Iterator[World]:
    spark.dataSource.register(IgniteDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    made = World(spark, ignite, unique("put").replace("-", "_"))
    yield made
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    ignite.destroy_caches(made.name)


@pytest.fixture
def table(world: World) -> str:
    """A cache that Ignite's SQL filled, every third row with nulls."""
    names = {"table": world.name, "cache": f"{world.name}_first", "value": f"V{world.name}"}
    world.sql(TABLE.format(**names))
    for n in range(ROWS):
        if n % 3:
            world.sql(ROW.format(**names, n=n, day=n % 28 + 1, flag=n % 2 == 0))
        else:
            world.sql(f"INSERT INTO {world.name} (id, day, name) VALUES ({n}, '2026-02-01', NULL)")
    return names["cache"]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_a_cache_comes_back_entry_by_entry_and_in_sql(world: World, table: str, zone: str) -> None:
    second = f"{world.name}_second"
    types = {"key_type": f"V{world.name}Key", "value_type": f"V{world.name}"}
    world.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        world.write(world.read(table), second, create="true", **types)
    finally:
        world.spark.conf.set("spark.sql.session.timeZone", "UTC")
    first = world.entries(table)
    assert len(first) == ROWS
    assert world.entries(second) == first  # types, fields and values, nulls among them
    query = (
        "SELECT count(*), count(price), sum(price), max(at), min(CAST(day AS VARCHAR)), max(number), max(code), count(flag) FROM {} "
        "WHERE price IS NULL OR (price > 1.25 AND day >= DATE '2026-02-03' AND at < TIMESTAMP '2026-03-01 00:00:00')"
    )
    assert world.sql(query.format(f'"{second}".V{world.name}')) == world.sql(query.format(world.name))
    world.write(world.read(second), table)  # into an existing cache: the same entries again
    assert world.entries(table) == first


def test_nested_structs_lists_and_maps_come_back(world: World) -> None:
    schema = (
        "id int, place struct<city: string, at: timestamp, zip: struct<code: int>>, tags array<string>, "
        "legs array<struct<miles: bigint>>, counts map<string, bigint>, price decimal(12,3)"
    )
    place = {"city": "Zürich", "at": datetime.datetime(2026, 3, 1, 2, 3, 4, 567_891), "zip": {"code": 8_001}}
    rows = [
        (1, place, ["a", None, "ü"], [{"miles": 5}, None, {"miles": None}], {"x": 1, "y": None}, Decimal("-12.345")),
        (2, {"city": None, "at": None, "zip": None}, [], [], {}, Decimal("0.000")),
        (3, None, None, None, None, None),
    ]
    frame = world.spark.createDataFrame(rows, schema)
    world.write(frame, create="true", key="id", value_type=f"air.N{world.name}")
    read = world.read(world.name)
    found = {row["_key"]: row for row in read.collect()}
    columns = frame.columns[1:]
    expected = {row["id"]: [row[column] for column in columns] for row in frame.collect()}
    assert {key: [row[column] for column in columns] for key, row in found.items()} == expected
    assert world.sql(f'SELECT id, price FROM "{world.name}".N{world.name} WHERE price <= 0 ORDER BY id') == [
        [1, Decimal("-12.345")],
        [2, Decimal("0.000")],
    ]
    copy = f"{world.name}_copy"
    world.write(read, copy, create="true", value_type=f"air.N{world.name}")
    assert world.entries(copy) == world.entries()


def test_a_topic_becomes_a_cache(world: World, kafka: KafkaBroker) -> None:
    world.spark.dataSource.register(KafkaTxDataSource)
    Topics(KafkaClients({"bootstrap.servers": kafka.bootstrap})).ensure([TopicSpec(world.name, 3)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
    for number in range(2_000):
        value = {"name": f"city {number}", "people": number * 10, "area": None if number % 3 else number / 2}
        producer.produce(world.name, json.dumps(value), str(number))
    assert producer.flush(REQUEST_S) == 0
    topic = world.spark.read.format("kafka-tx").options(**{"bootstrap.servers": kafka.bootstrap, "topic": world.name}).load()
    parsed = topic.selectExpr(
        "cast(cast(key as string) as bigint) as _key",
        "from_json(cast(value as string), 'name string, people bigint, area double') as city",
    ).selectExpr("_key", "city.*")
    world.write(parsed, create="true", value_type=f"City{world.name}")
    expected = [(f"city {number}", number * 10, None if number % 3 else number / 2) for number in range(2_000)]
    rows = world.sql(f'SELECT _key, name, people, area FROM "{world.name}".City{world.name} ORDER BY _key')
    assert rows == [[number, *row] for number, row in enumerate(expected)]


def test_keys_of_one_column_of_several_and_of_a_struct(world: World) -> None:
    frame = world.spark.range(100).selectExpr("id as a", "cast(id % 7 as string) as b", "id * 2 as v")
    world.write(frame, create="true", key="a")
    assert sorted(world.sql(f'SELECT a, b, v FROM "{world.name}".{world.name} WHERE a < 2')) == [[0, "0", 0], [1, "1", 2]]
    both, struct = f"{world.name}_both", f"{world.name}_struct"
    types = {"key_type": f"K{world.name}", "value_type": f"T{world.name}"}
    world.write(frame, both, create="true", key="b,a", **types)
    world.write(frame.selectExpr("struct(a, b) as _key", "v"), struct, create="true", **types)
    assert world.entries(struct) == world.entries(both)  # keys are encoded alike in any order of columns
    assert world.sql(f"SELECT v FROM \"{both}\".T{world.name} WHERE a = 9 AND b = '2'") == [[18]]


def test_existing_entries_are_replaced_or_kept(world: World) -> None:
    frame = world.spark.range(0, 1_000, 1, 4).selectExpr("id as _key", "'first' as _value")
    world.write(frame, create="true")
    world.write(frame.filter("_key >= 500").selectExpr("_key + 100 as _key", "'second' as _value"), overwrite="false")
    assert dict(world.entries()) == {number: "first" if number < 1_000 else "second" for number in range(1_100)}
    world.write(frame.filter("_key < 10").selectExpr("_key", "'third' as _value"))
    assert sum(value == "third" for _, value in world.entries()) == 10


def test_the_last_row_of_a_key_in_a_partition_counts(world: World) -> None:
    frame = world.spark.range(0, 50_000, 1, 1).selectExpr("id % 7 as _key", "id as _value")
    world.write(frame, create="true")
    assert dict(world.entries()) == {number % 7: number for number in range(49_993, 50_000)}
    kept = f"{world.name}_kept"
    world.write(frame, kept, create="true", overwrite="false")
    assert dict(world.entries(kept)) == {number: number for number in range(7)}


def test_a_failed_job_is_repeated(world: World) -> None:
    frame = world.spark.range(0, 60_000, 1, 2).selectExpr("id as _key", "id * 2 as twice")
    broken = frame.selectExpr("_key", "if(_key = 59990, raise_error('stops here'), twice) as twice")
    types = {"create": "true", "value_type": f"Again{world.name}"}
    with pytest.raises(PySparkException, match="stops here"):
        world.write(broken, **types)
    sums = f'SELECT count(*), sum(twice) FROM "{world.name}".Again{world.name}'
    ((count, _),) = world.sql(sums)
    assert 0 < count < 60_000  # rows put before the failure stay
    for _ in range(2):
        world.write(frame, **types)
        assert world.sql(sums) == [[60_000, 59_999 * 60_000]]


def test_fields_without_a_column_are_left_out(world: World, table: str) -> None:
    world.write(world.spark.sql("SELECT 7L AS id, DATE '2026-02-08' AS day, 'alone' AS NAME"), table, key="id,day")
    assert world.sql(f"SELECT name, price, flag FROM {world.name} WHERE id = 7") == [["alone", None, None]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("id, day, cast(number as bigint) as number", "Column value.number is int64, and the cache has int for it"),
        ("id, day, cast(price as double) as price", "and the cache has BigDecimal of scale 4 for it"),
        ("id, day, cast(at as timestamp_ntz) as at", "and the cache has Timestamp for it"),
        ("id, day, name, 1 as more", "Column more is no field of"),
        ("id, name", "the DataFrame has no column day for the key"),
        ("cast(id as string) as id, day, name", "Column key.id is string, and the cache has long for it"),
    ],
)
def test_columns_that_do_not_fit_end_the_job_before_anything_is_put(world: World, table: str, columns: str, message: str) -> None:
    before = world.entries(table)
    frame = world.read(table).selectExpr("_key.*", "*").filter("name IS NOT NULL").selectExpr(*columns.split(", "))
    with pytest.raises(PySparkException) as raised:
        world.write(frame, table, key="id,day")
    assert message in str(raised.value)
    assert table in str(raised.value)
    assert world.entries(table) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there is no such cache"),
        ({"mode": "overwrite"}, "a cache is not emptied before it is written to"),
        ({"create": "yes"}, "option 'create' of ignite is 'yes'"),
        ({"overwrite": "1"}, "option 'overwrite' of ignite is '1'"),
        ({"key": "_key,"}, "option 'key' is '_key,'"),
        ({"key": "id"}, "no column id for the key"),
        ({"backups": "-1"}, "option 'backups' of ignite is '-1'"),
        ({"addresses": "127.0.0.1:1"}, "127.0.0.1:1"),
        ({"password": "hunter2"}, "secrets_file"),
    ],
)
def test_a_bad_option_ends_with_its_own_message(world: World, options: Mapping[str, str], message: str) -> None:
    frame = world.spark.range(10).selectExpr("id as _key", "id as v")
    given = {"create": "true", **options} if "key" in options or "backups" in options else options
    with pytest.raises(PySparkException) as raised:
        world.write(frame, **given)
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert not world.exists(world.name)


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ("nullif(id, 15) as _key", {}, "A key is null, which no cache holds, in column _key"),
        ("nullif(id, 15) as _value", {"key": "id"}, "A value is null, which no cache holds, in column _value"),
    ],
)
def test_a_row_with_a_null_key_ends_the_job(world: World, column: str, options: dict[str, str], message: str) -> None:
    frame = world.spark.range(0, 20, 1, 2).selectExpr("id", column)
    with pytest.raises(PySparkException) as raised:
        world.write(frame, create="true", **options)
    assert message in str(raised.value)
    assert f"[cache {world.name}, spark partition 1, field {column.split()[-1]}, row 5]" in str(raised.value)


def test_a_text_that_a_field_cannot_hold_names_the_row(world: World, table: str) -> None:
    frame = world.spark.range(0, 10, 1, 1).selectExpr("id", "DATE '2026-01-01' as day", "if(id = 4, 'no uuid', uuid()) as code")
    with pytest.raises(PySparkException, match=r"A text that is no UUID in field CODE.*row 4"):
        world.write(frame, table, key="id,day")
