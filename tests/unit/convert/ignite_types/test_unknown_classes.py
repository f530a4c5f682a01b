"""Columns of classes that the cluster does not know: an enum or an object, which only a value or the application decides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, Entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from tests.support.json_forms import FORMS, as_json, field_codes
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter

LONG, TEXT, COLOR, CAR = "java.lang.Long", "java.lang.String", "org.demo.Color", "org.demo.Car"


def cars(color: str = COLOR, *, not_null: bool = False) -> CacheInfo:
    fields = (QueryField("model", TEXT), QueryField("color", color, not_null=not_null))
    return CacheInfo("Cars", 1, query_entities=(QueryEntity(LONG, CAR, fields=fields),))


def fields_of(found: Entries, types: GrowingTypes) -> dict[int, dict[str, Any]]:
    """Fields of the values by row, nulls left out."""
    values = zip(found.rows.tolist(), decoded(found, types), strict=True)
    return {row: {name: str(one) for name, one in value.fields.items() if one is not None} for row, (_, value) in values}


RECORDS = [{"model": "m", "color": "RED"}, {"model": "n", "color": None}, {"model": "o"}]


@FORMS
@pytest.mark.parametrize("copies", [1, 100])
def test_nulls_leave_the_field_open_and_a_text_says_what_to_do(rules: ConversionRules, written: Any, copies: int) -> None:
    types = GrowingTypes()
    found = record_converter(cars(), types, rules).convert(consumed(list(map(written, RECORDS * copies))))
    assert found.rows.tolist() == [row for row in range(3 * copies) if row % 3]
    assert field_codes(types, CAR) == {"model": codes.STRING}
    for bad in found.bad:
        assert "field color" in bad.reason
        assert all(part in bad.reason for part in (COLOR, "does not know", "enum", "register", "types_topic")), bad.reason


@FORMS
def test_a_text_after_the_enum_was_registered_is_its_constant(rules: ConversionRules, written: Any) -> None:
    types = GrowingTypes()
    converter = record_converter(cars(), types, rules)
    assert [bad.row for bad in converter.convert(consumed(list(map(written, RECORDS)))).bad] == [0]
    types.add(COLOR, {}, enum=("RED", "GREEN"))
    for one in (converter, record_converter(cars(), types, rules)):
        found = one.convert(consumed(list(map(written, RECORDS))))
        assert not found.bad
        assert "RED" in fields_of(found, types)[0]["color"] or "ordinal=0" in fields_of(found, types)[0]["color"]
    assert field_codes(types, CAR)["color"] in (codes.ENUM, codes.BINARY_ENUM)


@FORMS
def test_what_the_application_registered_meanwhile_holds(rules: ConversionRules, written: Any) -> None:
    """Java registers the field of an enum with the first car, and the enum itself with its first constant."""
    types = GrowingTypes()
    types.add(CAR, {"model": codes.STRING, "color": codes.ENUM})
    converter = record_converter(cars(), types, rules)
    found = converter.convert(consumed([*map(written, RECORDS), written({"model": "x", "color": {"rgb": "y"}})]))
    assert [bad.row for bad in found.bad] == [0, 3]
    types.add(COLOR, {}, enum=("RED", "GREEN"))
    found = converter.convert(consumed(list(map(written, RECORDS))))
    assert not found.bad
    assert field_codes(types, CAR)["color"] == codes.ENUM


@FORMS
def test_objects_are_of_the_class(rules: ConversionRules, written: Any) -> None:
    types = GrowingTypes()
    given = [{"model": "m", "color": None}, {"model": "n", "color": {"rgb": "x"}}, {"model": "o", "color": "RED"}]
    for _ in range(2):
        found = record_converter(cars(), types, rules).convert(consumed(list(map(written, given))))
        assert [bad.row for bad in found.bad] == [2]
        ((_, value),) = [one for row, one in zip(found.rows.tolist(), decoded(found, types), strict=True) if row == 1]
        assert (value.fields["color"].type_name, value.fields["color"].fields) == (COLOR, {"rgb": "x"})
    assert field_codes(types, CAR) == {"model": codes.STRING, "color": codes.OBJECT}


def test_arrays_of_the_class_too() -> None:
    types = GrowingTypes()
    given: list[dict[str, Any]] = [
        {"model": "m", "color": ["RED"]},
        {"model": "n", "color": None},
        {"model": "o", "color": []},
        {"model": "p"},
    ]
    texts = [as_json(one) for one in given]
    converter = record_converter(cars(f"[L{COLOR};"), types)
    found = converter.convert(consumed(texts))
    assert [bad.row for bad in found.bad] == [0, 2]
    assert all(COLOR in bad.reason for bad in found.bad)
    assert field_codes(types, CAR) == {"model": codes.STRING}
    types.add(COLOR, {}, enum=("RED", "GREEN"))
    found = converter.convert(consumed(texts))
    assert not found.bad
    assert field_codes(types, CAR)["color"] == codes.ENUM_ARRAY
    types = GrowingTypes()
    found = record_converter(cars(f"[L{COLOR};"), types).convert(consumed([as_json({"model": "m", "color": [None, {"rgb": 1}]})]))
    assert not found.bad
    assert field_codes(types, CAR)["color"] == codes.OBJECT_ARRAY


def test_a_column_with_columns_within_is_an_object() -> None:
    fields = (QueryField("model", TEXT), QueryField("color", COLOR), QueryField("color.rgb", TEXT))
    cache = CacheInfo("Cars", 1, query_entities=(QueryEntity(LONG, CAR, fields=fields),))
    types = GrowingTypes()
    assert not record_converter(cache, types).convert(consumed([as_json({"model": "m"})])).bad
    assert field_codes(types, CAR) == {"model": codes.STRING, "color": codes.OBJECT}


@FORMS
def test_not_null_columns_and_keys_need_the_class(rules: ConversionRules, written: Any) -> None:
    types = GrowingTypes()
    found = record_converter(cars(not_null=True), types, rules).convert(consumed(list(map(written, RECORDS))))
    assert len(found.bad) == 3
    fields = (QueryField("id", LONG, is_key=True), QueryField("color", COLOR, is_key=True), QueryField("model", TEXT))
    cache = CacheInfo("Cars", 1, query_entities=(QueryEntity("org.demo.CarKey", CAR, fields=fields),))
    keys = [json.dumps(one).encode() for one in ({"id": 1, "color": "RED"}, {"id": 2, "color": None}, {"id": 3})]
    found = record_converter(cache, types, rules).convert(consumed([written({"model": "m"})] * 3, keys))
    assert [COLOR in bad.reason for bad in found.bad] == [True] * 3, found.bad


def test_a_whole_value_of_the_class_says_what_to_do() -> None:
    types = GrowingTypes()
    cache = CacheInfo("Colors", 1, query_entities=(QueryEntity(LONG, COLOR),))
    (bad,) = record_converter(cache, types).convert(consumed([b'"RED"'])).bad
    assert COLOR in bad.reason
    assert "does not know" in bad.reason
