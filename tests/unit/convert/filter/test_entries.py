"""Filters of entries: columns of keys and values, several types, wrong names, functions of the user."""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ignite_kafka import events, filter_function
from ignite_kafka.convert.filter import Filters, check_conditions, entry_filter
from ignite_kafka.convert.filter.entries import EntryFilter
from ignite_kafka.convert.filter.failed_rows import decide_each_row
from ignite_kafka.errors import ConditionFailed, DecodeError, ProgramFault, SettingsError, UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.settings.source import SourceSettings
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, decimal, number, page, string, wrapped

TYPES = Types()
KEY = TYPES.add("Key", {"id": codes.INT, "zone": codes.STRING})
TRADE = TYPES.add("Trade", {"price": codes.DOUBLE, "symbol": codes.STRING, "amount": codes.DECIMAL})
OTHER = TYPES.add("Other", {"n": codes.INT})


def key(at: int, zone: str = "eu") -> bytes:
    return wrapped(binary(KEY, {"id": number(codes.INT, at), "zone": string(zone)}))


def trade(price: float | None, symbol: str = "A", amount: bytes = NULL) -> bytes:
    fields = {"price": NULL if price is None else number(codes.DOUBLE, price), "symbol": string(symbol), "amount": amount}
    return wrapped(binary(TRADE, fields))


ENTRIES = [(key(1), trade(5.0)), (key(2, "us"), trade(15.0, "B")), (key(3), trade(None)), (key(4), trade(25.0, "B"))]


def kept(where: str, entries: list[tuple[bytes, bytes]] = ENTRIES, cache: CacheInfo = CACHE) -> list[bool]:
    found, errors = EntryFilter(where).of_pages([page(entries)], cache, TYPES)
    for _, error in sorted(errors.items()):
        raise error
    return list(found.tolist())


def test_fields_of_values_and_keys_are_columns_whatever_their_case() -> None:
    assert kept("price > 10") == [False, True, False, True]
    assert kept("PRICE > 10e0 AND _key.ID > 2") == [False, False, False, True]
    assert kept("_KEY.zone = 'us'") == [False, True, False, False]
    assert kept("price IS NULL OR symbol = 'A'") == [True, False, True, False]
    assert kept("_type = 'Trade' AND _key IS NOT NULL") == [True] * 4


def test_plain_keys_and_values_are_columns() -> None:
    entries = [(number(codes.LONG, at), number(codes.INT, at * at)) for at in range(4)]
    assert kept("_key = 3 OR _value = 1", entries) == [False, True, False, True]


def test_only_the_needed_fields_are_decoded() -> None:
    entries = [(key(1), trade(5.0, amount=bytes([codes.DECIMAL])))]  # a code without its number
    assert kept("price = 5e0", entries) == [True]
    with pytest.raises(DecodeError, match="BigDecimal"):
        kept("amount IS NULL", entries)


def test_decimals_of_any_scale_are_compared_exactly() -> None:
    amounts = [decimal(Decimal(text)) for text in ("1.5", "1.50", "1.51")]
    assert kept("amount = 1.5", [(key(1), trade(1.0, amount=one)) for one in amounts]) == [True, True, False]
    assert kept("amount > 1 AND 2 >= amount", [(key(1), trade(1.0, amount=one)) for one in amounts]) == [True] * 3


def test_a_column_that_no_type_has_is_a_wrong_name_and_not_null() -> None:
    with pytest.raises(UnsupportedType, match=r"names column pricee, which values do not have \(but amount, price, symbol\)"):
        kept("pricee IS NULL")
    with pytest.raises(UnsupportedType, match="column _key has no field idd"):
        kept("_key.idd = 1")
    with pytest.raises(UnsupportedType, match="names column _value"):
        kept("_value = 1")


def test_a_field_of_another_declared_type_is_null() -> None:
    entity = QueryEntity("Key", "Trade", fields=(QueryField("price", "java.lang.Double"),))
    cache = replace(CACHE, query_entities=(entity,))
    entries = [*ENTRIES, (key(5), wrapped(binary(OTHER, {"n": number(codes.INT, 1)})))]
    assert kept("price > 10 OR price IS NULL", entries, cache) == [False, True, True, True, True]


