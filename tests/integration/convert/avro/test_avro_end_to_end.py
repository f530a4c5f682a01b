"""Converter avro on both sides: from Ignite to Kafka, read by fastavro with the schemas of a real registry, and back into Ignite."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from pyignite import GenericObjectMeta
from pyignite.datatypes import DoubleObject, LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.registry.client import Registry
from ignite_kafka.runtime.clients import kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from tests.support.registry import config, read_avro
from tools.servers import IgniteCluster, KafkaBroker, SchemaRegistry

Trade: Any = GenericObjectMeta("Trade", (), {}, schema={"id": LongObject, "symbol": String, "price": DoubleObject})
ROWS = 300


def test_entries_travel_as_avro(
    spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker, schema_registry: SchemaRegistry, unique: Callable[[str], str]
) -> None:
    name = unique("a")
    url = {"schema.registry.url": schema_registry.url}
    common: dict[str, Any] = {
        "ignite_addresses": ignite.addresses, "bootstrap_servers": kafka.bootstrap, "internal_topic_prefix": f"in-{name}", "slots": 2,
        "key_converter": "avro", "value_converter": "avro", "key_converter_config": url, "value_converter_config": url,
    }  # fmt: skip
    trades = {number: Trade(number, None if number % 7 == 0 else f"é {number}", number / 4) for number in range(ROWS)}
    with ignite.client() as client:
        client.get_or_create_cache(name).put_all(trades)
    source = SourceSettings(
        name=name,
        cache_whitelist=(name,),
        topic_prefix="to-",
        topic_partitions=2,
        field_nullability_policy="EAGER",
        **common,
    )
    run_snapshot(spark, RunRequest(source, uuid.uuid4().hex, None))
    topic = f"to-{name}"
    clients = kafka_clients(source, Secrets())
    messages = list(read_to_end(clients, Topics(clients), topic, [0, 1]))
    with Registry(config(schema_registry.url)) as registry:
        found = {read_avro(registry, message.key()): read_avro(registry, message.value()) for message in messages}
    assert len(messages) == ROWS
    assert found == {number: {"id": one.id, "symbol": one.symbol, "price": one.price} for number, one in trades.items()}
    sink = SinkSettings(name=f"{name}-back", topics=(topic,), topic_prefix=topic, cache_prefix=f"{name}-copy", **common)
    run_sink(spark, RunRequest(sink, uuid.uuid4().hex, None))
    with ignite.client() as client:
        copy = client.get_cache(f"{name}-copy")
        assert copy.get_size() == ROWS
        for number in (7, 8):
            read = copy.get(number, key_hint=LongObject)
            assert (read.id, read.symbol, read.price) == (number, trades[number].symbol, number / 4)
        copy.destroy()
        client.get_cache(name).destroy()
