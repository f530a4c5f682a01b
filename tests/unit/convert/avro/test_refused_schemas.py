"""A registry that refuses a second schema: the error names cache, subject, both types or scales, and the way out."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType, decimal
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.errors import RegistryError
from ignite_kafka.registry.client import Registry
from tests.support import ignite_bytes
from tests.support.avro_values import struct
from tests.support.ignite_bytes import CACHE, NULL, Types, page
from tests.support.registry import MemoryClient, memory_registry


class Strict(MemoryClient):
    """A registry in memory that takes one schema for each subject, as BACKWARD does with schemas that do not read one another."""

    status = 409

    def register_schema(self, subject: str, schema: Schema, _normalize: bool) -> int:
        if any(one == subject and held != schema for one, held in self.schemas):
            raise SchemaRegistryError(self.status, self.status, "Schema being registered is incompatible with an earlier schema")
        return super().register_schema(subject, schema, _normalize)


def refused(first: ConnectSchema, second: ConnectSchema, registry: Registry | None = None) -> RegistryError:
    serializer = AvroSerializer(registry or memory_registry(Strict()), AvroOptions())
    serializer.register(first, "t")
    with pytest.raises(RegistryError, match=r"^registering a schema failed: Schema being registered is incompatible") as error:
        serializer.register(second, "t")
    return error.value


def test_keys_of_two_scales_name_cache_subject_scales_and_the_way_out() -> None:
    side = ConnectSide("key", AvroSerializer(memory_registry(Strict(), side="key"), AvroOptions()), SchemaPolicy(), JsonConverter("key"))
    keys = [(ignite_bytes.decimal(Decimal(text)), NULL) for text in ("12.5", "3.25")]
    with pytest.raises(RegistryError) as error:
        EntryConverter(side, None).convert([page(keys)], CACHE, Types(), topic="t")
    assert error.value.where == {"cache": CACHE.name, "subject": "t-key", "registry": "http://127.0.0.1:8081", "status": 409}
    assert "a decimal (the value itself) has scale 2 here and scale 1 in the latest schema of subject t-key" in error.value.what
    assert "Declare the scale in the cache's query entity" in error.value.remedy
    assert "set the compatibility of t-key to NONE" in error.value.remedy


def listed(scale: int) -> ConnectSchema:
    return ConnectSchema(ConnectType.ARRAY, True, value_schema=decimal(scale, optional=True))


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        (struct("a.A", p=decimal(1, optional=True)), struct("a.A", p=decimal(0, optional=True)), "field p"),
        (struct("a.A", i=struct("a.B", p=decimal(1))), struct("a.A", i=struct("a.B", p=decimal(0))), "field i.p"),
        (struct("a.A", ps=listed(1)), struct("a.A", ps=listed(0)), "field ps[]"),
        (decimal(1, optional=True), decimal(0), "the value itself"),
    ],
)
def test_the_place_of_the_decimal(first: ConnectSchema, second: ConnectSchema, place: str) -> None:
    assert f"a decimal ({place}) has scale 0 here and scale 1 in the latest schema of subject t-value" in refused(first, second).what


class Failing(Strict):
    """A registry whose latest schema cannot be read."""

    def get_latest_version(self, subject: str) -> Any:
        raise SchemaRegistryError(403, 40301, "forbidden")


class Broken(Strict):
    """A registry whose latest schema is none."""

    def get_latest_version(self, subject: str) -> Any:
        found = super().get_latest_version(subject)
        found.schema = Schema(json.dumps({"type": "unknown"}), "AVRO")
        return found


def test_other_refusals_stay_as_they_are() -> None:
    texts, numbers = struct("a.A", p=ConnectSchema(ConnectType.STRING)), struct("a.A", p=ConnectSchema(ConnectType.INT32))
    unprocessable = Strict()
    unprocessable.status = 422
    for error in (
        refused(texts, numbers),
        refused(decimal(1), decimal(2), memory_registry(unprocessable)),
        refused(decimal(1), decimal(2), memory_registry(Failing())),
        refused(decimal(1), decimal(2), memory_registry(Broken())),
    ):
        assert "scale" not in str(error)
        assert error.where["status"] in (409, 422)


def test_another_type_names_both_and_the_way_out() -> None:
    error = refused(struct("a.Order", p=decimal(1)), struct("a.Return", p=decimal(0)))
    assert "the type is a.Return here and a.Order in the latest schema of subject t-value" in error.what
    assert "TopicRecordNameStrategy" in error.remedy


def test_another_type_that_has_no_name_needs_another_topic() -> None:
    error = refused(ConnectSchema(ConnectType.INT64, True), ConnectSchema(ConnectType.STRING))
    assert "the type is string here and long in the latest schema of subject t-value" in error.what
    assert "Give each type a topic of its own" in error.remedy
