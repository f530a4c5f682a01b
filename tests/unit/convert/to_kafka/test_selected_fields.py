"""Setting select: records have the named fields in their order, and no other field is decoded."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka.convert import converter
from ignite_kafka.convert.to_kafka.declared_schemas import declared_schemas
from ignite_kafka.convert.to_kafka.selected_fields import SelectedFields
from ignite_kafka.errors import SettingsError, UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import QueryEntity, QueryField
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sql import parse_columns
from tests.support.bad_entries import long
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, decimal, number, page, string, wrapped

TYPES = Types()
TRADE = TYPES.add(
    "Trade", {"price": codes.DOUBLE, "symbol": codes.STRING, "qty": codes.INT, "amount": codes.DECIMAL}, ["qty", "symbol"],
    ["symbol", "price", "amount", "qty"],
)  # fmt: skip
OTHER = TYPES.add("Other", {"n": codes.INT})
ENTITY = QueryEntity("java.lang.Long", "Trade", fields=(QueryField("price", "java.lang.Double"),))
BROKEN = bytes([codes.DECIMAL])  # a code without its number

FULL = wrapped(
    binary(TRADE, {"symbol": string("A"), "price": number(codes.DOUBLE, 2.5), "amount": BROKEN, "qty": number(codes.INT, 7)})
)  # whoever decodes the amount fails
OLD = wrapped(binary(TRADE, {"qty": number(codes.INT, 8), "symbol": string("B")}))


def settings(select: str, **more: Any) -> SourceSettings:
    return SourceSettings.from_dict({"name": "c", "select": select, "topic_prefix": "", **more})


def sent(select: str, *values: bytes, **more: Any) -> list[tuple[Any, Any]]:
    entries = page([(long(at), value) for at, value in enumerate(values)])
    records = converter(settings(select, **more)).convert([entries], more.pop("cache", CACHE), TYPES, in_order=True)
    return [
        (json.loads(key), None if value is None else json.loads(value))
        for key, value in zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True)
    ]


def test_records_have_the_named_fields_in_their_order() -> None:
    found = sent("QTY, price", FULL, OLD)
    assert found == [(0, {"qty": 7, "price": 2.5}), (1, {"qty": 8})]
    assert [list(value) for _, value in found] == [["qty", "price"], ["qty"]]
    assert sent("price, qty", FULL, OLD, field_nullability_policy="EAGER") == [
        (0, {"price": 2.5, "qty": 7}),
        (1, {"price": None, "qty": 8}),
    ]


@pytest.mark.parametrize("policy", ["LAZY", "EAGER"])
def test_schemas_have_the_named_fields_alone(policy: str) -> None:
    config = {"value_converter_config": {"schemas.enable": "true"}, "field_nullability_policy": policy}
    ((_, value),) = sent("symbol, qty", FULL, **config)
    assert [field["field"] for field in value["schema"]["fields"]] == ["symbol", "qty"]
    assert value["payload"] == {"symbol": "A", "qty": 7}


def test_declared_schemas_have_the_named_fields_alone() -> None:
    cache = replace(CACHE, query_entities=(ENTITY,))
    types = SelectedFields(parse_columns("qty, PRICE")).of_types(cache, TYPES)
    (schema,) = declared_schemas(cache, types, key=False)
    assert [field.name for field in schema.fields] == ["qty", "price"]
    assert types.binary_type(OTHER.type_id) is OTHER


def test_fields_get_other_names() -> None:
    assert sent("QTY AS Count, price, qty", FULL, OLD) == [(0, {"Count": 7, "price": 2.5, "qty": 7}), (1, {"Count": 8, "qty": 8})]
    config = {"value_converter_config": {"schemas.enable": "true"}}
    ((_, value),) = sent("symbol AS price, price AS symbol", FULL, **config)
    assert [(field["field"], field["type"]) for field in value["schema"]["fields"]] == [("price", "string"), ("symbol", "double")]
    assert value["payload"] == {"price": "A", "symbol": 2.5}


@pytest.mark.parametrize("schemas", ["true", "false"])
def test_a_renamed_decimal_keeps_its_declared_scale(schemas: str) -> None:
    """Scales are declared by name, and another field may get the name of a decimal field."""
    scaled = tuple(QueryField(name, "java.math.BigDecimal", scale=scale) for name, scale in (("amount", 2), ("fee", 5)))
    cache = replace(CACHE, query_entities=(QueryEntity("java.lang.Long", "Fees", fields=scaled),))
    types = Types()
    fees = types.add("Fees", {"amount": codes.DECIMAL, "fee": codes.DECIMAL})
    value = wrapped(binary(fees, {"amount": decimal(Decimal("1.5")), "fee": decimal(Decimal("2.5"))}))
    made = converter(settings("amount AS fee, fee AS total", value_converter_config={"schemas.enable": schemas}))
    (found,) = made.convert([page([(long(0), value)])], cache, types).values.to_pylist()
    payload = json.loads(found)
    payload = payload["payload"] if schemas == "true" else payload
    unscaled = {name: int.from_bytes(base64.b64decode(text), "big") for name, text in payload.items()}
    assert unscaled == {"fee": 150, "total": 250_000}
    renamed = SelectedFields(parse_columns("amount AS fee, fee AS total"))
    (schema,) = declared_schemas(renamed.of_cache(cache), renamed.of_types(cache, types), key=False)
    assert [(field.name, dict(field.schema.parameters)["scale"]) for field in schema.fields] == [("fee", "2"), ("total", "5")]


def test_fields_that_make_keys_need_not_be_selected() -> None:
    assert sent("price", FULL, record_key=["symbol"]) == [("A", {"price": 2.5})]


def test_removed_entries_have_no_fields() -> None:
    records = converter(settings("price")).convert([page([(long(0), NULL)])], CACHE, TYPES)
    assert records.keys.to_pylist() == [b"0"]


def test_what_has_no_such_field_is_refused() -> None:
    with pytest.raises(UnsupportedType, match=r"select names column pricee, which values do not have \(but amount"):
        sent("price, pricee", FULL)
    with pytest.raises(UnsupportedType, match="values are of type int, which has no fields"):
        sent("price", number(codes.INT, 5))
    cache = replace(CACHE, query_entities=(ENTITY,))
    with pytest.raises(UnsupportedType, match="select names column pricee"):
        converter(settings("pricee")).check(cache, TYPES)
    converter(settings("Price, amount")).check(cache, TYPES)


def test_a_field_of_another_declared_type_is_left_out() -> None:
    cache = replace(CACHE, query_entities=(ENTITY,))
    entries = page([(long(0), wrapped(binary(OTHER, {"n": number(codes.INT, 1)}))), (long(1), FULL)])
    records = converter(settings("price, qty")).convert([entries], cache, TYPES, in_order=True)
    assert [json.loads(value) for value in records.values.to_pylist()] == [{}, {"price": 2.5, "qty": 7}]


def test_whole_values_do_not_have_it() -> None:
    with pytest.raises(SettingsError, match="ignite-binary writes whole values alone"):
        settings("a", value_converter="ignite-binary")


def test_transforms_see_the_selected_fields_alone() -> None:
    renamed = {"type": "org.apache.kafka.connect.transforms.ReplaceField$Value", "renames": "qty:count,amount:total"}
    found = sent("symbol, qty", FULL, OLD, transforms=["rename"], transform_config={"rename": renamed})
    assert found == [(0, {"symbol": "A", "count": 7}), (1, {"symbol": "B", "count": 8})]


def test_transforms_get_times_and_keys_of_fields_that_are_not_selected() -> None:
    types = Types()
    timed = types.add("Timed", {"at": codes.LONG, "id": codes.INT, "n": codes.INT})
    value = wrapped(binary(timed, {"at": long(5_000), "id": number(codes.INT, 4), "n": number(codes.INT, 1)}))
    hoist = {"type": "org.apache.kafka.connect.transforms.HoistField$Value", "field": "v"}
    made = converter(settings("n", transforms=["hoist"], transform_config={"hoist": hoist}, record_key=["id"], record_timestamp_field="at"))
    records = made.convert([page([(long(0), value)])], CACHE, types)
    assert (records.keys.to_pylist(), records.values.to_pylist()) == ([b"4"], [b'{"v":{"n":1}}'])
    assert records.times_ms is not None
    assert records.times_ms.tolist() == [5_000]


def test_names_are_checked_also_where_transforms_make_the_values() -> None:
    hoist = {"type": "org.apache.kafka.connect.transforms.HoistField$Value", "field": "v"}
    cache = replace(CACHE, query_entities=(ENTITY,))
    with pytest.raises(UnsupportedType, match="select names column pricee"):
        converter(settings("pricee", transforms=["hoist"], transform_config={"hoist": hoist})).check(cache, TYPES)
