"""Sides of entries through Connect's data model: settings, schemas and serializers together, and sides of several converters."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka.convert.connect_converters import serializer
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.convert.to_kafka.first_schemas import FirstSchemas
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.settings.converters import parse_properties
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, decimal, number, page, string

TYPES = Types()
POINT = TYPES.add("Point", {"x": codes.INT, "y": codes.STRING}, ["x", "y"], ["y"], ["x"])
X1, BOTH = binary(POINT, {"x": number(codes.INT, 1)}), binary(POINT, {"x": number(codes.INT, 2), "y": string("b")})


def side(part: str, name: str, policy: SchemaPolicy | None = None, **properties: str) -> ConnectSide:
    given = {"schemas.enable": "true"} if name == "json" else {}
    made = serializer(name, part, {**parse_properties("c", name, properties), **given, "decimal.format": "BASE64"})
    assert made is not None
    return ConnectSide(part, made, policy or SchemaPolicy(), JsonConverter(part))


def values(entries: list[tuple[bytes, bytes]], value: ConnectSide) -> list[Any]:
    records = EntryConverter(JsonConverter("key"), value).convert([page(entries)], CACHE, TYPES, topic="t", in_order=True)
    return [json.loads(text) for text in records.values.to_pylist()]


def test_rows_of_several_schemas_stay_in_their_order() -> None:
    entries = [(number(codes.INT, row), one) for row, one in enumerate([X1, BOTH, X1, BOTH])]
    found = values(entries, side("value", "json"))
    assert [one["payload"] for one in found] == [{"x": 1}, {"x": 2, "y": "b"}] * 2
    assert [[field["field"] for field in one["schema"]["fields"]] for one in found] == [["x"], ["x", "y"]] * 2
    assert {one["schema"]["name"] for one in found} == {"Point"}


def test_eager_schemaless_and_first_schemas() -> None:
    entries = [(number(codes.INT, 1), X1), (number(codes.INT, 2), BOTH)]
    assert [one["payload"] for one in values(entries, side("value", "json", SchemaPolicy(eager=True)))] == [
        {"x": 1, "y": None}, {"x": 2, "y": "b"}
    ]  # fmt: skip
    plain = values(entries[:1], side("value", "json", SchemaPolicy(schemaless=True)))
    assert plain == [{"schema": None, "payload": {"x": 1, "y": None}}]
    first = values(entries, side("value", "json", SchemaPolicy(first=FirstSchemas(10))))
    assert [one["payload"] for one in first] == [{"x": 1}, {"x": 2}]


def test_a_text_key_with_a_json_value_and_bytes_of_ignite_with_either() -> None:
    entries = [(number(codes.DOUBLE, 1e10), X1), (string("k"), BOTH)]
    texts = EntryConverter(side("key", "string"), JsonConverter("value")).convert([page(entries)], CACHE, TYPES, in_order=True)
    assert texts.keys.to_pylist() == [b"1.0E10", b"k"]
    raw_value = EntryConverter(side("key", "string"), None).convert([page(entries)], CACHE, TYPES, in_order=True)
    assert (raw_value.keys, raw_value.values.to_pylist()) == (texts.keys, [X1, BOTH])
    assert raw_value.type_ids == {POINT.type_id}
    raw_key = EntryConverter(None, JsonConverter("value")).convert([page(entries)], CACHE, TYPES, in_order=True)
    assert (raw_key.keys.to_pylist(), raw_key.values) == ([entries[0][0], entries[1][0]], texts.values)


def test_a_key_has_all_its_own_fields_whatever_its_batch() -> None:
    null = binary(POINT, {"x": number(codes.INT, 1), "y": NULL})
    keys = [null, BOTH, X1]
    together = EntryConverter(side("key", "json"), None).convert([page([(key, NULL) for key in keys])], CACHE, TYPES, in_order=True)
    alone = [EntryConverter(side("key", "json"), None).convert([page([(key, NULL)])], CACHE, TYPES).keys[0] for key in keys]
    assert together.keys.to_pylist() == [key.as_py() for key in alone]
    assert [json.loads(key)["payload"] for key in together.keys.to_pylist()] == [{"x": 1, "y": None}, {"x": 2, "y": "b"}, {"x": 1}]


def test_what_has_no_form_names_cache_and_field() -> None:
    with pytest.raises(UnsupportedType, match=r"cache tested|cache"):
        EntryConverter(side("key", "long"), None).convert([page([(string("k"), NULL)])], CACHE, TYPES)
    prices = Types()
    kind = prices.add("Price", {"p": codes.DECIMAL})
    entry = [(number(codes.INT, 1), binary(kind, {"p": decimal(Decimal("1.5"))}))]
    found = EntryConverter(JsonConverter("key"), side("value", "json")).convert([page(entry)], CACHE, prices)
    assert json.loads(found.values[0].as_py())["schema"]["fields"][0]["parameters"] == {"scale": "1"}
