"""Schemas by declared types, and the checks of a plan that they allow."""

from __future__ import annotations

import pytest

from ignite_kafka.convert.connect import ConnectSchema, ConnectType, schema
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.scalars.text import StringSerializer
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.converter import SideContext
from ignite_kafka.convert.to_kafka.declared_schemas import UNDEFINED, declared_schemas
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from tests.support.ignite_bytes import Types

TYPES = Types()
TYPES.add("Price", {"amount": codes.DECIMAL, "at": codes.TIMESTAMP, "many": codes.STRING_ARRAY, "any": codes.OBJECT})
TYPES.add("Color", {}, enum=["RED"])
COLUMNS = (QueryField("AMOUNT", "java.math.BigDecimal", scale=2),)


def cache(key: str, value: str) -> CacheInfo:
    return CacheInfo("prices", 1, query_entities=(QueryEntity(key, value, fields=COLUMNS),))


def test_an_object_by_its_metadata_and_declared_scales() -> None:
    texts = ConnectSchema(ConnectType.ARRAY, True, value_schema=ConnectSchema(ConnectType.STRING, True))
    fields = {"amount": schema.decimal(2, optional=True), "at": schema.timestamp(optional=True), "many": texts, "any": UNDEFINED}
    (found,) = declared_schemas(cache("java.lang.Integer", "Price"), TYPES, key=False)
    assert (found.name, found.optional) == ("Price", False)
    assert {one.name: one.schema for one in found.fields} == fields
    assert list(declared_schemas(cache("java.lang.Integer", "Price"), TYPES, key=True)) == [ConnectSchema(ConnectType.INT32)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("java.sql.Date", [schema.date()]),
        ("java.sql.Time", [schema.time()]),
        ("java.util.UUID", [ConnectSchema(ConnectType.STRING)]),
        ("Color", [ConnectSchema(ConnectType.STRING)]),
        ("java.math.BigDecimal", []),
        ("Unwritten", []),
    ],
)
def test_keys_by_their_class(name: str, expected: list[ConnectSchema]) -> None:
    assert list(declared_schemas(cache(name, "Price"), TYPES, key=True)) == expected


def test_a_plan_refuses_what_its_converter_cannot_write() -> None:
    def side(part: str) -> ConnectSide:
        return ConnectSide(part, StringSerializer(), SchemaPolicy(), JsonConverter(part))

    context = SideContext(cache("java.lang.Long", "Price"), TYPES, "t")
    side("key").check(context)
    with pytest.raises(UnsupportedType, match="cache prices"):
        side("value").check(context)
