"""Decoded columns as Connect columns: schemas and values of each entry, against a plain reading of the same values one by one."""

from __future__ import annotations

import random
from datetime import datetime, time
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType, schema
from ignite_kafka.convert.connect.schema import arrow_type
from ignite_kafka.convert.to_kafka import connect_columns
from ignite_kafka.convert.to_kafka.connect_columns import connect_parts
from ignite_kafka.convert.to_kafka.connect_schemas import SchemaRules
from ignite_kafka.convert.to_kafka.declared_schemas import UNDEFINED
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.binary import decode_entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.type_table import TYPE_NAME
from ignite_kafka.java.hash_code import java_hash
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, decimal, number, page, string
from tests.support.randomness import examples, generator

OPTIONAL = {kind: ConnectSchema(kind, True) for kind in ConnectType}


def struct(name: str, **fields: ConnectSchema) -> ConnectSchema:
    return ConnectSchema(ConnectType.STRUCT, name=name, fields=tuple(ConnectField(*one) for one in fields.items()))


def eight(code: int, value: int) -> bytes:
    """A value of 64 bits."""
    return bytes([code]) + value.to_bytes(8, "little", signed=True)


def parts_of(types: Types, values: list[bytes], **rules: Any) -> list[tuple[list[int], ConnectSchema, list[Any]]]:
    """Rows, schema and values of each part, of values of one type."""
    (group,) = decode_entries([page([(number(codes.LONG, row), value) for row, value in enumerate(values)])], CACHE, types, documents=True)
    field = pa.field("", group.value.type, metadata={TYPE_NAME: group.value_type.name.encode()})
    found = connect_parts(group.value, field, SchemaRules(types, **rules))
    for part in found:
        assert part.column.schema is not None
        if not any(wide in str(part.column.data.type) for wide in ("decimal256", "total: string")):
            assert part.column.data.type == arrow_type(part.column.schema)
    assert sorted(np.concatenate([part.rows for part in found]).tolist()) == list(range(len(values)))
    return [(part.rows.tolist(), part.column.schema, part.column.data.to_pylist()) for part in found if part.column.schema]


def test_null_fields_are_left_out_of_schema_and_value_or_are_null() -> None:
    types = Types()
    kind = types.add("Point", {"x": codes.INT, "y": codes.STRING})
    values = [binary(kind, {"x": number(codes.INT, 1), "y": NULL}), binary(kind, {"x": number(codes.INT, 2), "y": string("a")})]
    x, y = OPTIONAL[ConnectType.INT32], OPTIONAL[ConnectType.STRING]
    assert sorted(parts_of(types, values)) == [
        ([0], struct("Point", x=x), [{"x": 1}]),
        ([1], struct("Point", x=x, y=y), [{"x": 2, "y": "a"}]),
    ]
    assert parts_of(types, values, whole=True) == [([0, 1], struct("Point", x=x, y=y), [{"x": 1, "y": None}, {"x": 2, "y": "a"}])]
    assert parts_of(types, values[:1], whole=True) == [([0], struct("Point", x=x, y=y), [{"x": 1, "y": None}])]


def test_a_null_object_has_the_placeholder_of_the_reference() -> None:
    types = Types()
    kind = types.add("Box", {"content": codes.OBJECT, "many": codes.COLLECTION})
    (found,) = parts_of(types, [binary(kind, {"content": NULL, "many": NULL})], whole=True, neighbours=False)
    assert found[1:] == (struct("Box", content=UNDEFINED, many=UNDEFINED), [{"content": None, "many": None}])
    assert UNDEFINED.name == "o.g.k.c.s.undef"


def test_each_scale_of_a_decimal_is_a_schema() -> None:
    types = Types()
    kind = types.add("Price", {"p": codes.DECIMAL})
    texts = ["1.5", "2.50", "3.5", "1E+2"]
    found = parts_of(types, [binary(kind, {"p": decimal(Decimal(text))}) for text in texts])
    assert {(tuple(rows), one.fields[0].schema.parameters, tuple(str(value["p"]) for value in values)) for rows, one, values in found} == {
        ((0, 2), (("scale", "1"),), ("1.5", "3.5")),
        ((1,), (("scale", "2"),), ("2.50",)),
        ((3,), (("scale", "-2"),), ("1E+2",)),
    }


