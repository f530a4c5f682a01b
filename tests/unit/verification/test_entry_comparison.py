"""A copy is judged by a reader of its own: what the columns write is found equal, in every form that the settings give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka import convert
from ignite_kafka.errors import DecodeError, TransformFailed, UnknownBinaryType, UnsupportedType
from ignite_kafka.ignite.binary import decode_rows
from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.registry import registries
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.entry_reader import EntryReader
from tests.support.bad_entries import OF_UNKNOWN_TYPE, long
from tests.support.ignite_bytes import CACHE, Types, binary, decimal, enum, number, page, string
from tests.support.registry import memory_registry
from tools.compare_topics import compare

DECIMALS = [
    Decimal(text) for text in ("1E+5", "-1E+5", "1.50", "1.5", "5", "-0.25", "0.00", "12345678901234567890.123456789", "0E+3", "2.00")
]


@dataclass
class OneCache(Types):
    """A cluster of one cache."""

    info: CacheInfo = field(default=CACHE)

    def cache(self, name: str) -> CacheInfo:
        return self.info


def copied(
    types: OneCache,
    entries: Sequence[tuple[bytes, bytes]],
    changed: bytes = b"",
    key: bytes = b"",
    more: Sequence[tuple[bytes, bytes | None]] = (),
    decode: Callable[..., Iterable[tuple[Any, Any]]] = decode_rows,
    **settings: Any,
) -> PairDifferences:
    """The verdict about a topic that has what the columns make of the entries, and `more`; `changed` and `key` are of the first record."""
    plan = TransferPlan("c", "s", 0, 1, SourceSettings(name="c", **settings), (CachePlan(CACHE.name, 1, "t", 1, 1),))
    chosen = convert.converter(plan.settings)
    pages = [page(entries, 0)]
    records = chosen.convert(pages, types.info, cast(Any, types))
    keys, values = records.keys.to_pylist(), records.values.to_pylist()
    values[:1] = [changed or values[0]]
    messages = [
        SimpleNamespace(key=lambda key=key: key, value=lambda value=value: value)
        for key, value in [*zip([key or keys[0], *keys[1:]], values, strict=True), *more]
    ]
    return compare(plan, plan.caches[0], cast(Any, types), cast(Any, messages), pages, decode)


def is_equal(found: PairDifferences, count: int) -> None:
    assert (found.equal, found.entries, found.records, found.repeated) == (True, count, count, 0), found


@pytest.mark.parametrize("name", ["Color", "org.example.Color", "org.example.Paint$Color"])
@pytest.mark.parametrize("policy", ["ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME"])
def test_enums_in_keys_and_values(policy: str, name: str) -> None:
    types = OneCache()
    color = types.add(name, {}, enum=("RED", "BLUE"))
    car = types.add("Car", {"color": codes.ENUM})
    red, blue = (enum(EnumValue(color.type_id, ordinal, "")) for ordinal in (0, 1))
    entries = [(red, binary(car, {"color": blue})), (blue, binary(car, {"color": red}))]
    is_equal(copied(types, entries, enum_policy=policy), 2)
    wrong = copied(types, entries, b'{"color":"GREEN"}', enum_policy=policy)
    assert (wrong.different, wrong.missing, wrong.unexpected) == (1, 0, 0)


@pytest.mark.parametrize("decimal_format", ["BASE64", "NUMERIC"])
def test_decimals_of_any_scale(decimal_format: str) -> None:
    entries = [(long(row), decimal(value)) for row, value in enumerate(DECIMALS)]
    is_equal(copied(OneCache(), entries, decimal_format=decimal_format), len(DECIMALS))

    assert copied(OneCache(), entries, b"7", decimal_format=decimal_format).different == 1


def test_decimals_of_a_declared_scale() -> None:
    columns = (QueryField("ID", "java.math.BigDecimal", is_key=True, scale=1), QueryField("IN.D", "java.math.BigDecimal", scale=2))
    types = OneCache(info=replace(CACHE, query_entities=(QueryEntity("Key", "Price", fields=columns),)))
    key, price, inner = (
        types.add("Key", {"ID": codes.DECIMAL}),
        types.add("Price", {"IN": codes.OBJECT}),
        types.add("In", {"D": codes.DECIMAL}),
    )
    entries = [
        (binary(key, {"ID": decimal(Decimal(row))}), binary(price, {"IN": binary(inner, {"D": decimal(value)})}))
        for row, value in enumerate(map(Decimal, ("12.5", "3", "-0.010", "1E+3")))
    ]
    is_equal(copied(types, entries), 4)
    as_it_was_written_before = b'{"IN":{"D":"fQ=="}}'  # 12.5 at its own scale
    assert copied(types, entries, as_it_was_written_before).different == 1


def test_decimals_beside_floats() -> None:
    types = OneCache()
    kind = types.add("Price", {"price": codes.DECIMAL, "rate": codes.DOUBLE})
    value = binary(kind, {"price": decimal(Decimal("5")), "rate": number(codes.DOUBLE, 0.1)})
    is_equal(copied(types, [(long(1), value)], decimal_format="NUMERIC"), 1)


def test_keys_that_are_numbers() -> None:
    decimals = [(decimal(value), long(1)) for value in DECIMALS]
    is_equal(copied(OneCache(), decimals, decimal_format="NUMERIC"), len(DECIMALS))
    floats = [(number(codes.DOUBLE, value), long(1)) for value in (0.1, 5.0, 1e15, 1e16, 1e5, 1e300, 5e-324, -1.5, 0.0)]
    is_equal(copied(OneCache(), floats), len(floats))


ORDER_KEY = {"shop": codes.LONG, "id": codes.LONG, "line": codes.LONG}


def order(types: OneCache, *names: str) -> bytes:
    return binary(types.known[java_hash("orderkey")], {name: long(at) for at, name in enumerate(names)})


def test_keys_are_compared_by_their_bytes() -> None:
    types = OneCache()
    types.add("OrderKey", ORDER_KEY, ["shop", "id"], list(ORDER_KEY))
    entries = [(order(types, "shop", "id"), long(1))]
    is_equal(copied(types, entries), 1)
    for other in (b'{"id":1,"shop":0}', b'{"shop":0,"id":1,"line":null}', b'{"id":1,"line":null,"shop":0}'):
        found = copied(types, entries, key=other)
        assert (found.missing, found.unexpected, found.other_bytes, found.equal) == (1, 1, 1, False)
        assert "in other bytes" in found.differences
        assert "send the cache to a new topic" in found.differences
        both = copied(types, entries, more=[(other, b"1")])
        assert (both.missing, both.unexpected, both.other_bytes, both.equal) == (0, 1, 1, False), "beside the right one"
    assert copied(types, entries, key=b'{"id":2,"shop":0}').other_bytes == 0
    gone = copied(types, entries, more=[(b'{"id":1,"shop":0}', b"1"), (b'{"id":1,"shop":0}', None)])
    assert (gone.equal, gone.unexpected) == (True, 0), "its tombstone is the last"


def test_two_entries_of_one_kafka_key() -> None:
    found = copied(OneCache(), [(number(codes.BYTE, 1), long(5)), (long(1), long(5))])
    assert (found.equal, found.missing) == (False, 1)
    assert "two entries have the same Kafka key '1'" in found.differences


def test_a_key_that_the_two_decoders_read_differently_is_an_error() -> None:
    with pytest.raises(DecodeError, match="the columns make the key '1' of an entry, the rows 7"):
        copied(OneCache(), [(long(1), long(1))], decode=lambda *_: [(7, 1)])


COLOR_FIELDS = {"color": codes.ENUM, "price": codes.DECIMAL, "label": codes.STRING, "rate": codes.FLOAT}
SIDES: list[tuple[str, dict[str, Any]]] = [
    ("json", {}),
    ("ignite-binary", {"key_converter": "json"}),
    ("json", {"key_converter": "ignite-binary"}),
    ("json", {"value_converter_config": {"schemas.enable": "true"}}),
    ("json", {"value_converter_config": {"schemas.enable": "true", "decimal.format": "NUMERIC"}, "field_nullability_policy": "EAGER"}),
    ("json", {"key_converter_config": {"schemas.enable": "true"}, "enum_policy": "ORDINAL"}),
]
"""Converters of values, and more settings."""


@pytest.mark.parametrize(("name", "more"), SIDES)
def test_sides_of_several_converters(name: str, more: dict[str, Any]) -> None:
    """Each side is compared in its own form, and a changed value is found in each."""
    types = OneCache()
    color = types.add("Color", {}, enum=("RED", "BLUE"))
    kind = types.add("Car", COLOR_FIELDS)
    price, rate = decimal(Decimal("2.50")), number(codes.FLOAT, 0.1)
    fields = {"color": enum(EnumValue(color.type_id, 1, "")), "price": price, "label": bytes([codes.NULL]), "rate": rate}
    entries = [(string("a"), binary(kind, fields)), (string("b"), binary(kind, fields | {"label": string("x")}))]
    settings = {"key_converter": name, "value_converter": name} | more
    is_equal(copied(types, entries, **settings), 2)
    assert copied(types, entries, b"other" if name == "ignite-binary" else b"1", **settings).different == 1
    assert copied(types, entries, key=b"other", **settings).missing == 1


OLDER = {"label": codes.STRING, "rate": codes.LONG}


@pytest.mark.parametrize("record_key", [(), ("rate",), ("rate", "label")])
@pytest.mark.parametrize("name", ["json", "with schemas", "avro", "json-schema"])
def test_records_of_before_a_class_got_a_field_are_equal(name: str, record_key: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Under EAGER an entry now has the field as null; the record of before has the class's older schema."""
    memory = memory_registry()
    monkeypatch.setattr(registries, "registry_of", lambda *_: memory)
    converter = {"value_converter": "json" if name == "with schemas" else name}
    config = {} if name == "json" else {"schemas.enable": "true"} if name == "with schemas" else {"schema.registry.url": "http://127.0.0.1"}
    settings: dict[str, Any] = {**converter, "value_converter_config": config, "field_nullability_policy": "EAGER"}
    settings["record_key"] = record_key
    chosen = convert.converter(SourceSettings(name="c", **settings))

    def record(label: str, rate: int) -> bytes:
        types = OneCache()
        kind = types.add("Car", OLDER, ["label", "rate"])
        entry = binary(kind, {"label": string(label), "rate": long(rate)})
        written: bytes = chosen.convert([page([(long(1), entry)], 0)], types.info, cast(Any, types), topic="t").values[0].as_py()
        return written

    types = OneCache()
    kind = types.add("Car", {**OLDER, "note": codes.STRING}, ["label", "rate"], ["label", "rate", "note"])
    fields = {"label": string("a"), "rate": long(7)}
    is_equal(copied(types, [(long(1), binary(kind, fields))], record("a", 7), **settings), 1)
    assert copied(types, [(long(1), binary(kind, fields))], record("a", 8), **settings).different == 1
    assert copied(types, [(long(1), binary(kind, fields))], b"\0\0\0\0\x63?", **settings).different == 1, "cannot be read"
    noted = binary(kind, {**fields, "note": string("new")})
    assert copied(types, [(long(1), noted)], record("a", 7), **settings).different == 1


