"""Envelopes of Kafka Connect are bad records that name the remedy; data that looks like one is data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, Stage
from ignite_kafka.convert.to_ignite.conversion_rules import SideRules
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.settings.converters import parse_properties
from tests.support.to_ignite_records import TRADE, GrowingTypes, cache_of, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
STRUCT = {"type": "struct", "fields": [{"type": "int64", "optional": False, "field": "id"}], "optional": False, "name": "Trade"}
ENVELOPES: list[Any] = [
    {"schema": STRUCT, "payload": {"id": 1}},
    {"payload": {"id": 1}, "schema": STRUCT},
    {"schema": {"type": "int64", "optional": False}, "payload": 1},
    {"schema": None, "payload": {"id": 1}},
    {"schema": {"type": "string", "optional": True}, "payload": None},
]
DATA: list[Any] = [
    {"schema": "public", "payload": "x"},
    {"schema": {"version": 1}, "payload": "x"},
    {"schema": {"type": "int64"}, "payload": 1, "id": 1},
    {"schema": {"type": "int64"}},
    {"id": 1, "inner": {"schema": {"type": "int64"}, "payload": 1}},
]


def written(item: Any) -> list[bytes]:
    return [json.dumps(item).encode(), json.dumps(item, indent=1).encode(), b" " + json.dumps(item, separators=(",", ":")).encode()]


@pytest.mark.parametrize("cache", [FREE, cache_of(TRADE)], ids=["free", "declared"])
@pytest.mark.parametrize("item", ENVELOPES, ids=str)
def test_a_value_in_an_envelope_is_a_bad_record_and_teaches_nothing(item: Any, cache: CacheInfo) -> None:
    types = GrowingTypes()
    good = [b'{"id":1}'] * 40
    found = record_converter(cache, types).convert(consumed([*good, *written(item), *good]))
    assert [bad.row for bad in found.bad] == [40, 41, 42]
    for bad in found.bad:
        assert bad.stage == Stage.PUT
        assert "set schemas.enable to true, or to auto where other records are plain, in value_converter_config" in bad.reason
        assert "(value.converter.schemas.enable in a file of Kafka Connect)" in bad.reason
    assert len(decoded(found, types)) == 80
    assert not {"schema", "payload"} & {one.name for kind in types.known.values() for one in kind.fields}


@pytest.mark.parametrize("item", ENVELOPES, ids=str)
def test_a_key_in_an_envelope_is_a_bad_record(item: Any) -> None:
    found = record_converter(FREE, GrowingTypes()).convert(consumed([b'{"id":1}'] * 3, written(item)))
    assert [(bad.stage, "key.converter.schemas.enable" in bad.reason) for bad in found.bad] == [(Stage.PUT, True)] * 3
    assert not len(found)


def test_fields_that_make_the_key_are_not_looked_for_in_an_envelope() -> None:
    rules = ConversionRules(key_policy="value", key_fields=("id",))
    found = record_converter(FREE, GrowingTypes(), rules).convert(consumed(written(ENVELOPES[0])))
    assert all("value.converter.schemas.enable" in bad.reason for bad in found.bad)
    assert len(found.bad) == 3


@pytest.mark.parametrize("item", DATA, ids=str)
def test_data_that_looks_like_an_envelope_is_stored(item: Any) -> None:
    found = record_converter(FREE, GrowingTypes()).convert(consumed(written(item)))
    assert (len(found), found.bad) == (3, ())


PLAIN = [b'{"id":1}', b'{"id":2,"schema":5}']
CONFIGS = [{"schemas.enable": "auto"}, {"schemas.enable": "true"}]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_sink_that_is_told_so_reads_envelopes(config: dict[str, str]) -> None:
    side = SideRules(properties=parse_properties("", "json", config))
    item, types = {"schema": STRUCT, "payload": {"id": 7}}, GrowingTypes()
    number = {"schema": {"type": "int32", "optional": False}, "payload": 5}
    found = record_converter(FREE, types, ConversionRules(key=side, value=side)).convert(consumed(written(item), written(number)))
    assert not found.bad
    assert [(key, value.fields) for key, value in decoded(found, types)] == [(5, {"id": 7})] * 3


def test_auto_reads_plain_records_and_envelopes_and_true_envelopes_only() -> None:
    both, only = (ConversionRules(value=SideRules(properties=parse_properties("", "json", config))) for config in CONFIGS)
    records = [*PLAIN, *written(ENVELOPES[0])]
    types = GrowingTypes()
    found = record_converter(FREE, types, both).convert(consumed(records))
    assert not found.bad
    assert [value.fields["id"] for _, value in decoded(found, types)] == [1, 2, 1, 1, 1]
    found = record_converter(FREE, GrowingTypes(), only).convert(consumed(records))
    assert [(bad.row, bad.stage, "auto reads both" in bad.reason) for bad in found.bad] == [(0, Stage.VALUE, True), (1, Stage.VALUE, True)]


def test_columns_of_these_names_are_data() -> None:
    types, fields = GrowingTypes(), ("SCHEMA", "PAYLOAD")
    cache = replace(
        FREE, query_entities=(QueryEntity("Key", "Row", fields=tuple(QueryField(name, "java.lang.String") for name in fields)),)
    )
    found = record_converter(cache, types).convert(consumed([b'{"schema":null,"payload":"x"}'] * 2, [b'{"k":1}'] * 2))
    assert not found.bad
    assert decoded(found, types)[0][1].fields == {"SCHEMA": None, "PAYLOAD": "x"}
    bad = record_converter(cache, types).convert(consumed([b'{"schema":null,"payload":"x"}'], [b'{"schema":null,"payload":1}'])).bad
    assert [(one.stage, one.where) for one in bad] == [(Stage.PUT, {"part": "key"})]