@pytest.mark.parametrize("digits", [37, 38, 39, 41, 45, 60, 76, 77, 90, 300])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_decimal_of_many_digits_is_the_same_number(digits: int, sign: str) -> None:
    types = Types()
    kind = types.add("Sum", {"total": codes.DECIMAL})
    wanted = [Decimal(f"{sign}{'9' * digits}.9"), Decimal("0.5")]
    ((_, _, values),) = parts_of(types, [binary(kind, {"total": decimal(value)}) for value in wanted])
    assert [Decimal(value["total"]) for value in values] == wanted


@pytest.mark.parametrize("texts", [["1E+70", "0.5"], ["9E+30", "1"], ["0.123456789012", "9" * 70]])
def test_a_decimal_text_at_a_declared_scale_is_the_same_number(texts: list[str]) -> None:
    made = connect_columns._decimal(pa.array(texts), schema.decimal(12))
    assert [Decimal(one) for one in made.to_pylist()] == [Decimal(text) for text in texts]


def test_elements_of_several_types_are_refused_with_the_field() -> None:
    types = Types()
    kind = types.add("Bag", {"many": codes.COLLECTION})
    mixed = bytes([codes.COLLECTION]) + (2).to_bytes(4, "little") + b"\1" + number(codes.INT, 1) + string("a")
    with pytest.raises(UnsupportedType, match=r"field many holds elements of INT32 and STRING") as caught:
        parts_of(types, [binary(kind, {"many": mixed})])
    assert caught.value.where["field"] == "many"


def test_an_empty_collection_shows_no_type() -> None:
    types = Types()
    kind = types.add("Bag", {"many": codes.COLLECTION})
    empty, one = (
        bytes([codes.COLLECTION]) + len(items).to_bytes(4, "little") + b"\1" + b"".join(items) for items in ([], [number(codes.INT, 1)])
    )
    alone = parts_of(types, [binary(kind, {"many": empty})], neighbours=False)
    assert alone == [([0], struct("Bag", many=ConnectSchema(ConnectType.ARRAY, True, value_schema=UNDEFINED)), [{"many": []}])]
    both = [binary(kind, {"many": empty}), binary(kind, {"many": one})]
    numbers = ConnectSchema(ConnectType.ARRAY, True, value_schema=OPTIONAL[ConnectType.INT32])
    assert parts_of(types, both) == [([0, 1], struct("Bag", many=numbers), [{"many": []}, {"many": [1]}])]
    assert len(parts_of(types, both, neighbours=False)) == 2  # in keys no value depends on others


def collection(*items: bytes) -> bytes:
    return bytes([codes.COLLECTION]) + len(items).to_bytes(4, "little") + b"\1" + b"".join(items)


def test_elements_that_show_no_type_take_that_of_the_others() -> None:
    types = Types()
    line = types.add("Line", {"price": codes.DECIMAL})
    kind = types.add("Bag", {"many": codes.COLLECTION})
    lines = [binary(line, {"price": price}) for price in (NULL, decimal(Decimal("1.5")), decimal(Decimal("2.55")))]
    one = number(codes.INT, 1)
    bags = [
        (collection(lines[0], lines[1]), [{"price": None}, {"price": Decimal("1.5")}]),
        (collection(collection(), collection(one)), [[], [1]]),
        (collection(collection(NULL), collection(collection(one)), NULL), [[None], [[1]], None]),
    ]
    # other values of the batch, whose elements have other types, must not matter
    others = [binary(kind, {"many": many}) for many in (collection(lines[2]), collection(collection(string("a"))))]
    for many, wanted in bags:
        for values in ([binary(kind, {"many": many})], [binary(kind, {"many": many}), *others]):
            for rules in ({"whole": True}, {"whole": True, "neighbours": False}):
                found = {rows[0]: values for rows, _, values in parts_of(types, values, **rules)}
                assert found[0] == [{"many": wanted}]
    with pytest.raises(UnsupportedType, match=r"field many holds elements of INT32 and ARRAY"):
        parts_of(types, [binary(kind, {"many": collection(collection(), one)})])


