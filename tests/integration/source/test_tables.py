"""Records of values whose fields are null, set, null again and new: tables and readers with one schema can follow them."""

from __future__ import annotations

import base64
import datetime
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, SchemaRegistryClient, ServerConfig
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyignite import GenericObjectMeta
from pyignite.datatypes import (
    BinaryObject,
    BoolObject,
    ByteArrayObject,
    CollectionObject,
    DecimalObject,
    DoubleObject,
    IntObject,
    String,
    TimestampObject,
)  # fmt: skip

from ignite_kafka.common.python_compat import UTC
from tests.support.connect_converters import JSON, ConnectConverters
from tests.support.java_programs import JavaProgram
from tests.support.stream_world import World, await_that
from tests.support.tables import Table, comparable, flat_row, plain
from tools.servers import Jars, SchemaRegistry

WITH_SCHEMAS = {"schemas.enable": "true"}
POLICIES = ("LAZY", "EAGER")
FIELDS: dict[str, Any] = {
    "name": String, "age": IntObject, "price": DecimalObject, "rate": DoubleObject, "open": BoolObject, "since": TimestampObject,
    "photo": ByteArrayObject, "address": BinaryObject, "tags": CollectionObject,
}  # fmt: skip
SINCE = datetime.datetime(2026, 11, 26, 12, 30, 15, 250_000)
WHOLE: dict[str, Any] = {
    "name": "é", "age": 7, "price": Decimal("12.5"), "rate": 0.5, "open": False, "since": SINCE, "photo": b"\x00\xff",
    "address": {"street": "Main", "zip": 1}, "tags": ["a", "b"],
}  # fmt: skip
NOTHING = {**dict.fromkeys(FIELDS), "name": "n"}
PARTS = {**WHOLE, "address": {"street": None, "zip": 2}}
NEW = {"note": "new", "score": 1}
"""Fields that the class gets later."""
STEPS: tuple[dict[int, dict[str, Any]], ...] = (
    {1: NOTHING},
    {2: WHOLE, 3: PARTS},
    {1: WHOLE, 2: NOTHING},
    {1: PARTS, 3: WHOLE},
    {2: {**WHOLE, **dict.fromkeys(NEW)}},
    {2: {**WHOLE, **NEW}, 3: {**NOTHING, **NEW}},
    {2: {**NOTHING, **dict.fromkeys(NEW)}, 4: NOTHING},
)
"""Entries of each step, in the order of their records; a step is sent before the next one."""
UNTYPED = ("price", "address", "tags")
"""Fields whose type in Kafka Connect Ignite's metadata does not say."""
CACHES = [(converter, policy) for converter in ("json", "avro") for policy in POLICIES]
Records = dict[tuple[str, str], list[tuple[int, bytes]]]


def shown(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value as readers show it."""
    return {name: item.replace(tzinfo=UTC) if item is SINCE else item for name, item in value.items()}


def put(world: World, cache: str, entries: Mapping[int, Mapping[str, Any]]) -> None:
    kind = f"{world.stem}{cache.replace('-', '')}"
    address: Any = GenericObjectMeta(f"Address{kind}", (), {}, schema={"street": String, "zip": IntObject})
    with world.ignite.client() as client:
        client.register_binary_type(address)
        for key, value in entries.items():
            grown = {"note": String, "score": IntObject} if NEW.keys() <= value.keys() else {}
            person: Any = GenericObjectMeta(f"Person{kind}", (), {}, schema={**FIELDS, **grown})
            made = {
                "address": value["address"] and address(**value["address"]),
                "tags": value["tags"] and (1, value["tags"]),
                "since": value["since"] and (value["since"], 0),
            }
            client.get_or_create_cache(f"{world.stem}-{cache}").put(key, person(**{**value, **made}))


def entries(policy: str, step: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The entries of a step. With EAGER, fields whose type a null does not show are always set (docs/types.md)."""
    untyped = {name: WHOLE[name] for name in UNTYPED} if policy == "EAGER" else {}
    return {key: {**value, **{name: item for name, item in untyped.items() if value[name] is None}} for key, value in step.items()}


@pytest.fixture
def records(stream: World, schema_registry: SchemaRegistry) -> Records:
    """Key and value of the records of each cache; a cache is named by its converter and its policy."""
    url = {"schema.registry.url": schema_registry.url}
    configs = {"json": WITH_SCHEMAS, "avro": url}
    stream.settings = replace(
        stream.settings, topic_partitions=1,
        overrides={
            f"{stream.stem}-{converter}-{policy}": {
                "value_converter": converter, "value_converter_config": configs[converter], "field_nullability_policy": policy
            }
            for converter, policy in CACHES
        },
    )  # fmt: skip
    put_step(stream, STEPS[0])
    with stream.running() as run:
        await_that(partial(are_sent, stream, len(STEPS[0])), "the first step", run)
        with SchemaRegistryClient({"url": schema_registry.url}) as registry:
            for policy in POLICIES:
                registry.set_config(subject(stream, policy), ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))
        for number, step in enumerate(STEPS[1:], 2):
            put_step(stream, step)
            await_that(partial(are_sent, stream, sum(map(len, STEPS[:number]))), f"step {number}", run)
        run.stop()
    return {cache: read(stream, *cache) for cache in CACHES}


