"""Decimals in BASE64 are written at the scale that their reader knows: the declared one."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.convert.rules.decimal_scales import warn_without_scale
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from tests.support import emitted_events
from tests.support.converters import converter
from tests.support.ignite_bytes import NULL, Types, binary, collection, decimal, mapping, number, page, string
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter

DECIMAL = "java.math.BigDecimal"
LONG = number(codes.LONG, 1)


@pytest.fixture(autouse=True)
def _nothing_told() -> Iterator[None]:
    warn_without_scale.cache_clear()
    emitted_events.reset()
    yield
    emitted_events.reset()


def unscaled(text: str) -> int:
    return int.from_bytes(base64.b64decode(text), "big", signed=True)


def table(*fields: QueryField, key: str = "java.lang.Long", value: str = "Price", whole: str | None = None) -> CacheInfo:
    return CacheInfo("prices", 1, query_entities=(QueryEntity(key, value, whole, whole, fields=fields),))


def prices(types: Types, *values: str | None) -> list[tuple[bytes, bytes]]:
    kind = types.add("Price", {"AMOUNT": codes.DECIMAL})
    made = [NULL if value is None else decimal(Decimal(value)) for value in values]
    return [(number(codes.LONG, row), binary(kind, {"AMOUNT": one})) for row, one in enumerate(made)]


def written(cache: CacheInfo, types: Types, entries: list[tuple[bytes, bytes]], form: str = "BASE64") -> list[Any]:
    records = converter("json", decimal_format=form, field_nullability_policy="EAGER").convert([page(entries)], cache, types, in_order=True)
    return [json.loads(value, parse_float=Decimal) for value in records.values.to_pylist()]


AMOUNT = QueryField("amount", DECIMAL, precision=10, scale=2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["12.5"], [1250]),
        (["3", "3.0", "3.00"], [300, 300, 300]),
        (["12.50", None, "-0.01"], [1250, None, -1]),
        (["12.500", "1E+3", "0E+9", "0.0000"], [1250, 100_000, 0, 0]),
        (["9" * 38, "-" + "9" * 38], [(10**38 - 1) * 100, (1 - 10**38) * 100]),
        (["1" * 60 + ".5"], [int("1" * 60 + "50")]),
    ],
)
def test_a_decimal_is_written_at_the_declared_scale(values: list[str | None], expected: list[int | None]) -> None:
    types = Types()
    found = written(table(AMOUNT), types, prices(types, *values))
    assert [None if one["AMOUNT"] is None else unscaled(one["AMOUNT"]) for one in found] == expected
    assert events.DECIMAL_WITHOUT_SCALE.id not in emitted_events.counts()


@pytest.mark.parametrize("value", ["12.345", "0.001", "1E-40000", "1E+999999"])
def test_a_decimal_without_an_exact_form_is_an_error_that_names_it(value: str) -> None:
    types = Types()
    with pytest.raises(UnsupportedType, match=r"field AMOUNT holds .*, of scale -?\d+, .* declared scale 2 .cache prices.*NUMERIC"):
        written(table(AMOUNT), types, prices(types, "1.00", value))


def test_numeric_keeps_each_scale() -> None:
    types = Types()
    found = written(table(AMOUNT), types, prices(types, "12.5", "3", "12.345"), "NUMERIC")
    assert [str(one["AMOUNT"]) for one in found] == ["12.5", "3", "12.345"]


def test_keys_nested_fields_arrays_and_whole_values_have_their_declared_scale() -> None:
    types = Types()
    place = types.add("Place", {"height": codes.DECIMAL})
    key = types.add("Key", {"part": codes.DECIMAL})
    kind = types.add("Price", {"place": codes.OBJECT, "all": codes.DECIMAL_ARRAY})
    array = bytes([codes.DECIMAL_ARRAY]) + (2).to_bytes(4, "little") + decimal(Decimal("1.5")) + NULL
    value = binary(kind, {"place": binary(place, {"height": decimal(Decimal("7"))}), "all": array})
    cache = table(
        QueryField("part", DECIMAL, is_key=True, scale=1),
        QueryField("place.height", DECIMAL, scale=3),
        QueryField("all", f"[L{DECIMAL};", scale=2),
        key="Key",
    )
    records = converter("json").convert([page([(binary(key, {"part": decimal(Decimal("4"))}), value)])], cache, types)
    assert unscaled(json.loads(records.keys[0].as_py())["part"]) == 40
    found = json.loads(records.values[0].as_py())
    assert (unscaled(found["place"]["height"]), unscaled(found["all"][0]), found["all"][1]) == (7000, 150, None)

    whole = table(QueryField("id", DECIMAL, is_key=True, scale=2), key=DECIMAL, value=DECIMAL, whole="ID")
    records = converter("json").convert([page([(decimal(Decimal("12.5")), decimal(Decimal("1")))])], whole, types)
    assert unscaled(json.loads(records.keys[0].as_py())) == 1250


def test_decimals_without_a_scale_are_told_once() -> None:
    types = Types()
    inner = types.add("Inner", {"d": codes.DECIMAL})
    kind = types.add("Free", {"a": codes.DECIMAL, "in": codes.OBJECT, "list": codes.COLLECTION, "map": codes.MAP})
    one = decimal(Decimal("12.5"))
    fields = {"a": one, "in": binary(inner, {"d": one}), "list": collection([one]), "map": mapping([(string("k"), one)])}
    for _ in range(2):
        assert unscaled(written(CacheInfo("free", 1), types, [(LONG, binary(kind, fields)), (one, one)])[0]["a"]) == 125
    assert emitted_events.counts()[events.DECIMAL_WITHOUT_SCALE.id] == 6  # key, value, and four fields

    written(CacheInfo("other", 1), types, [(LONG, one)], "NUMERIC")
    assert emitted_events.counts()[events.DECIMAL_WITHOUT_SCALE.id] == 6


def test_a_column_without_a_scale_is_told_before_the_first_record() -> None:
    types = Types()
    prices(types, "1")
    converter("json", decimal_format="NUMERIC").check(table(QueryField("AMOUNT", DECIMAL)), types)
    converter("json").check(table(AMOUNT), types)
    assert not emitted_events.counts()
    converter("json").check(table(QueryField("AMOUNT", DECIMAL)), types)
    assert emitted_events.counts() == {events.DECIMAL_WITHOUT_SCALE.id: 1}


def test_the_sink_gives_the_value_that_the_source_had() -> None:
    types, cache = GrowingTypes(), table(AMOUNT)
    values = ["12.5", "3", "-0.01", "12.50"]
    entries = prices(types, *values)
    records = converter("json").convert([page(entries)], cache, types, in_order=True)
    found = decoded(record_converter(cache, types).convert(consumed(records.values.to_pylist())), types)
    assert [one.fields["AMOUNT"] for _, one in found] == [Decimal(value) for value in values]


def test_whole_keys_and_fields_of_objects_within_have_their_declared_scale_in_the_sink() -> None:
    types = GrowingTypes()
    fields = (QueryField("ID", DECIMAL, is_key=True, scale=1), QueryField("place.height", DECIMAL, scale=3))
    cache = CacheInfo("prices", 1, query_entities=(QueryEntity(DECIMAL, "Price", "ID", fields=fields),))
    found = record_converter(cache, types).convert(consumed([b'{"place":{"height":"G1g=","name":"a"}}'], [b'"fQ=="']))
    assert not found.bad
    ((key, value),) = decoded(found, types)
    place = value.fields["place"]
    assert (key, place.fields, place.type_name) == (Decimal("12.5"), {"height": Decimal("7.000"), "name": "a"}, "Price.place")