def test_a_declared_cache_is_checked_before_its_first_entry() -> None:
    entity = QueryEntity("java.lang.Long", "Trade", fields=(QueryField("price", "java.lang.Double"),))
    cache = replace(CACHE, query_entities=(entity,))
    EntryFilter("price > 1 AND SYMBOL = 'A' AND _key = 1").check(cache, TYPES)
    EntryFilter("anything > 1").check(CACHE, TYPES)
    with pytest.raises(UnsupportedType, match="names column pric,"):
        EntryFilter("pric > 1").check(cache, TYPES)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("price = '5'", "is compared with a STRING"), ("at = DATE '2024-01-01'", "is compared with a DATE"),
        ("_key = 'x'", "is compared with a STRING"), ("1.555 = amount", "1.555 has 1 digits and 3 behind the point; column amount has 36"),
        ("amount IN (1.5, 1.55, 1.555)", "3 behind the point"), ("fine < _key", "_key has 20 digits"), ("fine < 123456789", "has 9 digits"),
        ("symbol", "a BOOLEAN is due"), ("amount = other", "which Spark may round"), ("NOT (price LIKE 'x')", "LIKE compares STRINGs"),
    ],
)  # fmt: skip
def test_declared_types_are_checked_before_the_first_entry(where: str, why: str) -> None:
    scaled = tuple(QueryField(name, "java.math.BigDecimal", scale=scale) for name, scale in (("amount", 2), ("other", 2), ("fine", 30)))
    named = {"price": "java.lang.Double", "symbol": "java.lang.String", "at": "java.sql.Timestamp", "day": "java.sql.Date"}
    plain = tuple(QueryField(name, kind) for name, kind in named.items())
    cache = replace(CACHE, query_entities=(QueryEntity("java.lang.Long", "Unwritten", fields=(*scaled, *plain)),))
    good = "amount < 1.55 AND amount IN (1, 2) AND amount < _key AND fine > 12345678 AND price > 1.555 AND symbol LIKE 'a' AND _key = 1"
    EntryFilter(f"{good} AND day = DATE '2024-01-01' AND at > TIMESTAMP '2024-01-01 00:00:00Z' AND _type = 'Unwritten'").check(cache, TYPES)
    with pytest.raises(UnsupportedType, match=why) as caught:
        EntryFilter(where).check(cache, TYPES)
    assert caught.value.where["cache"] == "tested"


@pytest.mark.parametrize("where", ["price = '5'", "symbol > 1", "symbol", "price LIKE 'x'", "_key = 1", "amount = price"])
def test_types_that_spark_would_convert_are_refused(where: str) -> None:
    with pytest.raises(UnsupportedType, match="tested"):
        kept(where, [(key(1), trade(5.0, amount=decimal(Decimal("1.5"))))])


def test_expressions_are_columns_of_an_entry() -> None:
    assert kept("price * 2 - 1 > 20 AND upper(symbol) || '!' = 'B!'") == [False, True, False, True]
    assert kept("coalesce(price, 0D) = 0 OR CAST(_key.id AS STRING) = '4'") == [False, False, True, True]
    assert kept("_key.id % 2 = 0 AND substring(_key.zone, -2, 1) = 'u'") == [False, True, False, False]


def test_the_year_of_a_far_date_is_an_error() -> None:
    """Arrow's calendar ends before Spark's."""
    assert kept("date_add(DATE '2024-01-31', _key.id * 2000000) > DATE '9999-12-31'") == [False, True, True, True]
    for function in ("year({}) > 0", "CAST({} AS STRING) > ''"):
        where = function.format("date_add(DATE '2024-01-31', _key.id * 2000000)")
        assert kept(f"_key.id = 1 AND {where}") == [True, False, False, False]
        with pytest.raises(ConditionFailed, match="another year than 0 to 9999"):
            kept(where)


def sure(batch: pa.RecordBatch) -> list[bool]:
    assert batch.num_rows == 1
    return [True]


def test_an_entry_without_a_result_is_an_error() -> None:
    """Errors in operands that Spark does not evaluate do not count."""
    with pytest.raises(ConditionFailed, match="division by zero") as caught:
        kept("1 / (price - 5) > 0")
    assert caught.value.where["cache"] == "tested"
    entries = [(key(at), trade(price)) for at, price in enumerate((5.0, 1e300, 7.0, None))]
    found, errors = EntryFilter("CAST(price AS INT) % CAST(price - 5 AS INT) = 1", sure).of_pages([page(entries)], CACHE, TYPES)
    assert (found.tolist(), {row: str(error).count("division by zero") for row, error in errors.items()}) == (
        [False, False, True, False], {0: 1, 1: 0},
    )  # fmt: skip
    assert kept("price > 5 AND 1 / (price - 5) > 0") == [False, True, False, True]
    assert kept("price IS NULL OR price = 5 OR 1 / (price - 5) > 0") == [True] * 4


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("price + amount > 1", "amount of type DECIMAL, and a whole number or a float is due"), ("lower(price) = 'a'", "a STRING is due"),
        ("price + 1.5 > 1", "Write constants with D"), ("CAST(symbol AS DOUBLE) > 1", "from STRING to DOUBLE is not supported"),
        ("CAST(price AS STRING) = '1'", "from DOUBLE to STRING is not"), ("substring(symbol, 1L) = 'A'", "a INT is due"),
        ("year(symbol) = 1", "a DATE is due"), ("coalesce(price, _key) > 1", "arguments of several types"),
        ("amount > _key + 1", "may round"),
    ],
)  # fmt: skip
def test_types_of_expressions_are_checked_before_the_first_entry(where: str, why: str) -> None:
    named = {"price": "java.lang.Double", "symbol": "java.lang.String", "amount": "java.math.BigDecimal"}
    fields = tuple(QueryField(name, kind, scale=2) for name, kind in named.items())
    cache = replace(CACHE, query_entities=(QueryEntity("java.lang.Long", "Unwritten", fields=fields),))
    EntryFilter("price / 2 > _key AND length(trim(symbol)) > 1 AND amount > 1").check(cache, TYPES)
    with pytest.raises(UnsupportedType, match=why):
        EntryFilter(where).check(cache, TYPES)


