"""Columns that SQL has of a cache, and fields of their names in records: key columns that a value has too, and paths of nested columns."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, Entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from tests.support.json_forms import FORMS, as_json, field_codes
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter

INT, TEXT = "java.lang.Integer", "java.lang.String"
STAFF = CacheInfo(
    "Staff",
    1,
    query_entities=(
        QueryEntity(
            INT,
            "org.demo.Person",
            key_field="id",
            fields=(QueryField("id", INT, is_key=True), QueryField("name", TEXT), QueryField("age", INT)),
        ),
    ),
)
STAFF2 = CacheInfo(
    "Staff2",
    2,
    query_entities=(
        QueryEntity(
            "org.demo.PersonKey",
            "org.demo.Person2",
            fields=(QueryField("dept", INT, is_key=True), QueryField("id", INT, is_key=True), QueryField("name", TEXT)),
        ),
    ),
)


def reasons(found: Entries) -> list[str]:
    return [bad.reason for bad in found.bad]


@FORMS
@pytest.mark.parametrize("together", [1, 100])
def test_a_key_column_that_the_value_has_too_is_of_its_class(rules: ConversionRules, written: Any, together: int) -> None:
    types = GrowingTypes()
    people = [{"id": row, "name": "a", "age": 30} for row in range(together)]
    found = record_converter(STAFF, types, rules).convert(consumed(list(map(written, people))))
    assert not found.bad
    assert field_codes(types, "org.demo.Person") == {"id": codes.INT, "name": codes.STRING, "age": codes.INT}
    assert [value.fields for _, value in decoded(found, types)] == people
    keys = [as_json({"dept": 1, "id": row}) for row in range(together)]
    values = [{"dept": 1, "id": row, "name": "a"} for row in range(together)]
    found = record_converter(STAFF2, types, rules).convert(consumed(list(map(written, values)), keys))
    assert not found.bad
    assert field_codes(types, "org.demo.Person2") == {"dept": codes.INT, "id": codes.INT, "name": codes.STRING}
    assert [value.fields for _, value in decoded(found, types)] == values


@FORMS
def test_what_its_class_does_not_hold_is_a_bad_record_in_every_task(rules: ConversionRules, written: Any) -> None:
    types = GrowingTypes()
    given = [{"id": 1 << 40, "name": "a"}, {"id": "x", "name": "a"}, {"id": 1, "name": "a"}, {"id": 1 << 40, "name": "b"}]
    for _ in range(2):
        found = record_converter(STAFF, types, rules).convert(consumed(list(map(written, given))))
        assert found.rows.tolist() == [2]
        assert all("field id" in why and INT in why for why in reasons(found)), reasons(found)
    assert field_codes(types, "org.demo.Person")["id"] == codes.INT


@FORMS
def test_the_values_own_metadata_wins(rules: ConversionRules, written: Any) -> None:
    types = GrowingTypes()
    types.add("org.demo.Person", {"id": codes.LONG, "name": codes.STRING, "age": codes.INT})
    found = record_converter(STAFF, types, rules).convert(consumed([written({"id": 1 << 40, "name": "a"})]))
    assert [value.fields["id"] for _, value in decoded(found, types)] == [1 << 40]


@FORMS
def test_a_value_without_the_field_gets_none_and_other_fields_are_learned(rules: ConversionRules, written: Any) -> None:
    types = GrowingTypes()
    found = record_converter(STAFF, types, rules).convert(consumed([written({"name": "a", "more": 7})]))
    assert not found.bad
    assert field_codes(types, "org.demo.Person") == {"name": codes.STRING, "age": codes.INT, "more": codes.LONG}


@FORMS
def test_a_key_that_is_no_listed_column_has_its_own_class(rules: ConversionRules, written: Any) -> None:
    """DDL and annotations may name the key by keyFieldName alone; names have no case."""
    cache = CacheInfo("T", 3, query_entities=(QueryEntity(INT, "V", key_field="ID", fields=(QueryField("NAME", TEXT),)),))
    types = GrowingTypes()
    found = record_converter(cache, types, rules).convert(consumed([written({"id": 1, "name": "a"})]))
    assert not found.bad
    assert {name.lower(): code for name, code in field_codes(types, "V").items()} == {"id": codes.INT, "name": codes.STRING}


CITIES = CacheInfo(
    "Cities",
    4,
    query_entities=(
        QueryEntity(
            INT,
            "Shop",
            fields=(QueryField("name", TEXT), QueryField("address.city", TEXT), QueryField("address.geo.lat", "java.lang.Double")),
        ),
    ),
)


@FORMS
@pytest.mark.parametrize("name", ["address.city", "ADDRESS.City"])
def test_a_flat_field_named_like_a_nested_column_is_a_bad_record(rules: ConversionRules, written: Any, name: str) -> None:
    types = GrowingTypes()
    given = [{"name": "a", name: "Rome"}, {"name": "b", "address": {"city": "Rome"}}, {"name": "c", "address": {"geo.lat": "1"}}]
    found = record_converter(CITIES, types, rules).convert(consumed(list(map(written, given))))
    assert found.rows.tolist() == [1]
    assert all("address.city" in why or "geo.lat" in why for why in reasons(found))
    assert all("SQL reads" in why for why in reasons(found)), reasons(found)
    assert list(field_codes(types, "Shop")) == ["name", "address"]


@FORMS
def test_a_name_with_a_dot_that_is_no_column_is_a_field(rules: ConversionRules, written: Any) -> None:
    types = GrowingTypes()
    found = record_converter(CITIES, types, rules).convert(consumed([written({"name": "a", "address.street": "x", "address.city": None})]))
    assert not found.bad
    assert "address.street" in field_codes(types, "Shop")
