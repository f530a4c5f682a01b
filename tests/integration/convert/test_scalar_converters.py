"""From a cache to a topic and back with converters of scalars, headers, and keys and times of fields, on real servers."""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from pyignite import GenericObjectMeta
from pyignite.datatypes import DoubleObject, IntObject, LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.planning import make_plan
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from tests.support import PARTITIONS
from tests.support.oracle import read_committed
from tools.compare_topics import verify
from tools.servers import IgniteCluster, KafkaBroker

ROWS = 300
NOW_MS = int(time.time() * 1000)
Quote: Any = GenericObjectMeta("Quote", (), {}, schema={"id": LongObject, "symbol": String, "price": DoubleObject, "at": LongObject})
ENTRIES: Mapping[str, tuple[Any, dict[Any, Any], Any]] = {
    "quotes": (LongObject, {number: Quote(number, f"é {number}", number / 3, NOW_MS - number) for number in range(ROWS)}, None),
    "names": (String, {f"key {number}": f'value "{number}"' for number in range(ROWS)}, String),
    "counts": (IntObject, {number - 5: number * 1.5 for number in range(ROWS)}, DoubleObject),
}


class Caches:
    """Caches and the connectors of one module."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> None:
        self.spark, self.ignite, self.kafka, self.stem = spark, ignite, kafka, f"s{uuid.uuid4().hex[:8]}"
        self.common: dict[str, Any] = {"ignite_addresses": ignite.addresses, "bootstrap_servers": kafka.bootstrap, "slots": 2}

    def send(self, cache: str, **converters: Any) -> tuple[SourceSettings, dict[bytes | None, bytes | None]]:
        """Copy a cache to a topic of its own; key to value of the topic's records."""
        name = f"{self.stem}-{uuid.uuid4().hex[:6]}"
        settings = SourceSettings(
            name=name,
            cache_whitelist=(f"{self.stem}-{cache}",),
            topic_prefix=f"{name}-",
            internal_topic_prefix=f"in-{name}",
            **self.common,
            **converters,
        )
        assert run_snapshot(self.spark, RunRequest(settings, uuid.uuid4().hex)).state == status.COMPLETED
        records = read_committed(self.kafka.bootstrap, f"{name}-{self.stem}-{cache}").records
        assert len(records) == ROWS
        return settings, {record.key: record.value for record in records}

    def verified(self, settings: SourceSettings) -> bool:
        clients = kafka_clients(settings, Secrets())
        with ignite_cluster(settings, Secrets()) as cluster:
            return all(one.equal for one in verify(make_plan(settings, cluster, Topics(clients), "any", 16), cluster, clients))

    def store(self, source: SourceSettings, cache: str, **sink: Any) -> str:
        """Copy the topic into a new cache."""
        name = f"{source.name}-sink"
        settings = SinkSettings(
            name=name,
            topics=(f"{source.topic_prefix}{self.stem}-{cache}",),
            topic_prefix=source.topic_prefix,
            cache_prefix=f"{source.name}-of-",
            internal_topic_prefix=f"in-{name}",
            **self.common,
            **sink,
        )
        assert run_sink(self.spark, RunRequest(settings, uuid.uuid4().hex)).state == status.COMPLETED
        return f"{source.name}-of-{self.stem}-{cache}"


