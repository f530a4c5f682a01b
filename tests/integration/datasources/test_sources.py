"""The data sources `ignite` and `kafka-tx` in a Spark session, without the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyignite import GenericObjectMeta
from pyignite.datatypes import ByteObject, DoubleObject, IntObject, LongObject, ShortObject, String
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ignite_kafka.datasources.ignite import IgniteDataSource, parse_partitions
from ignite_kafka.datasources.kafka_tx import KafkaTxDataSource
from ignite_kafka.datasources.spark_api import push_filters
from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.state.configs import read_connector
from tests.support import PARTITIONS
from tools.servers import IgniteCluster, KafkaBroker

ROWS = 1_500


City: Any = GenericObjectMeta("City", (), {}, schema={"name": String, "people": LongObject, "area": DoubleObject})


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.dataSource.register(IgniteDataSource)
    spark.dataSource.register(KafkaTxDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield spark
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.fixture(scope="module")
def cities(ignite: IgniteCluster) -> Iterator[str]:
    with ignite.client() as client:
        cache = client.get_or_create_cache("source-cities")
        cache.put_all({number: City(f"city {number}", number * 10, None if number % 3 else number / 2) for number in range(ROWS)})
        yield "source-cities"
        cache.destroy()


@pytest.fixture
def read(session: SparkSession, ignite: IgniteCluster, cities: str) -> Callable[..., DataFrame]:
    def frame(**options: str) -> DataFrame:
        given = {"cache": cities, "addresses": ",".join(ignite.addresses), **options}
        return session.read.format("ignite").options(**given).load()

    return frame


def test_a_cache_is_a_frame_read_in_parallel(read: Callable[..., DataFrame]) -> None:
    frame = read(num_partitions="4")
    assert frame.columns == ["_key", "name", "people", "area"]
    assert frame.rdd.getNumPartitions() == 4
    rows = {row["_key"]: row for row in frame.collect()}
    assert len(rows) == ROWS
    assert rows[7].asDict() == {"_key": 7, "name": "city 7", "people": 70, "area": None}
    assert rows[9]["area"] == 4.5


def test_spark_computes_on_typed_columns(read: Callable[..., DataFrame]) -> None:
    found = read().filter("people >= 100").agg({"people": "sum"}).collect()
    assert found[0][0] == sum(number * 10 for number in range(10, ROWS))


def test_a_condition_on_the_key_becomes_a_get(read: Callable[..., DataFrame]) -> None:
    frame = read().filter("_key IN (3, 999999, 5) AND people > 30")
    assert frame.rdd.getNumPartitions() == 1 or push_filters is None  # no scan over 8 partitions; PySpark 4.0 pushes no conditions
    assert [row["name"] for row in frame.collect()] == ["city 5"]
    assert read().filter("_key = 3").count() == 1


def test_a_get_finds_keys_of_every_width(session: SparkSession, ignite: IgniteCluster, unique: Callable[[str], str]) -> None:
    name, kinds = unique("source-widths"), (ByteObject, ShortObject, IntObject, LongObject)
    with ignite.client() as client:
        cache = client.create_cache(name)
        for kind in kinds:
            cache.put(5, kind.__name__, key_hint=kind)
        cache.put(1 << 40, "large", key_hint=LongObject)
        frame = session.read.format("ignite").options(cache=name, addresses=",".join(ignite.addresses)).load()
        assert {row["_value"] for row in frame.filter("_key = 5").collect()} == {kind.__name__ for kind in kinds}
        assert sorted(frame.filter(f"_key IN (5, 7, {1 << 40})").collect()) == sorted(frame.collect())
        cache.destroy()


def test_an_empty_cache_has_the_columns_that_are_given(session: SparkSession, ignite: IgniteCluster, unique: Callable[[str], str]) -> None:
    name = unique("source-empty")
    with ignite.client() as client:
        cache = client.create_cache(name)
        reader = session.read.format("ignite").options(cache=name, addresses=",".join(ignite.addresses))
        frame = reader.schema("_key long, _value string").load()
        assert frame.filter("_key = 5").collect() == []
        with pytest.raises(PySparkException, match="Give a schema"):
            session.read.format("ignite").options(cache=name, addresses=",".join(ignite.addresses)).load()
        cache.put(5, "five", key_hint=IntObject)
        assert [tuple(row) for row in frame.filter("_key = 5").collect()] == [(5, "five")]
        cache.destroy()


def test_some_partitions_are_read_alone(read: Callable[..., DataFrame]) -> None:
    assert PARTITIONS == 64
    some, others = read(partitions="0-9,20").count(), read(partitions="10-19,21-63").count()
    assert 0 < some < ROWS
    assert some + others == ROWS
    halves = [read(partitions=half).filter("_key = 3").count() for half in ("0-31", "32-63")]
    assert sorted(halves) == [0, 1]


@pytest.mark.parametrize(("text", "numbers"), [("5", (5,)), ("0-2,7", (0, 1, 2, 7)), ("3,1-3", (1, 2, 3))])
def test_partition_lists(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_partitions(text) == numbers


def test_bad_partition_lists() -> None:
    with pytest.raises(SettingsError, match="'1-x'"):
        parse_partitions("1-x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache": "no-such-cache"}, "no such cache"),
        ({"addresses": "127.0.0.1:1"}, "127.0.0.1:1"),
        ({"password": "hunter2"}, "secrets_file"),
        ({"num_partitions": "many"}, "num_partitions"),
        ({"addreses": "127.0.0.1:1"}, "Did you mean addresses"),
        ({"partitions": "5000"}, "no partition 5000"),
    ],
)
def test_a_bad_option_ends_with_its_own_message(read: Callable[..., DataFrame], options: dict[str, str], message: str) -> None:
    with pytest.raises(PySparkException) as raised:
        read(**options).filter("_key = 3").collect()
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.fixture
def written(session: SparkSession, kafka: KafkaBroker, unique: Callable[[str], str]) -> Callable[..., tuple[DataFrame, dict[str, str]]]:
    clients = KafkaClients({"bootstrap.servers": kafka.bootstrap})
    topic = unique("tx")
    Topics(clients).ensure([TopicSpec(topic, 2)])
    options = {"bootstrap.servers": kafka.bootstrap, "topic": topic, "name": unique("w"), "internal_topic_prefix": unique("in")}
    frame = session.range(0, 1000, 1, 3).selectExpr("cast(id as string) as key", "concat('value ', id) as value")
    return lambda: (frame, options)


def records(kafka: KafkaBroker, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    clients = KafkaClients({"bootstrap.servers": kafka.bootstrap})
    topics = Topics(clients)
    return [(one.key(), one.value()) for one in read_to_end(clients, topics, topic, list(range(topics.partitions(topic))))]


def test_any_frame_is_written_once(written: Callable[..., tuple[DataFrame, dict[str, str]]], kafka: KafkaBroker) -> None:
    frame, options = written()
    for _ in range(2):  # the same write again sends nothing
        frame.write.format("kafka-tx").options(**options, write_id="w1").mode("append").save()
    assert sorted(records(kafka, options["topic"])) == sorted((str(i).encode(), f"value {i}".encode()) for i in range(1000))
    frame.write.format("kafka-tx").options(**options, write_id="w2").mode("append").save()
    assert len(records(kafka, options["topic"])) == 2000
    frame.write.format("kafka-tx").options(**options, write_id="w1").mode("append").save()  # nor after another one
    assert len(records(kafka, options["topic"])) == 2000


def write_half(frame: DataFrame, options: dict[str, str], write_id: str) -> None:
    """Begin a write whose last partition fails."""
    broken = frame.selectExpr("key", "if(key = '998', raise_error('stops here'), value) as value")
    with pytest.raises(PySparkException, match="stops here"):
        broken.write.format("kafka-tx").options(**options, write_id=write_id).mode("append").save()


def test_a_repeated_task_leaves_no_duplicates(
    session: SparkSession, written: Callable[..., tuple[DataFrame, dict[str, str]]], kafka: KafkaBroker
) -> None:
    frame, options = written()
    write_half(frame, options, "w1")
    before = {key for key, _ in records(kafka, options["topic"])}
    assert b"700" not in before  # nothing of the failed partition
    frame.write.format("kafka-tx").options(**options, write_id="w1").mode("append").save()
    assert sorted(records(kafka, options["topic"])) == sorted((str(i).encode(), f"value {i}".encode()) for i in range(1000))


def test_a_deleted_topic_ends_the_write(
    session: SparkSession, written: Callable[..., tuple[DataFrame, dict[str, str]]], kafka: KafkaBroker
) -> None:
    frame, options = written()
    write_half(frame, options, "w1")
    admin, _ = KafkaClients({"bootstrap.servers": kafka.bootstrap}).admin()
    admin.delete_topics([options["topic"]])[options["topic"]].result()
    with pytest.raises(PySparkException, match="the topic was deleted since this write"):
        frame.write.format("kafka-tx").options(**options, write_id="w1").mode("append").save()
    frame.write.format("kafka-tx").options(**options, write_id="w2").mode("append").save()
    assert len(set(records(kafka, options["topic"]))) == 1000, "the topic was made anew, with the broker's defaults"


def test_a_later_write_supersedes_an_unfinished_one(
    session: SparkSession, written: Callable[..., tuple[DataFrame, dict[str, str]]], kafka: KafkaBroker
) -> None:
    frame, options = written()
    write_half(frame, options, "w1")
    few = frame.limit(1)
    few.write.format("kafka-tx").options(**options).mode("append").save()
    before = len(records(kafka, options["topic"]))
    with pytest.raises(PySparkException, match="Give another write_id"):
        frame.write.format("kafka-tx").options(**options, write_id="w1").mode("append").save()
    assert len(records(kafka, options["topic"])) == before
    few.write.format("kafka-tx").options(**options).mode("append").save()
    clients = KafkaClients({"bootstrap.servers": kafka.bootstrap})
    state = read_connector(clients, Topics(clients), options["internal_topic_prefix"], options["name"])
    assert list(state.ended) == ["w1"]  # writes without an id are not recorded


def test_topics_by_row_null_values_and_no_keys(
    session: SparkSession, written: Callable[..., tuple[DataFrame, dict[str, str]]], kafka: KafkaBroker
) -> None:
    _, options = written()
    topic = options.pop("topic")
    frame = session.createDataFrame([(topic, b"1"), (topic, None)], "topic string, value binary")
    frame.write.format("kafka-tx").options(**options).mode("append").save()
    assert sorted(records(kafka, topic), key=str) == [(None, None), (None, b"1")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "overwrite"}, "cannot be overwritten"),
        ({"columns": "key"}, "Give a column value"),
        ({"columns": "cast(key as int) as key, value"}, "key is integer"),
        ({"kafka.sasl.password": "hunter2"}, "secrets_file"),
        ({"partitions": "17"}, "more partitions than slots"),
    ],
)
def test_a_bad_write_ends_with_its_own_message(
    written: Callable[..., tuple[DataFrame, dict[str, str]]], change: dict[str, str], message: str
) -> None:
    frame, options = written()
    frame = frame.selectExpr(*change.pop("columns", "key, value").split(", "))
    frame = frame.repartition(int(change.pop("partitions", "2")))
    mode = change.pop("mode", "append")
    with pytest.raises(PySparkException) as raised:
        frame.write.format("kafka-tx").options(**{**options, **change}).mode(mode).save()
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)
