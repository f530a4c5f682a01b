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
        "key_converter": "json", "value_converter": "json-schema",
        "value_converter_config": {"schema.registry.url": schema_registry.url},
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
