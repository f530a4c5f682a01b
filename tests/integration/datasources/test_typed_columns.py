"""Data source `kafka-tx` with converters: typed columns in a Spark session, written to a topic and read from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ignite_kafka.datasources.kafka_tx import KafkaTxDataSource
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from tests.support.waiting import REQUEST_S
from tools.servers import KafkaBroker
from tools.servers.registry import SchemaRegistry

SCHEMA = (
    "key bigint, value struct<id: bigint, price: decimal(10,2), day: date, at: timestamp, tags: array<string>, sizes: map<string,int>, "
    "place: struct<x: int, label: string>>"
)
ROW = "named_struct('x', cast(id as int), 'label', concat('l', id))"
VALUE = (
    "named_struct('id', id, 'price', cast(id / 4 as decimal(10,2)), 'day', date_add(date'2024-01-01', cast(id as int)), "
    "'at', timestamp_millis(id * 1000 + 7), 'tags', array('a', null, concat('t', id)), 'sizes', map('m', cast(id as int)), "
    f"'place', if(id % 3 = 0, null, {ROW}))"
)
COUNT = 1_000


class Topic:
    """The topic of one test."""

    def __init__(self, spark: SparkSession, kafka: KafkaBroker, name: str) -> None:
        self.spark, self.name, self.bootstrap = spark, name, kafka.bootstrap
        self.clients = KafkaClients({"bootstrap.servers": kafka.bootstrap})
        Topics(self.clients).ensure([TopicSpec(name, 2)])

    def write(self, frame: DataFrame, **converters: str) -> None:
        options = {"bootstrap.servers": self.bootstrap, "topic": self.name, "name": f"w-{self.name}", **converters}
        frame.write.format("kafka-tx").options(**options).mode("append").save()

    def read(self, schema: str | None, **converters: str) -> DataFrame:
        reader = self.spark.read.format("kafka-tx").options(**{"bootstrap.servers": self.bootstrap, "topic": self.name, **converters})
        return (reader.schema(schema) if schema else reader).load()

    def records(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(one.key(), one.value()) for one in read_to_end(self.clients, Topics(self.clients), self.name, [0, 1])]


@pytest.fixture
def topic(spark: SparkSession, kafka: KafkaBroker, unique: Callable[[str], str]) -> Topic:
    spark.dataSource.register(KafkaTxDataSource)
    return Topic(spark, kafka, unique("typed"))


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    """Rows of every kind of column; every tenth is a key without a value."""
    return spark.range(0, COUNT, 1, 2).selectExpr("id as key", f"if(id % 10 = 0, null, {VALUE}) as value")


@pytest.mark.parametrize("schemas", ["false", "true"])
def test_what_is_written_is_read(topic: Topic, frame: DataFrame, schemas: str) -> None:
    converters = {"key.converter": "long", "value.converter": "json", "value.converter.schemas.enable": schemas}
    topic.write(frame, **converters)
    found = topic.read(SCHEMA, **converters)
    assert found.dtypes == frame.dtypes
    assert sorted(found.collect()) == sorted(frame.collect())
    sent = dict(topic.records())
    assert sent[(10).to_bytes(8, "big")] is None
    value: Any = json.loads(sent[(1).to_bytes(8, "big")] or b"")
    assert (value["payload"] if schemas == "true" else value)["day"] == 19_724
    few = topic.read("offset bigint, value struct<price: decimal(10,2)>", **converters)
    assert few.filter("value is not null").count() == COUNT * 9 // 10


@pytest.mark.parametrize("converter", ["avro", "json-schema"])
def test_columns_with_a_schema_registry(topic: Topic, frame: DataFrame, schema_registry: SchemaRegistry, converter: str) -> None:
    converters = {"key.converter": "long", "value.converter": converter, "value.converter.schema.registry.url": schema_registry.url}
    topic.write(frame, **converters)
    assert sorted(topic.read(SCHEMA, **converters).collect()) == sorted(frame.collect())
    assert {value[:1] for _, value in topic.records() if value is not None} == {b"\0"}


def test_converters_of_one_type_need_no_schema(topic: Topic, spark: SparkSession) -> None:
    frame = spark.range(5).selectExpr("cast(id as int) as key", "concat('v', id) as value")
    topic.write(frame, **{"key.converter": "integer", "value.converter": "org.apache.kafka.connect.storage.StringConverter"})
    assert sorted(topic.records()) == [(number.to_bytes(4, "big"), f"v{number}".encode()) for number in range(5)]
    found = topic.read(None, **{"key.converter": "integer", "value.converter": "string"})
    assert found.dtypes[:2] == [("key", "int"), ("value", "string")]
    assert sorted(found.select("key", "value").collect()) == sorted(frame.collect())


def test_a_record_of_another_form_is_named(topic: Topic) -> None:
    producer = Producer({"bootstrap.servers": topic.bootstrap})
    for text in (b'{"id":1}', b'{"id":"one"}'):
        producer.produce(topic.name, text, b"k", 1)
    assert producer.flush(REQUEST_S) == 0
    with pytest.raises(PySparkException) as raised:
        topic.read("value struct<id: bigint>", **{"value.converter": "json"}).collect()
    assert "the value of a record is no value of json" in str(raised.value)
    assert "offset 1" in str(raised.value)
    assert "partition 1" in str(raised.value)


@pytest.mark.parametrize(
    ("columns", "converters", "message"),
    [
        ("value", {"value.converter": "string"}, "converter string cannot write"),
        ("key, value", {"value.converter": "json"}, "key is long"),
        ("key, value", {"key.converter": "integer", "value.converter": "json"}, "writes int32 only"),
    ],
)
def test_a_wrong_converter_is_refused_before_the_first_record(
    topic: Topic, frame: DataFrame, columns: str, converters: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException) as raised:
        topic.write(frame.selectExpr(*columns.split(", ")), **converters)
    assert message in str(raised.value)
    assert topic.records() == []
