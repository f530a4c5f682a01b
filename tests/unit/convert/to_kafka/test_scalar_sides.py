"""Keys and values of converters string, bytes and of primitives: the plan's check, tombstones, keys of several types."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ignite_kafka.convert import converter
from ignite_kafka.convert.to_kafka.converter import Converter
from ignite_kafka.convert.to_kafka.key_types import KeyTypes
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity
from ignite_kafka.settings.source import SourceSettings
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, boolean, decimal, number, page, string

TYPES = Types()
POINT = TYPES.add("Point", {"x": codes.INT, "y": codes.STRING}, ["x", "y"])


def of(key: str = "string", value: str = "json", **properties: str) -> Converter:
    return converter(SourceSettings(name="c", key_converter=key, value_converter=value, key_converter_config=properties))


def declared(key: str, value: str) -> CacheInfo:
    return CacheInfo("points", 1, query_entities=(QueryEntity(key, value),))


@pytest.mark.parametrize(
    ("made", "cache", "message"),
    [
        (of(value="string"), declared("java.lang.Long", "Point"), "the value is an object .Point.*json"),
        (of("string"), declared("Point", "Point"), "the value is an object .Point"),
        (of("long"), declared("java.lang.Integer", "Point"), "the value has type int32, and the converter long writes int64 only"),
        (of("string"), declared("java.sql.Timestamp", "Point"), "several keys would be one"),
        (of(value="bytes"), declared("java.lang.Long", "java.lang.String"), "the value has type string"),
    ],
)
def test_the_plan_refuses_types_that_the_cache_declares(made: Converter, cache: CacheInfo, message: str) -> None:
    with pytest.raises(UnsupportedType, match=f"{message}.*|.*points") as caught:
        made.check(cache, TYPES)
    assert caught.value.where == {"cache": "points"}


def test_the_plan_accepts_what_can_be_written() -> None:
    for made, cache in [
        (of("long"), declared("java.lang.Long", "Point")),
        (of("string"), declared("java.math.BigDecimal", "Point")),
        (of("string"), CACHE),
    ]:
        made.check(cache, TYPES)


def test_the_first_entry_of_an_undeclared_type_is_refused() -> None:
    entry = (string("k"), binary(POINT, {"x": number(codes.INT, 1), "y": NULL}))
    with pytest.raises(UnsupportedType, match=r"the value is an object \(Point\).*converter json.*"):
        of(value="string").convert([page([entry])], CACHE, TYPES)


@pytest.mark.parametrize("value", ["json", "string", "bytes", "long", "double", "boolean"])
def test_a_removed_entry_needs_no_value(value: str) -> None:
    """A stream converts the key of a removed entry with Ignite's null as the value, and then drops the value."""
    records = of(value=value).convert([page([(number(codes.LONG, 7), NULL)])], CACHE, TYPES, in_order=True)
    assert records.keys.to_pylist() == [b"7"]


def types_that_coincide(*keys: bytes) -> list[tuple[str, str]]:
    found = of().convert([page([(key, NULL) for key in keys])], CACHE, TYPES).key_types
    return [(first.name, second.name) for first, second in KeyTypes().meet(found)]


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (number(codes.LONG, 1), string("1"), ("String", "long")),
        (number(codes.INT, 1), number(codes.LONG, 1), ("int", "long")),
        (number(codes.DOUBLE, 1.5), decimal(Decimal("1.5")), ("BigDecimal of scale 1", "double")),
        (boolean(True), string("true"), ("String", "boolean")),
        (decimal(Decimal("1")), number(codes.INT, 1), ("BigDecimal of scale 0", "int")),
    ],
)
def test_keys_of_two_types_may_have_one_text(first: bytes, second: bytes, names: tuple[str, str]) -> None:
    assert types_that_coincide(first, second) == [names]


@pytest.mark.parametrize(
    "keys",
    [
        (number(codes.LONG, 1), number(codes.LONG, 2)),
        (number(codes.LONG, 1), number(codes.DOUBLE, 1), boolean(True)),
        (decimal(Decimal("1.5")), number(codes.INT, 1)),
    ],
)
def test_keys_of_types_whose_texts_differ(keys: tuple[bytes, ...]) -> None:
    assert types_that_coincide(*keys) == []


def test_equal_keys_have_equal_bytes_in_every_batch() -> None:
    keys = [number(codes.DOUBLE, 1e22), number(codes.LONG, 10**18), string("x"), decimal(Decimal("1E+3")), number(codes.FLOAT, 0.1)]
    together = of().convert([page([(key, NULL) for key in keys])], CACHE, TYPES, in_order=True).keys.to_pylist()
    assert together == [b"1.0E22", b"1000000000000000000", b"x", b"1E+3", b"0.1"]
    assert [of().convert([page([(key, NULL)])], CACHE, TYPES).keys[0].as_py() for key in keys] == together


def test_the_encoding_reaches_the_bytes() -> None:
    made = of(**{"converter.encoding": "UTF-16LE"})
    assert made.convert([page([(string("é"), NULL)])], CACHE, TYPES).keys.to_pylist() == ["é".encode("utf-16-le")]