@pytest.mark.parametrize("schemas", ["false", "true"])
def test_values_in_json_are_compared_with_rows_whatever_makes_the_keys(schemas: str) -> None:
    types = OneCache()
    kind = types.add("Car", OLDER)
    entries = [(long(1), binary(kind, {"label": string("a"), "rate": long(7)}))]
    settings: dict[str, Any] = {"record_key": ("rate",), "value_converter_config": {"schemas.enable": schemas}}

    def other_rows(*given: Any) -> Iterable[tuple[Any, Any]]:
        return ((key, replace(value, fields={**value.fields, "rate": 8})) for key, value in decode_rows(*given))

    is_equal(copied(types, entries, **settings), 1)
    assert copied(types, entries, decode=other_rows, **settings).different == 1


def test_transformed_records_are_compared_with_what_the_transforms_make() -> None:
    types = OneCache()
    point = types.add("Point", {"x": codes.LONG, "name": codes.STRING})
    entries = [(long(row), binary(point, {"x": long(row), "name": string("n")})) for row in range(3)]
    package = "org.apache.kafka.connect.transforms."
    config = {
        "drop": {"type": f"{package}ReplaceField$Value", "exclude": "name"},
        "wrap": {"type": f"{package}HoistField$Key", "field": "id"},
        "route": {"type": f"{package}RegexRouter", "regex": ".*", "replacement": "t"},
    }
    transforms: dict[str, Any] = {"transforms": tuple(config), "transform_config": config}
    is_equal(copied(types, entries, **transforms), 3)
    assert copied(types, entries, b'{"x":7}', **transforms).different == 1
    refused = {"transforms": ("cast",), "transform_config": {"cast": {"type": f"{package}Cast$Value", "spec": "name:int32"}}}
    with pytest.raises(TransformFailed, match="transform cast throws"):
        EntryReader(SourceSettings.from_dict({"name": "c", **refused}), "t", cast(Any, types), CACHE, decode_rows).entries(page(entries, 0))


