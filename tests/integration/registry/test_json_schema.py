"""Converter json-schema end to end: from Ignite to Kafka and back, with a real registry, on Spark."""

from __future__ import annotations

import http.client
import json
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyignite import GenericObjectMeta
from pyignite.datatypes import DoubleObject, LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.errors import RegistryError
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from tests.support.waiting import REQUEST_S
from tools.servers import IgniteCluster, KafkaBroker, SchemaRegistry

Trade: Any = GenericObjectMeta("Trade", (), {}, schema={"id": LongObject, "symbol": String, "price": DoubleObject})
ROWS = 300


def get(registry: SchemaRegistry, path: str) -> Any:
    parts = urlsplit(registry.url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=REQUEST_S)
    connection.request("GET", parts.path + path)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_entries_travel_with_their_json_schema(
    spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker, schema_registry: SchemaRegistry, unique: Callable[[str], str]
) -> None:
    name = unique("j")
    common: dict[str, Any] = {
        "ignite_addresses": ignite.addresses, "bootstrap_servers": kafka.bootstrap, "internal_topic_prefix": f"in-{name}", "slots": 2,
        "key_converter": "json-schema", "key_converter_config": {"schema.registry.url": schema_registry.url},
        "value_converter": "json-schema", "value_converter_config": {"schema.registry.url": schema_registry.url},
    }  # fmt: skip
    with ignite.client() as client:
        trades = {number: Trade(number, None if number % 7 == 0 else f"é {number}", number / 4) for number in range(ROWS)}
        client.get_or_create_cache(name).put_all(trades)
    source = SourceSettings(name=name, cache_whitelist=(name,), topic_prefix="to-", topic_partitions=2, **common)
    run_snapshot(spark, RunRequest(source, uuid.uuid4().hex, None))
    topic = f"to-{name}"
    clients = kafka_clients(source, Secrets())
    messages = list(read_to_end(clients, Topics(clients), topic, [0, 1]))
    assert len(messages) == ROWS
    keys = [message.key() or b"" for message in messages]
    assert len({key[:5] for key in keys}) == 1
    assert {int(key[5:]) for key in keys} == set(range(ROWS))
    values = [message.value() or b"" for message in messages]
    ids = {value[:5] for value in values}
    schemas = {id: get(schema_registry, f"/schemas/ids/{int.from_bytes(id[1:], 'big')}") for id in ids}
    for value in values:
        schema = schemas[value[:5]]
        assert schema["schemaType"] == "JSON"
        document = json.loads(value[5:])
        jsonschema.Draft7Validator(json.loads(schema["schema"])).validate(document)
        number = document["id"]
        assert document == {"id": number, "price": number / 4} | ({} if number % 7 == 0 else {"symbol": f"é {number}"})
    with SchemaRegistryClient({"url": schema_registry.url}) as confluents:
        read, context = JSONDeserializer(None, schema_registry_client=confluents), SerializationContext(topic, MessageField.VALUE)
        assert [read(value, context) for value in values] == [json.loads(value[5:]) for value in values]
    assert get(schema_registry, f"/subjects/{topic}-value/versions") == list(range(1, len(ids) + 1))

    sink = SinkSettings(
        name=f"{name}-back", topics=(topic,), topic_prefix=topic, cache_prefix=f"{name}-copy", cache_key_type="java.lang.Long", **common
    )
    run_sink(spark, RunRequest(sink, uuid.uuid4().hex, None))
    with ignite.client() as client:
        copy = client.get_cache(f"{name}-copy")
        assert copy.get_size() == ROWS
        assert (copy.get(8).id, copy.get(8).symbol, copy.get(8).price) == (8, "é 8", 2.0)
        copy.destroy()
        client.get_cache(name).destroy()


def test_records_of_confluents_serializer_become_entries(
    spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker, schema_registry: SchemaRegistry, unique: Callable[[str], str]
) -> None:
    """Records of confluent-kafka's JSONSerializer with a handwritten schema: constraints, internal references, no connect.type."""
    name = unique("j")
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object", "required": ["id"],
        "definitions": {"money": {"type": "object", "properties": {"amount": {"type": "number"}, "unit": {"type": "string"}}}},
        "properties": {
            "id": {"type": "integer", "minimum": 0}, "symbol": {"oneOf": [{"type": "null"}, {"type": "string", "maxLength": 9}]},
            "price": {"$ref": "#/definitions/money"}, "lots": {"type": "array", "items": {"type": "integer"}}, "open": {"type": "boolean"},
        },
    }  # fmt: skip
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(name, 2)])[name].result(REQUEST_S)
    producer, context = Producer({"bootstrap.servers": kafka.bootstrap}), SerializationContext(name, MessageField.VALUE)
    with SchemaRegistryClient({"url": schema_registry.url}) as confluents:
        write = JSONSerializer(json.dumps(schema), confluents)
        for number in range(ROWS):
            order = {
                "id": number, "symbol": None if number % 7 == 0 else f"é {number}", "price": {"amount": number / 4, "unit": "EUR"},
                "lots": [number, 2**40], "open": number % 2 == 0,
            }  # fmt: skip
            producer.produce(name, write(order, context), json.dumps(number))
    assert producer.flush(REQUEST_S) == 0
    sink = SinkSettings(
        name=name, topics=(name,), internal_topic_prefix=f"in-{name}", slots=2, cache_key_type="java.lang.Long",
        ignite_addresses=ignite.addresses, bootstrap_servers=kafka.bootstrap, key_converter="json", value_converter="json-schema",
        value_converter_config={"schema.registry.url": schema_registry.url},
    )  # fmt: skip
    run_sink(spark, RunRequest(sink, uuid.uuid4().hex, None))
    with ignite.client() as client:
        cache = client.get_cache(name)
        assert cache.get_size() == ROWS
        for number in (7, 8):
            order = cache.get(number)
            assert (order.id, order.symbol, order.open) == (number, None if number == 7 else f"é {number}", number % 2 == 0)
            assert (order.price.amount, order.price.unit) == (number / 4, "EUR")
            assert list(order.lots[1] if isinstance(order.lots, tuple) else order.lots) == [number, 2**40]
        cache.destroy()


def test_a_registry_that_refuses_the_schema_stops_the_run(
    spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker, schema_registry: SchemaRegistry, unique: Callable[[str], str]
) -> None:
    name = unique("j")
    with ignite.client() as client:
        client.get_or_create_cache(name).put_all({1: Trade(1, "a", 1.0)})
    source = SourceSettings(
        name=name, cache_whitelist=(name,), topic_prefix="to-", internal_topic_prefix=f"in-{name}", slots=2,
        ignite_addresses=ignite.addresses, bootstrap_servers=kafka.bootstrap, value_converter="json-schema",
        value_converter_config={"schema.registry.url": schema_registry.url, "auto.register.schemas": "false"},
    )  # fmt: skip
    with pytest.raises(RegistryError, match=r"set auto\.register\.schemas to true"):
        run_snapshot(spark, RunRequest(source, uuid.uuid4().hex, None))
    with ignite.client() as client:
        client.get_cache(name).destroy()
