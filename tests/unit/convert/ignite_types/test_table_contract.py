"""Fields of records without a column: refused, left out or stored, alike for texts and for records with schemas."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.convert.avro.deserializer import AvroDeserializer
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.connect.columns import Deserializer
from ignite_kafka.convert.connect_converters import deserializer
from ignite_kafka.convert.ignite_types.object_types import ObjectTypes
from ignite_kafka.convert.ignite_types.sql_columns import sql_columns
from ignite_kafka.convert.json import read_rows
from ignite_kafka.convert.json.read_rows import RowReader, parse
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.rules.marked_fields import reference
from ignite_kafka.convert.to_ignite import ConversionRules, Entries, RecordConverter, SideRules
from ignite_kafka.ignite.types.model import QueryField
from ignite_kafka.registry.schema import AVRO, Reference, RegistrySchema
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter

TABLE = cache_of({"id": "java.lang.Long", "home.city": "java.lang.String"})
TYPES = {int: "int64", str: "string", float: "double", type(None): "int64"}
PLAIN, SCHEMAS = {"schemas.enable": "false"}, {"schemas.enable": "true"}


def record(properties: dict[str, str], fields: dict[str, Any]) -> bytes:
    if properties is PLAIN:
        return json.dumps(fields).encode()
    return json.dumps({"schema": schema_of(fields), "payload": fields}).encode()


def schema_of(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {"type": TYPES[type(value)], "optional": True}
    return {"type": "struct", "optional": True, "fields": [{"field": name, **schema_of(item)} for name, item in value.items()]}


@pytest.fixture(params=[PLAIN, SCHEMAS], ids=["texts", "schemas"])
def properties(request: pytest.FixtureRequest) -> Any:
    return request.param


def convert(properties: dict[str, str], contract: str, types: GrowingTypes, *values: dict[str, Any]) -> Entries:
    rules = ConversionRules(SideRules("json", PLAIN), SideRules("json", properties), schema_contract=contract)
    converter = record_converter(TABLE, types, rules, topic="t")
    return converter.convert(consumed([record(properties, value) for value in values]))


def fields_of(types: GrowingTypes) -> set[str]:
    return {field.name for kind in types.known.values() if kind.name == "Trade" for field in kind.fields}


@pytest.mark.parametrize("contract", ["freeze", "dead_letter"])
def test_a_record_with_such_a_field_is_bad_and_the_type_does_not_get_it(properties: Any, contract: str) -> None:
    types = GrowingTypes()
    given: list[dict[str, Any]] = [{"id": 1}, {"id": 2, "more": 5}, {"id": 3, "more": None}, {"ID": 4, "home": {"city": "x", "zip": 7}}]
    entries = convert(properties, contract, types, *given)
    (bad,) = entries.bad
    why = f"field more is no column of the SQL table of cache tested, and schema_contract is {contract}"
    assert (bad.row, bad.reason, bad.where) == (1, why, {"part": "value", "schema_contract": contract})
    assert entries.rows.tolist() == [0, 2, 3]
    assert fields_of(types) == {"id", "home"}
    assert dict(decoded(entries, types)[-1][1].fields["home"].fields) == {"city": "x", "zip": 7}, "objects within grow"


def test_a_field_is_left_out_and_named_once(properties: Any) -> None:
    types = GrowingTypes()
    events.take_notes()
    entries = convert(properties, "discard_field", types, {"id": 1, "more": 5}, {"id": 2, "more": 6}, {"id": 3})
    assert [dict(value.fields) for _, value in decoded(entries, types)] == [{"id": number} for number in (1, 2, 3)]
    assert entries.bad == ()
    assert fields_of(types) == {"id"}
    notes = {(number, dict(fields)["field"]) for number, fields in events.take_notes()}
    assert notes == {(events.FIELD_DISCARDED.id, "more")}


def test_names_without_end_are_kept_and_shown_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_rows, "MAX_FIELDS", 3)
    types = GrowingTypes()
    objects = ObjectTypes(types, columns=sql_columns(TABLE, types, "discard_field"))
    rows, trade = RowReader(objects, JsonFormat("BASE64")), reference("", "Trade")
    rows.value(parse(b'{"id":0}'), trade)
    for number in range(9):
        row = rows.value(parse(json.dumps({f"more{number}": 1, "id": number}).encode()), trade)
        assert row == {f"more{number}": None, "id": number}
    assert sorted(rows._members["Trade"]) == ["id", "more0", "more1"]
    events.take_notes()
    rows.value(parse(json.dumps({"line\n" + "x" * 300: 1}).encode()), trade)
    assert {dict(fields)["field"] for _, fields in events.take_notes()} == {r"line\n" + "x" * 195}


def test_a_field_that_the_type_has_already_is_no_column_either(properties: Any) -> None:
    types = GrowingTypes()
    stored = convert(properties, "store", types, {"id": 1, "more": 5})
    assert dict(decoded(stored, types)[0][1].fields) == {"id": 1, "more": 5}
    assert [bad.row for bad in convert(properties, "freeze", types, {"id": 2, "more": 6}, {"id": 3}).bad] == [0]
    entries = convert(properties, "discard_field", types, {"id": 2, "more": 6})
    assert dict(decoded(entries, types)[0][1].fields) == {"id": 2, "more": None}
    grown = replace(
        TABLE,
        query_entities=tuple(
            replace(entity, fields=(*entity.fields, QueryField("MORE", "java.lang.Long"))) for entity in TABLE.query_entities
        ),
    )
    rules = ConversionRules(SideRules("json", PLAIN), SideRules("json", properties), schema_contract="freeze")
    taken = record_converter(grown, types, rules, topic="t").convert(consumed([record(properties, {"id": 4, "more": 8})]))
    assert (taken.bad, dict(decoded(taken, types)[0][1].fields)) == ((), {"id": 4, "more": 8})


_FIELDS = [{"name": "id", "type": "long"}, {"name": "more", "type": ["null", "long"]}]


class Registry:
    """A registry with two versions of a schema: the second one has a new field."""

    def schema(self, id: int, subject: str | None = None) -> RegistrySchema:
        return RegistrySchema(json.dumps({"type": "record", "name": "Trade", "fields": _FIELDS[:id]}), AVRO)

    def referenced(self, reference: Reference) -> RegistrySchema:
        raise AssertionError(reference)


def test_a_new_version_of_an_avro_schema_is_judged_by_its_values() -> None:
    def reader(side: str, of_side: SideRules) -> Deserializer | None:
        return AvroDeserializer(Registry(), AvroOptions()) if side == "value" else deserializer(side, of_side)

    values: list[bytes | None] = [b"\0\0\0\0\1\2", b"\0\0\0\0\2\4\0", b"\0\0\0\0\2\6\2\10"]  # ids 1 to 3; more is absent, null, 4
    results = {}
    for contract in ("store", "freeze", "discard_field"):
        types = GrowingTypes()
        rules = ConversionRules(SideRules("json", PLAIN), SideRules("avro"), schema_contract=contract)
        entries = RecordConverter(TABLE, types, rules, deserializers=reader, topic="t").convert(consumed(values))
        results[contract] = [bad.row for bad in entries.bad], fields_of(types)
    assert results == {"store": ([], {"id", "more"}), "freeze": ([2], {"id"}), "discard_field": ([], {"id"})}