TRADE = {"price": codes.DOUBLE, "symbol": codes.STRING, "qty": codes.INT}


def trades(types: OneCache, *prices: float) -> list[tuple[bytes, bytes]]:
    kind = types.add("Trade", TRADE)
    made = [{"price": number(codes.DOUBLE, price), "symbol": string("S"), "qty": number(codes.INT, 1)} for price in prices]
    return [(long(at), binary(kind, fields)) for at, fields in enumerate(made)]


def compared(
    types: OneCache, entries: Sequence[tuple[bytes, bytes]], records: Sequence[tuple[bytes, bytes | None]], **settings: Any
) -> PairDifferences:
    plan = TransferPlan("c", "s", 0, 1, SourceSettings(name="c", **settings), (CachePlan(CACHE.name, 1, "t", 1, 1),))
    messages = [SimpleNamespace(key=lambda key=key: key, value=lambda value=value: value) for key, value in records]
    return compare(plan, plan.caches[0], cast(Any, types), cast(Any, messages), [page(entries, 0)])


def test_entries_that_the_filter_leaves_out_are_not_expected() -> None:
    types = OneCache()
    entries = trades(types, 1.0, 5.0, 9.0)
    five, nine = (b'{"price":%s,"symbol":"S","qty":1}' % price for price in (b"5.0", b"9.0"))
    is_equal(compared(types, entries, [(b"1", five), (b"2", nine)], where="price > 2"), 2)
    tombstone_of_what_left = compared(types, entries, [(b"0", None), (b"1", five), (b"2", nine)], where="price > 2")
    assert (tombstone_of_what_left.equal, tombstone_of_what_left.records) == (True, 3)
    of_what_left = compared(types, entries, [(b"0", five), (b"1", five)], where="price > 2")
    assert (of_what_left.missing, of_what_left.unexpected, of_what_left.entries) == (1, 1, 2)


