"""A stream by converters with schemas, String and whole numbers: records that others read, tombstones with the key bytes of the puts."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, cast

import pytest
from confluent_kafka import Message
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, SchemaRegistryClient, ServerConfig

from ignite_kafka.registry.client import Registry
from ignite_kafka.settings.provenance import PROVENANCE
from tests.support.connect_converters import JSON, ConnectConverters
from tests.support.registry import config, read_avro, schema_id
from tests.support.stream_world import World
from tests.support.typed_entries import DECIMALS, ENUMS, INTEGERS, LONGS, ORDERS, UUIDS, TypedCaches, without_nulls
from tools.servers import Jars, SchemaRegistry

STRING, SIMPLE = (f"org.apache.kafka.connect.storage.{name}" for name in ("StringConverter", "SimpleHeaderConverter"))
WITH_SCHEMAS = {"schemas.enable": "true"}
Read = Callable[[bytes], Any]


@dataclass(frozen=True)
class Format:
    """Converters of a connector, and readers of its records that share no code with them.

    :param shown_key: what the reader shows of a key.
    :param header: Kafka's class that reads headers.
    """

    settings: dict[str, Any]
    kinds: tuple[str, ...]
    read_key: Read
    read_value: Read
    shown_key: Read
    header: str


@pytest.fixture(scope="module")
def connect(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectConverters]:
    with closing(ConnectConverters(jars.kafka, tmp_path_factory.mktemp("classes"))) as converters:
        yield converters


@pytest.fixture
def world(stream: World) -> World:
    return stream


@pytest.fixture
def avro(schema_registry: SchemaRegistry) -> Iterator[Format]:
    url = {"schema.registry.url": schema_registry.url}
    settings = {
        "key_converter": "avro", "value_converter": "avro", "key_converter_config": url, "value_converter_config": url,
        "field_nullability_policy": "EAGER", "header_converter": "simple",
    }  # fmt: skip
    with Registry(config(schema_registry.url)) as registry:

        def read(data: bytes) -> Any:
            return without_nulls(read_avro(registry, data))

        yield Format(settings, (ORDERS, DECIMALS, ENUMS), read, read, without_nulls, SIMPLE)


@pytest.fixture
def json_with_schemas(connect: ConnectConverters) -> Format:
    settings = {
        "key_converter": "json", "value_converter": "json", "key_converter_config": WITH_SCHEMAS, "value_converter_config": WITH_SCHEMAS,
        "header_converter": "json", "header_converter_config": WITH_SCHEMAS,
    }  # fmt: skip

    def read(data: bytes) -> Any:
        return without_nulls(plain(*connect.read(JSON, data, WITH_SCHEMAS)))

    return Format(settings, (ORDERS, DECIMALS, ENUMS), read, read, without_nulls, JSON)


@pytest.fixture
def string_and_json(connect: ConnectConverters) -> Format:
    settings = {
        "key_converter": "string", "value_converter": "json", "value_converter_config": {"decimal.format": "NUMERIC"},
        "header_converter": "string",
    }  # fmt: skip

    def read(data: bytes) -> Any:
        return json.loads(data, parse_float=Decimal)

    return Format(settings, (UUIDS, DECIMALS, ENUMS), lambda data: connect.read(STRING, data)[1], read, str, STRING)


@pytest.fixture
def json_schema(schema_registry: SchemaRegistry) -> Format:
    properties = {"schema.registry.url": schema_registry.url, "decimal.format": "NUMERIC"}
    settings = {
        "key_converter": "json-schema", "value_converter": "json-schema", "key_converter_config": properties,
        "value_converter_config": properties, "field_nullability_policy": "EAGER", "header_converter": "simple",
    }  # fmt: skip

    def read(data: bytes) -> Any:
        assert (data[0], schema_id(data) > 0) == (0, True)
        return without_nulls(json.loads(data[5:], parse_float=Decimal))

    return Format(settings, (ORDERS,), read, read, without_nulls, SIMPLE)


@pytest.fixture
def whole_numbers(world: World) -> Format:
    """Converter long, and integer for one cache."""
    settings = {
        "key_converter": "long", "value_converter": "json", "value_converter_config": {"decimal.format": "NUMERIC"},
        "header_converter": "string", "overrides": {f"{world.stem}-{INTEGERS}": {"key_converter": "integer"}},
    }  # fmt: skip

    def read_key(data: bytes) -> Any:
        return int.from_bytes(data, "big", signed=True)

    return Format(settings, (LONGS, INTEGERS), read_key, lambda data: json.loads(data, parse_float=Decimal), int, STRING)


@pytest.mark.parametrize(
    "form",
    [
        "avro",
        pytest.param("json_with_schemas", marks=pytest.mark.long("avro")),
        pytest.param("json_schema", marks=pytest.mark.long("avro")),
        pytest.param("string_and_json", marks=pytest.mark.long("avro")),
        pytest.param("whole_numbers", marks=pytest.mark.long("avro")),
    ],
)
def test_every_record_of_a_stream_can_be_read(
    form: str, world: World, connect: ConnectConverters, schema_registry: SchemaRegistry, request: pytest.FixtureRequest
) -> None:
    chosen: Format = request.getfixturevalue(form)
    world.settings = replace(world.settings, provenance_headers=PROVENANCE, cluster_name="here", **chosen.settings)
    started_ms, caches = int(time.time() * 1000), TypedCaches(world.ignite, world.stem, chosen.kinds)
    caches.put(range(40), 1)
    with world.running() as run:
        await_equal(world, caches, run)
        if form == "avro":
            with SchemaRegistryClient({"url": schema_registry.url}) as registry:
                for kind in chosen.kinds:
                    registry.set_config(f"{caches.name(kind)}-value", ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))
        caches.put(range(20), 2)
        caches.remove(range(30, 40))
        caches.put(range(35, 60), 3)
        await_equal(world, caches, run)
        caches.put(range(10, 20), 4, note="grown")  # the value type has one more field
        caches.remove(range(12, 15))
        await_equal(world, caches, run)
        for kind in chosen.kinds:
            assert_read(chosen, world.messages(kind), caches, kind, whole=True)
        caches.clear()  # is not captured
        caches.put(range(5), 5)
        for kind in chosen.kinds:
            world.send_again(world.units(kind))
        await_equal(world, caches, run)
        run.stop()
    caches.remove(range(2))
    with world.running(failover_policy="FULL_SNAPSHOT") as run:
        await_equal(world, caches, run)
        run.stop()
    for kind in chosen.kinds:
        messages = world.messages(kind)
        assert_read(chosen, messages, caches, kind)
        assert_headers(
            connect, chosen.header, messages, started_ms, {"connector": world.stem, "cluster": "here", "cache": caches.name(kind)}
        )
    if form in ("avro", "json_schema"):
        ids = {schema_id(value) for message in messages if (value := message.value())}
        assert len(ids) == 2, "the schema of the value type, and the one with one more field"


def plain(schema: dict[str, Any], value: Any) -> Any:
    """A value as Kafka's converter reads it (tests/java/ConnectData.java), as plain Python."""
    if value is None:
        return None
    if schema["type"] == "struct":
        return {name: plain(one, item) for (name, one), item in zip(schema["fields"], value, strict=True)}
    if schema.get("name") == "org.apache.kafka.connect.data.Decimal":
        return Decimal(value[0]).scaleb(-value[1])
    return int(value) if schema["type"].startswith("int") else value


