"""Avro values through a real registry: ids, evolution of a class under BACKWARD, several types, and what the registry refuses."""

from __future__ import annotations

import struct as packing
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, SchemaRegistryClient, ServerConfig

from ignite_kafka.convert.avro.deserializer import AvroDeserializer
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.connect.columns import ConnectColumn
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType, timestamp
from ignite_kafka.errors import RegistryError
from ignite_kafka.registry.client import Registry
from tests.support.avro_values import arrow, struct
from tests.support.registry import config
from tools.servers import SchemaRegistry

T = ConnectType
OPTIONS = AvroOptions()
LONG, TEXT = ConnectSchema(T.INT64, True), ConnectSchema(T.STRING, True)
FIRST = struct("org.acme.Person", id=LONG, name=TEXT, at=timestamp(optional=True))
ADDED = struct("org.acme.Person", id=LONG, name=TEXT, at=timestamp(optional=True), age=ConnectSchema(T.INT32, True))
REMOVED = struct("org.acme.Person", id=LONG, at=timestamp(optional=True))
CHANGED = struct("org.acme.Person", id=TEXT, name=TEXT, at=timestamp(optional=True))
RENAMED = replace(FIRST, name="org.acme.Human")
Unique = Callable[[str], str]


@pytest.fixture
def client(schema_registry: SchemaRegistry) -> Iterator[Callable[..., Registry]]:
    with ExitStack() as stack:
        yield lambda **properties: stack.enter_context(
            Registry(config(schema_registry.url, {name.replace("_", "."): value for name, value in properties.items()}))
        )


def _written(registry: Registry, schema: ConnectSchema, rows: list[Any], topic: str) -> list[bytes]:
    return AvroSerializer(registry, OPTIONS).serialize(ConnectColumn(arrow(rows, schema), schema), topic).to_pylist()


def test_a_class_that_gains_and_loses_fields_is_read_back_value_by_value(client: Callable[..., Registry], unique: Unique) -> None:
    topic = unique("people")
    rows: dict[int, tuple[ConnectSchema, dict[str, Any]]] = {
        0: (FIRST, {"id": 1, "name": "é", "at": 5}),
        1: (ADDED, {"id": 2, "name": None, "at": None, "age": 7}),
        2: (REMOVED, {"id": 3, "at": -1}),
        3: (FIRST, {"id": 4, "name": "x", "at": 0}),
    }
    records = [_written(client(), schema, [row], topic)[0] for schema, row in rows.values()]
    ids = [packing.unpack(">bI", record[:5]) for record in records]
    assert ids[0] == ids[3]
    assert len({id for _, id in ids}) == 3
    found = AvroDeserializer(client(), OPTIONS).deserialize(pa.array([*records, b"\x00\x7f\xff\xff\xff\x00"]), topic)
    assert [row for row, _ in found.bad] == [4]
    assert "no schema of id 2147483647" in found.bad[0][1]
    read = {
        row: (part.column.schema, value) for part in found.parts for row, value in zip(part.rows.tolist(), part.column.data, strict=True)
    }
    assert read == {row: (schema, arrow([value], schema)[0]) for row, (schema, value) in rows.items()}


@pytest.mark.parametrize("schema", [CHANGED, RENAMED], ids=["type changed", "class renamed"])
def test_a_schema_that_readers_of_the_first_cannot_follow_is_refused(
    client: Callable[..., Registry], unique: Unique, schema: ConnectSchema
) -> None:
    topic = unique("people")
    registry = client()
    _written(registry, FIRST, [{"id": 1, "name": "x", "at": 0}], topic)
    assert registry.subject(topic, None) == f"{topic}-value"
    _compatibility(registry, f"{topic}-value")
    with pytest.raises(RegistryError) as raised:
        AvroSerializer(registry, OPTIONS).register(schema, topic)
    assert raised.value.where["status"] == 409
    assert raised.value.where["subject"] == f"{topic}-value"


def test_two_types_of_one_topic_have_subjects_of_their_own_where_the_strategy_says_so(
    client: Callable[..., Registry], unique: Unique
) -> None:
    topic, registry = unique("people"), client(value_subject_name_strategy="TopicRecordNameStrategy")
    _written(registry, FIRST, [{"id": 1, "name": "x", "at": 0}], topic)
    _compatibility(registry, f"{topic}-org.acme.Person")
    _written(registry, RENAMED, [{"id": 1, "name": "x", "at": 0}], topic)


def test_without_registration_the_registered_schema_is_used(client: Callable[..., Registry], unique: Unique) -> None:
    topic = unique("people")
    first = _written(client(), FIRST, [{"id": 1, "name": "x", "at": 0}], topic)
    looking = client(auto_register_schemas="false")
    assert _written(looking, FIRST, [{"id": 1, "name": "x", "at": 0}], topic) == first
    with pytest.raises(RegistryError, match=r"auto\.register\.schemas"):
        _written(looking, ADDED, [{"id": 1, "name": "x", "at": 0, "age": 1}], topic)


def _compatibility(registry: Registry, subject: str) -> None:
    """Set BACKWARD, which this registry does not have by default."""
    with closing(SchemaRegistryClient(dict(registry.config.client))) as client:
        client.set_config(subject, ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))