def test_moments() -> None:
    types = Types()
    kind = types.add("Moment", {"t": codes.TIME, "s": codes.TIMESTAMP, "d": codes.DATE})
    made = {"t": eight(codes.TIME, 3_600_001), "s": eight(codes.TIMESTAMP, 1_700_000_000_123) + (456_789).to_bytes(4, "little")}
    (found,) = parts_of(types, [binary(kind, {**made, "d": eight(codes.DATE, 5)})])
    instant = datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
    assert found[2] == [{"t": time(1, 0, 0, 1_000), "s": instant, "d": datetime(1970, 1, 1, 0, 0, 0, 5_000, UTC)}]
    assert [one.schema.name for one in found[1].fields] == [schema.TIME, schema.TIMESTAMP, schema.TIMESTAMP]
    day_later = binary(kind, {**made, "t": eight(codes.TIME, 86_400_000), "d": NULL})
    with pytest.raises(UnsupportedType, match=r"field t holds a java\.sql\.Time of 86400000 ms in time zone UTC.*date_time_zone"):
        parts_of(types, [day_later])


NAMES = ["a", "b", "c"]
CODES = [codes.INT, codes.STRING, codes.DOUBLE, codes.DECIMAL, codes.BOOL, codes.OBJECT]


def _value(code: int, pick: random.Random, inner: Any, types: Types, depth: int) -> tuple[bytes, Any, ConnectSchema | None]:
    """Bytes, the Connect value, and its schema; None for null."""
    if pick.random() < 0.3:
        return NULL, None, None
    if code == codes.INT:
        value = pick.randrange(-(2**31), 2**31)
        return number(code, value), value, OPTIONAL[ConnectType.INT32]
    if code == codes.STRING:
        text = "".join(pick.choice('aä€😀"\\ ') for _ in range(pick.randrange(4)))
        return string(text), text, OPTIONAL[ConnectType.STRING]
    if code == codes.DOUBLE:
        real = pick.choice([0.0, 1.5, -1e300])
        return number(code, real), real, OPTIONAL[ConnectType.FLOAT64]
    if code == codes.BOOL:
        return bytes([code, 1]), True, OPTIONAL[ConnectType.BOOLEAN]
    if code == codes.DECIMAL:
        exact = Decimal(pick.choice(["1.5", "-20.25", "7", "12345678901234567890123456789012345678901234567890.5"]))
        scale = -int(exact.as_tuple().exponent)
        return decimal(exact), exact, schema.decimal(scale, optional=True)
    return _object("Inner", inner, pick, types, depth + 1)


def _object(name: str, kinds: dict[str, int], pick: random.Random, types: Types, depth: int = 0) -> tuple[bytes, Any, ConnectSchema]:
    shown = pick.sample(list(kinds), pick.randrange(1, len(kinds) + 1))
    made, value, fields = {}, {}, []
    for label in shown:
        code = kinds[label] if depth < 2 or kinds[label] != codes.OBJECT else codes.INT
        made[label], item, one = _value(code, pick, kinds, types, depth)
        if one is not None:
            value[label] = item
            fields.append(ConnectField(label, one))
    data = binary(types.known[java_hash(name.lower())], made)
    return data, value, ConnectSchema(ConnectType.STRUCT, True, name, fields=tuple(fields))


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 1 << 32))
def test_schemas_and_values_of_a_batch_are_those_of_each_entry_alone(seed: int) -> None:
    pick = generator(seed)
    kinds = {name: pick.choice(CODES) for name in NAMES}
    types = Types()
    for name in ("Outer", "Inner"):
        types.add(name, kinds, *(order for size in (1, 2, 3) for order in permutations(NAMES, size)))
    wanted = [_object("Outer", kinds, pick, types) for _ in range(pick.randrange(1, 12))]
    found = parts_of(types, [data for data, _, _ in wanted])
    for rows, one, values in found:
        for row, value in zip(rows, values, strict=True):
            assert one == wanted[row][2].as_optional(False)
            assert value == wanted[row][1]