def await_equal(world: World, caches: TypedCaches, *runs: Any) -> None:
    for kind in caches.kinds:
        assert world.await_equal(kind, *runs).entries == len(caches.last(kind))


def assert_read(chosen: Format, messages: list[Message], caches: TypedCaches, kind: str, *, whole: bool = False) -> None:
    """The topic's last records are the cache, and a key has always the same bytes.

    :param whole: every state of every key is in the topic, once and in order.
    """
    numbers = {repr(chosen.shown_key(caches.shown_key(kind, number))): number for number in caches.states[kind]}
    seen: dict[int, list[Any]] = defaultdict(list)
    keys: dict[int, set[bytes]] = defaultdict(set)
    for message in messages:
        number = numbers[repr(chosen.read_key(message.key() or b""))]
        value = message.value()
        seen[number].append(None if value is None else chosen.read_value(value))
        keys[number].add(message.key() or b"")
    assert Counter(map(len, keys.values())) == {1: len(caches.states[kind])}
    wanted = {
        number: [None if state is None else without_nulls(state) for state in states] for number, states in caches.states[kind].items()
    }
    if whole:
        assert seen == wanted
    assert {number: states[-1] for number, states in seen.items()} == {number: states[-1] for number, states in wanted.items()}


def assert_headers(connect: ConnectConverters, converter: str, messages: list[Message], started_ms: int, texts: dict[str, str]) -> None:
    counters: dict[bytes, list[int]] = defaultdict(list)
    for message in messages:
        found = dict(cast("list[tuple[str, bytes]]", message.headers()))
        names = [name.removeprefix("ignite_kafka.") for name in found]
        assert names == [name for name in PROVENANCE if name in names]
        assert set(PROVENANCE) - set(names) <= {"update_counter"}
        shown = {name: connect.read(converter, value)[1] for name, value in zip(names, found.values(), strict=True)}
        assert shown.items() >= texts.items()
        assert shown["run"] in ("1", "2")
        assert 0 <= int(shown["partition"]) < 1024
        if converter != STRING:  # a date as Java's text
            assert started_ms <= int(shown["time"]) <= time.time() * 1000
        if "update_counter" in shown:
            counters[message.key() or b""].append(int(shown["update_counter"]))
    assert counters
    assert all(numbers == sorted(set(numbers)) for numbers in counters.values())