@pytest.mark.parametrize("where", ["a > 1 / 0", "a = 1 AND CAST('x' AS INT) = 1", "a + 2147483647 + (2147483647 + 1) > 1", "'a' || 1 = a"])
def test_constants_without_a_value_are_found_without_a_cluster(where: str) -> None:
    """Spark evaluates constants whatever the entries are."""
    check_conditions(SourceSettings(name="c", where="try_cast('x' AS INT) IS NULL AND a > 1 / 2 AND a + 1 > 2147483647"))
    for given in ({"where": where}, {"overrides": {"a": {"where": where}}}):
        with pytest.raises(SettingsError, match="where is wrong"):
            check_conditions(SourceSettings.from_dict({"name": "c", **given}))


def test_arrays_are_filtered_like_pages() -> None:
    keys = pa.array([one[5:-4] for one, _ in ENTRIES], pa.binary())
    values = pa.array([one[5:-4] for _, one in ENTRIES], pa.binary())
    found = EntryFilter("price > 10 AND _offset < 13").of_arrays(keys, values, CACHE, TYPES, {"_offset": pa.array([10, 11, 12, 13])})
    assert found[0].tolist() == [False, True, False, False]
    assert EntryFilter("symbol = 'B'").of_arrays(keys[1:3], values[1:3], CACHE, TYPES)[0].tolist() == [True, False]


def of_function(found: Any) -> list[bool]:
    return list(EntryFilter("price > 10", lambda batch: found(batch)).of_pages([page(ENTRIES)], CACHE, TYPES)[0].tolist())


def test_a_function_gets_what_meets_the_condition() -> None:
    seen: list[pa.RecordBatch] = []

    def by_zone(batch: pa.RecordBatch) -> pa.Array:
        seen.append(batch)
        return pc.equal(pc.struct_field(batch["_key"], "zone"), "us")

    assert of_function(by_zone) == [False, True, False, False]
    assert (seen[0].schema.names, seen[0]["price"].to_pylist()) == (["_key", "price", "symbol", "amount", "_type"], [15.0, 25.0])
    assert of_function(lambda batch: [None, True]) == [False, False, False, True]
    assert of_function(lambda batch: np.array([True, False])) == [False, True, False, False]


@pytest.mark.parametrize(
    ("found", "why"),
    [(lambda batch: 1 / 0, "ZeroDivisionError"), (lambda batch: [True], "1 values"), (lambda batch: batch["price"], "type double")],
)
def test_a_function_that_fails_is_named(found: Any, why: str) -> None:
    with pytest.raises(ProgramFault, match=why):
        of_function(found)


def test_settings_choose_the_filter_of_each_cache(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    module = ModuleType("acme_filters")
    rich_ones = filter_function(lambda batch: pc.greater(batch["price"], 10))
    module.__dict__.update(rich=rich_ones, number=1, unmarked=lambda batch: [True])
    monkeypatch.setitem(sys.modules, "acme_filters", module)
    settings = SourceSettings.from_dict({"name": "c", "overrides": {"rich": {"filter": "acme_filters:rich"}, "b.*": {"where": "n = 1"}}})
    filters = Filters(settings)
    assert filters.of("plain") is None
    assert filters.of("b1") is filters.of("b2") is not None
    rich = filters.of("rich")
    assert rich is not None
    assert rich.of_pages([page(ENTRIES)], CACHE, TYPES)[0].tolist() == [False, True, False, True]
    for name, why in (
        ("acme_filters:number", "no filter function"),
        ("acme_filters:unmarked", "no filter function"),
        ("os:system", "no filter function"),
        ("acme_filters:gone", "cannot be imported"),
        ("no_such:f", "cannot be"),
    ):
        with pytest.raises(SettingsError, match=why) as caught:
            entry_filter(SourceSettings(name="c", filter=name), "cache")
        assert caught.value.where["setting"] == "filter"
        assert caplog.records[-1].__dict__["event_id"] == events.FILTER_NOT_MADE.id


@pytest.mark.parametrize(
    ("name", "value", "why"), [("where", "initcap(a) = 'x'", "function initcap"), ("filter", "no function", "another form")]
)
def test_wrong_filters_are_found_when_settings_are_checked(name: str, value: str, why: str) -> None:
    for given in ({name: value}, {"overrides": {"a": {name: value}}}):
        with pytest.raises(SettingsError, match=why) as caught:
            SourceSettings.from_dict({"name": "c", **given})
        assert caught.value.where["setting"] == name


def test_rows_that_fail_do_not_fail_the_others() -> None:
    def evaluate(first: int, last: int) -> Any:
        if first <= 5 < last:
            raise UnsupportedType("five")
        return np.arange(first, last) % 2 == 0, {row - first: ConditionFailed("seven") for row in (7,) if first <= row < last}

    found, errors = decide_each_row(9, evaluate)
    assert found.tolist() == [True, False, True, False, True, False, True, False, True]
    assert {row: error.what for row, error in errors.items()} == {5: "five", 7: "seven"}