def test_an_entry_for_which_the_filter_fails_is_skipped_or_ends_the_comparison() -> None:
    types = OneCache()
    entries = [*trades(types, 5.0), (long(7), string("no trade"))]
    record = b"0", b'{"price":5.0,"symbol":"S","qty":1}'
    found = compared(types, entries, [record], where="price > 2", error_handling_policy="LOG_ONLY")
    assert (found.equal, found.entries, found.skipped) == (True, 2, 1)
    with pytest.raises(UnsupportedType):
        compared(types, entries, [record], where="price > 2")


@pytest.mark.parametrize(("policy", "conversions", "stops"), [("LOG_ONLY", "STOP_TASK", False), ("STOP_TASK", "LOG_ONLY", True)])
def test_an_entry_that_cannot_be_read_follows_the_policy_of_the_connector(policy: str, conversions: str, *, stops: bool) -> None:
    types = OneCache()
    entries = [*trades(types, 5.0), (long(7), OF_UNKNOWN_TYPE)]
    record = b"0", b'{"price":5.0,"symbol":"S","qty":1}'
    policies = {"error_handling_policy": policy, "conversion_error_policy": conversions}
    if stops:
        with pytest.raises(UnknownBinaryType):
            compared(types, entries, [record], **policies)
    else:
        assert compared(types, entries, [record], **policies).skipped == 1


def test_an_entry_that_only_the_decoder_of_rows_cannot_read_is_missing() -> None:
    """The copy does not skip the entry, so one of the two decoders is wrong."""
    types = OneCache()
    entries = trades(types, 5.0)

    def no_rows(*_: Any) -> Any:
        raise DecodeError("a wrong row")

    settings = SourceSettings(name="c", error_handling_policy="LOG_ONLY")
    plan = TransferPlan("c", "s", 0, 1, settings, (CachePlan(CACHE.name, 1, "t", 1, 1),))
    found = compare(plan, plan.caches[0], cast(Any, types), [], [page(entries, 0)], no_rows)
    assert (found.missing, found.skipped) == (1, 0)
    assert "an entry cannot be read by rows" in found.differences


@pytest.mark.parametrize("policy", ["LAZY", "EAGER"])
@pytest.mark.parametrize("schemas", ["true", "false"])
def test_values_have_the_fields_that_select_names(schemas: str, policy: str) -> None:
    types = OneCache()
    entries = trades(types, 1.0, 5.0)
    config: dict[str, Any] = {"value_converter_config": {"schemas.enable": schemas}, "field_nullability_policy": policy}
    is_equal(copied(types, entries, select="QTY, price", **config), 2)
    is_equal(copied(types, entries, select="price AS qty, qty AS `the count`", **config), 2)
    whole = copied(types, entries, changed=copied_values(types, entries, **config)[0], select="qty, price", **config)
    assert (whole.different, whole.missing) == (1, 0)


def copied_values(types: OneCache, entries: Sequence[tuple[bytes, bytes]], **settings: Any) -> list[bytes]:
    chosen = convert.converter(SourceSettings(name="c", **settings))
    found: list[bytes] = chosen.convert([page(entries, 0)], types.info, cast(Any, types)).values.to_pylist()
    return found
