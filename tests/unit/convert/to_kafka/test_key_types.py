"""Types of keys that JSON does not tell apart, noticed by the types of a batch."""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal

import pytest

from ignite_kafka.convert.to_kafka.key_types import KeyTypes, key_types_in, remembered
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.kafka.records import KeyType
from tests.support.converters import converter
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, boolean, decimal, number, page, string, uuid_
from tests.support.key_converters import KEY_CONVERTERS

TYPES = Types()
ONE = TYPES.add("One", {"a": codes.LONG, "b": codes.LONG}, ["a"], ["b", "a"])
TWO = TYPES.add("Two", {"a": codes.INT, "c": codes.LONG}, ["a"], ["c"])
DATE = struct.pack("<Bq", codes.DATE, 1)


def of(*keys: bytes, decimal_format: str = "BASE64") -> frozenset[KeyType]:
    """Types of the keys of a batch."""
    return converter("json", decimal_format=decimal_format).convert([page([(key, NULL) for key in keys])], CACHE, TYPES).key_types


def coinciding(*keys: bytes, decimal_format: str = "BASE64") -> list[tuple[str, str, str, str]]:
    found = KeyTypes().meet(of(*keys, decimal_format=decimal_format))
    return [(first.name, second.name, first.example, second.example) for first, second in found]


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (number(codes.BYTE, 1), number(codes.LONG, 1), ("byte", "long", "1", "1")),
        (number(codes.INT, 1), DATE, ("Date", "int", "1", "1")),
        (number(codes.FLOAT, 0.5), number(codes.DOUBLE, 0.5), ("double", "float", "0.5", "0.5")),
        (string("x"), uuid_(uuid.UUID(int=1)), ("String", "UUID", '"x"', f'"{uuid.UUID(int=1)}"')),
        (decimal(Decimal("1.5")), decimal(Decimal("15")), ("BigDecimal of scale 0", "BigDecimal of scale 1", '"Dw=="', '"Dw=="')),
        (binary(ONE, {"a": number(codes.LONG, 1)}), binary(TWO, {"a": number(codes.INT, 1)}), ("One", "Two", '{"a":1}', '{"a":1}')),
    ],
)
def test_types_that_can_give_one_key(first: bytes, second: bytes, names: tuple[str, ...]) -> None:
    assert coinciding(first, second) == coinciding(second, first) == [names]


@pytest.mark.parametrize(
    "keys",
    [
        (number(codes.LONG, 1), number(codes.LONG, 2)),
        (number(codes.LONG, 1), number(codes.DOUBLE, 1.5), string("1"), boolean(True)),
        (decimal(Decimal("1.5")), decimal(Decimal("2.5"))),
        (binary(ONE, {"a": number(codes.LONG, 1)}), binary(ONE, {"b": number(codes.LONG, 1), "a": number(codes.LONG, 1)})),
        (binary(ONE, {"a": number(codes.LONG, 1)}), binary(TWO, {"c": number(codes.LONG, 1)})),
    ],
)
def test_types_that_json_tells_apart(keys: tuple[bytes, ...]) -> None:
    assert coinciding(*keys) == []


def test_decimals_as_numbers_have_their_scale() -> None:
    scales = decimal(Decimal("1.5")), decimal(Decimal("1.50"))
    assert coinciding(*scales, decimal_format="NUMERIC") == []
    assert coinciding(decimal(Decimal("2")), number(codes.INT, 2), decimal_format="NUMERIC") == [("BigDecimal of scale 0", "int", "2", "2")]
    assert coinciding(decimal(Decimal("2.5")), number(codes.DOUBLE, 2.5), decimal_format="NUMERIC")


def test_types_are_remembered_over_batches() -> None:
    met = KeyTypes()
    assert met.meet(of(number(codes.LONG, 1))) == []
    assert met.meet(of(number(codes.LONG, 2))) == []
    ((first, second),) = met.meet(of(number(codes.SHORT, 3)))
    assert (first.name, second.name) == ("long", "short")
    assert met.meet(of(number(codes.SHORT, 3), number(codes.LONG, 3))) == []
    assert [(one.name, other.name) for one, other in met.coinciding] == [("long", "short")]


def test_types_of_an_earlier_run_are_known_by_its_offsets() -> None:
    met = KeyTypes()
    assert met.meet(remembered({(codes.LONG,), (codes.OBJECT, 1, 2, 3), (codes.DECIMAL,), (codes.BINARY_ENUM,)})) == []
    ((first, second),) = met.meet(of(number(codes.INT, 1)))
    assert (first.name, first.example, second.name, second.example) == ("long", "", "int", "1")


def test_a_process_has_one_memory_for_a_cache_in_a_run() -> None:
    assert key_types_in("c", 1, "x") is key_types_in("c", 1, "x")
    assert len({id(key_types_in(*place)) for place in (("c", 1, "x"), ("c", 2, "x"), ("c", 1, "y"), ("d", 1, "x"))}) == 4


@pytest.mark.parametrize(
    ("first", "second", "coincide"),
    [
        (number(codes.INT, 1), number(codes.CHAR, 1), True),
        (string(str(uuid.UUID(int=1))), uuid_(uuid.UUID(int=1)), True),
        (number(codes.INT, 1), number(codes.LONG, 1), False),
        (binary(ONE, {"a": number(codes.LONG, 1)}), binary(TWO, {"a": number(codes.INT, 1)}), False),
    ],
)
def test_types_of_keys_with_schemas(first: bytes, second: bytes, coincide: bool) -> None:
    """Two types may coincide just where their keys have the same bytes."""
    made = KEY_CONVERTERS["schemas"]()
    records = [made.convert([page([(key, NULL)])], CACHE, TYPES, topic="t") for key in (first, second)]
    assert bool(KeyTypes().meet(records[0].key_types | records[1].key_types)) == coincide
    assert (records[0].keys == records[1].keys) == coincide
