"""Topics read as DataFrames, on a real broker: committed records between offsets that are fixed when the job begins."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from ignite_kafka.datasources.kafka_tx import KafkaTxDataSource
from ignite_kafka.datasources.kafka_tx_read import KafkaTxReader, ReadOptions, parse_offsets
from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka import batch_produce as native
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.consumer import BatchLimits, RecordReader
from ignite_kafka.kafka.headers import pairs
from ignite_kafka.kafka.topics import Topics, TopicSpec
from tests.support.waiting import REQUEST_S
from tools.servers import KafkaBroker

PARTITIONS = 3


class Topic:
    """The topic of one test."""

    def __init__(self, spark: SparkSession, kafka: KafkaBroker, name: str) -> None:
        self.spark, self.bootstrap, self.name = spark, kafka.bootstrap, name
        Topics(KafkaClients({"bootstrap.servers": kafka.bootstrap})).ensure([TopicSpec(name, PARTITIONS)])

    @property
    def options(self) -> dict[str, str]:
        return {"bootstrap.servers": self.bootstrap, "topic": self.name}

    def producer(self, **settings: Any) -> Producer:
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, "enable.idempotence": True, **settings})

    def send(self, numbers: range, producer: Producer | None = None) -> None:
        """Send records of these numbers as keys and values, each to the partition of its remainder."""
        producer = producer or self.producer()
        for number in numbers:
            producer.produce(self.name, f"value {number}".encode(), str(number).encode(), number % PARTITIONS)
        assert producer.flush(REQUEST_S) == 0

    def read(self, **options: str) -> DataFrame:
        return self.spark.read.format("kafka-tx").options(**{**self.options, **options}).load()


def values(rows: list[Row]) -> list[str]:
    return sorted(row["value"].decode() for row in rows)


def of(numbers: range | list[int]) -> list[str]:
    return sorted(f"value {number}" for number in numbers)


@pytest.fixture
def topic(spark: SparkSession, kafka: KafkaBroker, unique: Callable[[str], str]) -> Topic:
    spark.dataSource.register(KafkaTxDataSource)
    return Topic(spark, kafka, unique("read"))


def test_a_topic_is_a_frame_of_as_many_partitions(topic: Topic) -> None:
    topic.send(range(9_000))
    frame = topic.read()
    place = [("topic", "string"), ("partition", "int"), ("offset", "bigint")]
    assert frame.dtypes == [("key", "binary"), ("value", "binary"), *place, ("timestamp", "timestamp")]
    assert frame.rdd.getNumPartitions() == PARTITIONS
    expected = [(str(n).encode(), f"value {n}".encode(), topic.name, n % PARTITIONS, n // PARTITIONS) for n in range(9_000)]
    assert sorted(map(tuple, frame.drop("timestamp").collect())) == sorted(expected)
    assert frame.groupBy("partition").count().collect() == [(number, 3_000) for number in range(PARTITIONS)]


def test_fewer_spark_partitions_read_several_of_the_topic_each(topic: Topic) -> None:
    topic.send(range(300))
    assert topic.read(num_partitions="2").rdd.getNumPartitions() == 2
    assert topic.read(num_partitions="50").rdd.getNumPartitions() == PARTITIONS
    assert values(topic.read(num_partitions="2").collect()) == of(range(300))


def test_keys_and_values_may_be_null_or_empty(topic: Topic) -> None:
    producer = topic.producer()
    producer.produce(topic.name, None, b"gone", 0)
    producer.produce(topic.name, b"", None, 1)
    assert producer.flush(REQUEST_S) == 0
    assert sorted((row["partition"], row["key"], row["value"]) for row in topic.read().collect()) == [(0, b"gone", None), (1, None, b"")]


# brokers delete records that are too old, and refuse records of tomorrow
TIMES_MS = {number: int(time.time() * 1000) - age_ms for number, age_ms in enumerate((3_600_000, 86_399_999, 1))}


def test_timestamps_are_those_of_the_records(topic: Topic) -> None:
    producer = topic.producer()
    for number, time_ms in TIMES_MS.items():
        producer.produce(topic.name, b"v", str(number).encode(), number % PARTITIONS, timestamp=time_ms)
    assert producer.flush(REQUEST_S) == 0
    found = topic.read().selectExpr("int(string(key))", "unix_millis(timestamp)").collect()
    assert dict(map(tuple, found)) == TIMES_MS


@pytest.mark.parametrize("supported", [True, False], ids=["native", "Python objects"])
def test_timestamps_are_read_natively_and_as_python_objects(topic: Topic, monkeypatch: pytest.MonkeyPatch, supported: bool) -> None:
    producer = topic.producer()
    for number, time_ms in TIMES_MS.items():
        producer.produce(topic.name, b"v", str(number).encode(), 0, timestamp=time_ms)
    assert producer.flush(REQUEST_S) == 0
    if supported:
        assert native.supported()
    else:
        monkeypatch.setattr(native, "supported", lambda: False)
    place = (topic.name, 0)
    clients = KafkaClients({"bootstrap.servers": topic.bootstrap})
    with closing(RecordReader(clients, "g", {place: 0}, {place: len(TIMES_MS)}, BatchLimits(10, 1 << 20), timed=True)) as reader:
        (consumed,) = reader.read(30)
    assert consumed.times_ms is not None
    assert consumed.times_ms.tolist() == list(TIMES_MS.values())


def test_an_empty_topic_is_an_empty_frame(topic: Topic) -> None:
    assert topic.read().count() == 0


def test_only_committed_records_are_read(topic: Topic) -> None:
    topic.send(range(30))
    aborted = topic.producer(**{"transactional.id": f"{topic.name}-a"})
    aborted.init_transactions(30)
    aborted.begin_transaction()
    topic.send(range(30, 60), aborted)
    aborted.abort_transaction(30)
    topic.send(range(60, 90))
    still_open = topic.producer(**{"transactional.id": f"{topic.name}-b"})
    still_open.init_transactions(30)
    still_open.begin_transaction()
    topic.send(range(90, 120), still_open)
    assert values(topic.read().collect()) == of([*range(30), *range(60, 90)])  # without waiting for the open one
    still_open.commit_transaction(REQUEST_S)
    assert values(topic.read().collect()) == of([*range(30), *range(60, 120)])


def test_a_read_begins_at_given_offsets(topic: Topic) -> None:
    topic.send(range(30))
    rows = topic.read(starting_offsets='{"0": 7, "1": 10}').collect()
    assert sorted((row["partition"], row["offset"]) for row in rows) == [(0, n) for n in range(7, 10)] + [(2, n) for n in range(10)]


def test_ends_are_fixed_when_the_job_is_planned(topic: Topic) -> None:
    topic.send(range(30))
    reader = KafkaTxReader(ReadOptions.of(topic.options))
    planned = reader.partitions()
    topic.send(range(30, 60))
    assert sum(batch.num_rows for part in planned for batch in reader.read(part)) == 30


def test_deleted_records_at_a_given_offset_are_an_error(topic: Topic) -> None:
    topic.send(range(30))
    admin = AdminClient({"bootstrap.servers": topic.bootstrap})
    (future,) = admin.delete_records([TopicPartition(topic.name, 0, 4)]).values()
    future.result(REQUEST_S)
    assert values(topic.read().collect()) == of([n for n in range(30) if n % PARTITIONS or n >= 12])
    with pytest.raises(PySparkException, match="the first record now has offset 4"):
        topic.read(starting_offsets='{"0": 3}').collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topic": ""}, "option 'topic' of kafka-tx is missing"),
        ({"topic": "no-such-topic"}, "the topic does not exist"),
        ({"bootstrap.servers": ""}, "option 'bootstrap.servers' of kafka-tx is missing"),
        ({"starting_offsets": "latest"}, "option 'starting_offsets' is 'latest'"),
        ({"starting_offsets": '{"9": 0}'}, "a partition that the topic does not have"),
        ({"starting_offsets": '{"0": 5}'}, "the partition ends at offset 0, before the given start"),
        ({"num_partitions": "0"}, "num_partitions"),
        ({"kafka.sasl.password": "hunter2"}, "secrets_file"),
    ],
)
def test_a_bad_option_ends_with_its_own_message(topic: Topic, options: dict[str, str], message: str) -> None:
    with pytest.raises(PySparkException) as raised:
        topic.read(**options).collect()
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"0": -1}', '{"0": "1"}', '{"0": true}', "7"])
def test_malformed_offsets_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="starting_offsets"):
        parse_offsets(text)


HEADERS: list[list[tuple[str, bytes | None]]] = [
    [("trace", b"\x00\xff"), ("trace", b""), ("é", None)],
    [],
    [("big", b"x" * 100)],
]


@pytest.mark.parametrize("supported", [True, False], ids=["native", "Python objects"])
def test_headers_are_read_natively_and_as_python_objects(topic: Topic, monkeypatch: pytest.MonkeyPatch, supported: bool) -> None:
    producer = topic.producer()
    for headers in HEADERS:
        producer.produce(topic.name, b"v", b"k", 0, headers=list(headers))
    assert producer.flush(REQUEST_S) == 0
    monkeypatch.setattr(native, "supported", lambda: supported)
    place = (topic.name, 0)
    clients = KafkaClients({"bootstrap.servers": topic.bootstrap})
    with closing(RecordReader(clients, "g", {place: 0}, {place: 2}, BatchLimits(10, 1 << 20), headers=True)) as reader:
        (consumed,) = reader.read(30)
    assert consumed.headers is not None
    assert pairs(consumed.headers) == HEADERS[:2]


def test_headers_and_timestamps_of_a_frame_are_those_of_its_records(topic: Topic) -> None:
    """Written by a frame, read by Kafka's client and by a frame; null headers are none, a null timestamp is the time of sending."""
    rows = [
        (str(number).encode(), headers and [(name, value) for name, value in headers], time_ms)
        for number, headers, time_ms in zip(range(3), HEADERS, [*list(TIMES_MS.values())[:2], None], strict=True)
    ]
    frame = topic.spark.createDataFrame(rows, "key binary, headers array<struct<key: string, value: binary>>, ms long").selectExpr(
        "key", "key AS value", "headers", "timestamp_millis(ms) AS timestamp"
    )
    before = int(time.time() * 1000)
    frame.coalesce(1).write.format("kafka-tx").options(**topic.options, name=topic.name).mode("append").save()
    consumer = Consumer({"bootstrap.servers": topic.bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic.name, number, 0) for number in range(PARTITIONS)])
    found: dict[bytes | None, Message] = {}
    while len(found) < len(rows):
        found |= {one.key(): one for one in consumer.consume(10, 0.1) if one.error() is None}
    consumer.close()
    assert [found[str(number).encode()].headers() or [] for number in range(3)] == HEADERS
    times = [found[str(number).encode()].timestamp()[1] for number in range(3)]
    assert times[:2] == list(TIMES_MS.values())[:2]
    assert before <= times[2]
    back = topic.read(include_headers="true")
    assert dict(back.dtypes)["headers"] == "array<struct<key:string,value:binary>>"
    # PySpark 4.0 has a bytearray for binary
    assert {
        bytes(row["key"]): [(name, value if value is None else bytes(value)) for name, value in row["headers"] or ()]
        for row in back.collect()
    } == {str(number).encode(): headers for number, headers in enumerate(HEADERS)}


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("array(named_struct('key', cast(null AS string), 'value', value)) AS headers", "a header has no key"),
        ("array(named_struct('key', 'a', 'value', 'text')) AS headers", "array<struct<key:string,value:string>>"),
        ("timestamp_millis(-5) AS timestamp", "not after 1970"),
        ("5 AS timestamp", "timestamp is int"),
    ],
)
def test_headers_and_timestamps_that_no_record_can_have_are_refused(topic: Topic, columns: str, reason: str) -> None:
    frame = topic.spark.range(1).selectExpr("binary('v') AS value").selectExpr("value", columns)
    with pytest.raises((PySparkException, SettingsError), match=re.escape(reason)):
        frame.write.format("kafka-tx").options(**topic.options, name=topic.name).mode("append").save()