@pytest.fixture(scope="module")
def caches(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[Caches]:
    made = Caches(spark, ignite, kafka)
    with ignite.client() as client:
        for name, (key_type, entries, value_type) in ENTRIES.items():
            cache = client.get_or_create_cache(f"{made.stem}-{name}")
            for key, value in entries.items():
                cache.put(key, value, key_hint=key_type, value_hint=value_type)
        yield made


def test_text_keys_and_json_values(caches: Caches) -> None:
    settings, found = caches.send("quotes", key_converter="string")
    assert set(found) == {str(number).encode() for number in range(ROWS)}
    assert found[b"7"] == f'{{"id":7,"symbol":"é 7","price":2.3333333333333335,"at":{NOW_MS - 7}}}'.encode()
    assert caches.verified(settings)


def test_text_on_both_sides_and_back(caches: Caches) -> None:
    both = {"key_converter": "string", "value_converter": "string"}
    settings, found = caches.send("names", **both)
    assert found == {f"key {number}".encode(): f'value "{number}"'.encode() for number in range(ROWS)}
    assert caches.verified(settings)
    name = caches.store(settings, "names", **both)
    with caches.ignite.client() as client:
        assert dict(client.get_cache(name).scan()) == ENTRIES["names"][1]


def test_numbers_on_both_sides_and_back(caches: Caches) -> None:
    both = {"key_converter": "integer", "value_converter": "double"}
    settings, found = caches.send("counts", **both)
    assert found == {struct.pack(">i", number - 5): struct.pack(">d", number * 1.5) for number in range(ROWS)}
    assert caches.verified(settings)
    name = caches.store(settings, "counts", **both)
    with caches.ignite.client() as client:
        assert client.get_cache(name).get(3, key_hint=IntObject) == 12.0
        assert len(dict(client.get_cache(name).scan())) == ROWS


def test_a_sink_reads_each_side_by_its_own_converter(caches: Caches) -> None:
    settings, _ = caches.send("quotes", key_converter="long")
    name = caches.store(settings, "quotes", key_converter="long")
    with caches.ignite.client() as client:
        value = client.get_cache(name).get(7, key_hint=LongObject)
        assert (value.id, value.symbol, value.price) == (7, "é 7", 7 / 3)


def messages(caches: Caches, topic: str) -> dict[bytes | None, Message]:
    consumer = Consumer({"bootstrap.servers": caches.kafka.bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for number in consumer.list_topics(topic).topics[topic].partitions])
    found: dict[bytes | None, Message] = {}
    while len(found) < ROWS:
        found |= {one.key(): one for one in consumer.consume(1_000, 0.2) if one.error() is None}
    consumer.close()
    return found


def test_headers_and_keys_and_times_of_fields_and_a_cache_key_from_a_header(caches: Caches) -> None:
    provenance = ("connector", "cache", "partition", "run", "update_counter")
    settings, _ = caches.send(
        "quotes", record_key=("symbol",), key_converter="string", record_timestamp_field="at", provenance_headers=provenance
    )
    topic = f"{settings.topic_prefix}{caches.stem}-quotes"
    found = messages(caches, topic)
    assert set(found) == {f"é {number}".encode() for number in range(ROWS)}
    one = found["é 7".encode()]
    assert one.timestamp()[1] == NOW_MS - 7
    headers = dict(one.headers() or ())
    assert list(headers) == [f"ignite_kafka.{name}" for name in ("connector", "run", "cache", "partition")]
    assert headers["ignite_kafka.cache"] == f"{caches.stem}-quotes".encode()
    assert int(headers["ignite_kafka.partition"] or "") in range(PARTITIONS)
    assert caches.verified(settings)
    name = caches.store(
        settings, "quotes", key_converter="string", key_policy="header", key_fields=("ignite_kafka.partition",), process_updates=True
    )
    partitions = {int(dict(one.headers() or ())["ignite_kafka.partition"] or "") for one in found.values()}
    with caches.ignite.client() as client:
        assert set(dict(client.get_cache(name).scan())) == partitions


def test_an_entry_without_the_field_ends_the_run(caches: Caches) -> None:
    with pytest.raises(IgniteKafkaError, match=r"the entry's value has no field nothing \(but id, symbol, price, at"):
        caches.send("quotes", record_key=("nothing",))


def test_objects_are_refused_by_name(caches: Caches) -> None:
    with pytest.raises(IgniteKafkaError, match=r"an object \(Quote\), which the converter string cannot write.*converter json"):
        caches.send("quotes", value_converter="string")