def put_step(world: World, step: Mapping[int, Mapping[str, Any]]) -> None:
    for converter, policy in CACHES:
        put(world, f"{converter}-{policy}", entries(policy, step))


def subject(world: World, policy: str) -> str:
    return f"{world.stem}-avro-{policy}-value"


def are_sent(world: World, count: int) -> bool:
    """Whether each topic has so many records."""
    return all(len(read(world, *cache)) == count for cache in CACHES)


def read(world: World, converter: str, policy: str) -> list[tuple[int, bytes]]:
    return [(int(key or b""), value or b"") for key, value in world.records(f"{converter}-{policy}")]


def histories(values: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[int, list[dict[str, Any]]]:
    """Values of each key in their order."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for key, value in values:
        found[key].append(comparable(value))
    return found


def test_readers_follow_fields_that_are_null_then_set_then_null_and_new(
    stream: World, records: Records, jars: Jars, tmp_path: Path, schema_registry: SchemaRegistry
) -> None:
    written = {
        policy: histories((key, shown(value)) for step in STEPS for key, value in entries(policy, step).items()) for policy in POLICIES
    }
    with (
        closing(ConnectConverters(jars.kafka, tmp_path / "converters")) as connect,
        closing(JavaProgram("ProjectSchemas", [jars.kafka], tmp_path / "projector")) as projector,
    ):
        for policy in POLICIES:
            found = records["json", policy]
            values = [(key, *connect.read(JSON, value, WITH_SCHEMAS)) for key, value in found]
            assert histories((key, plain(schema, value)) for key, schema, value in values) == written[policy]
            assert_tables_follow(policy, values, written[policy])
            assert_projected(projector, [value for _, value in found], [plain(schema, value) for _, schema, value in values])
    with SchemaRegistryClient({"url": schema_registry.url}) as registry:
        for policy in POLICIES:
            assert_read_by_each_version(registry, subject(stream, policy), records["avro", policy], written[policy])


def assert_tables_follow(policy: str, values: list[tuple[int, Any, Any]], written: Mapping[int, list[dict[str, Any]]]) -> None:
    """With LAZY, an upsert of the columns that a record has leaves what was in the others (docs/types.md)."""
    wanted = {key: flat_row(states[-1]) for key, states in written.items()}
    for keeps_absent in (False, True):
        with closing(Table(keeps_absent=keeps_absent)) as table:
            for key, schema, value in values:
                table.apply(key, schema, value)
            assert (table.rows() == wanted) == (policy == "EAGER" or not keeps_absent)


def assert_projected(projector: JavaProgram, envelopes: list[bytes], values: list[Any]) -> None:
    """Kafka's SchemaProjector fits each value to the schema of each other one: its fields, and null where the value has none."""
    encoded = [base64.b64encode(one).decode() for one in envelopes]
    for target in {json.dumps(json.loads(one)["schema"]): text for one, text in zip(envelopes, encoded, strict=True)}.values():
        for text, value in zip(encoded, values, strict=True):
            answer = projector.ask({"record": text, "target": target})
            assert "error" not in answer, answer["error"]
            projected = plain(answer["schema"], answer["value"])
            assert comparable(projected) == comparable(within(projected, value))


def assert_read_by_each_version(
    registry: SchemaRegistryClient, name: str, records: list[tuple[int, bytes]], written: Mapping[int, list[dict[str, Any]]]
) -> None:
    """Confluent's deserializer reads every record by every version of the schema, the latest included."""
    for version in registry.get_versions(name):
        schema = registry.get_version(name, version).schema
        text = schema.schema_str or ""
        read_value = AvroDeserializer(registry, schema)
        context = SerializationContext(name.removesuffix("-value"), MessageField.VALUE)
        found = histories((key, read_value(value, context)) for key, value in records)
        empty = dict.fromkeys(one["name"] for one in json.loads(text)["fields"])
        fields = {**empty, "address": address_fields(text)} if "address" in empty else empty
        assert found == {key: [comparable(within(fields, value)) for value in states] for key, states in written.items()}


def address_fields(schema: str) -> dict[str, None]:
    """Names of the fields of an address in an Avro schema."""
    (address,) = (one["type"] for one in json.loads(schema)["fields"] if one["name"] == "address")
    return dict.fromkeys(one["name"] for one in next(part for part in address if isinstance(part, dict))["fields"])


def within(fields: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """The value without fields that a reader's schema has not."""
    return {
        name: within(fields[name], item) if isinstance(item, Mapping) and isinstance(fields[name], Mapping) else item
        for name, item in value.items()
        if name in fields
    }
