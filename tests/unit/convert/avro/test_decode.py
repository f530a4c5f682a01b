"""Avro bodies read in columns: what was written comes back, whoever wrote it, and a broken body costs its row alone."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.avro import decode as decode_module
from ignite_kafka.convert.avro.decode import decode
from ignite_kafka.convert.avro.from_connect import from_connect
from ignite_kafka.convert.avro.to_connect import to_connect
from ignite_kafka.convert.avro.types import parse, to_text
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType, decimal
from tests.support.avro_values import array, arrow, fastavro_bytes, mapping, schemas, struct, values
from tests.support.randomness import examples

T = ConnectType


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_what_fastavro_wrote_is_read_equal_in_value_and_schema(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    rows = [row for row in data.draw(st.lists(values(schema), max_size=6)) if row is not None]
    avro = parse(to_text(from_connect(schema)))
    assert to_connect(avro) == schema
    parts, bad = decode(pa.array(fastavro_bytes(rows, schema, to_text(avro)), pa.binary()), avro, schema)
    assert bad == {}
    found = {row: value for at, column in parts for row, value in zip(at.tolist(), column, strict=True)}
    for row, value in enumerate(rows):
        expected = arrow([value], schema)
        column = next(column for at, column in parts if row in at)
        if column.type == expected.type:
            assert found[row] == expected[0]
        else:  # decimals of more than 36 digits are text
            assert "string" in str(column.type)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_a_broken_body_costs_its_row_alone(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    rows = [row for row in data.draw(st.lists(values(schema), min_size=2, max_size=5)) if row is not None]
    avro = from_connect(schema)
    bodies = fastavro_bytes(rows, schema, to_text(avro))
    broken = data.draw(st.binary(max_size=12))
    place = data.draw(st.integers(0, len(bodies)))
    parts, bad = decode(pa.array([*bodies[:place], broken, *bodies[place:]], pa.binary()), avro, schema)
    assert set(bad) <= {place}
    assert sorted(row for at, _ in parts for row in at) == [row for row in range(len(bodies) + 1) if row not in bad]
    clean, _ = decode(pa.array(bodies, pa.binary()), avro, schema)
    expected = {row: value for at, column in clean for row, value in zip(at.tolist(), column, strict=True)}
    for at, column in parts:
        for row, value in zip(at.tolist(), column, strict=True):
            wanted = expected.get(row - (row > place))
            if row != place and wanted is not None and wanted.type == value.type:
                assert value == wanted


ROW = struct(
    "a.B",
    n=ConnectSchema(T.INT32),
    text=ConnectSchema(T.STRING, True),
    flag=ConnectSchema(T.BOOLEAN),
    small=ConnectSchema(T.INT8),
    items=array(ConnectSchema(T.INT64)),
    price=decimal(2, optional=True),
    names=mapping(ConnectSchema(T.STRING), ConnectSchema(T.INT32)),
)
GOOD = {"n": 1, "text": "é", "flag": True, "small": -3, "items": [1, 2], "price": Decimal("1.50"), "names": [("k", 1)]}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "n: the bytes end within the value"),
        (b"\xff" * 11, "n: a number of more than ten bytes"),
        (b"\xff\xff\xff\xff\x7f", "n: a number beyond -2147483648 to 2147483647"),
        (b"\x02\x08", "text: a branch that its union does not have"),
        (b"\x02\x02\x01", "text: a length that the bytes have no room for"),
        (b"\x02\x02\x14ab", "text: a length that the bytes have no room for"),
        (b"\x02\x02\x02\xff\x01\x00\x00\x00\x00", "text: a text that is not UTF-8"),
        (b"\x02\x00\x02\x00\x00\x00\x00", "flag: a boolean that is neither 0 nor 1"),
        (b"\x02\x00\x01\x80\x02\x00\x00\x00", "small: a number beyond -128 to 127"),
        (b"\x02\x00\x01\x00\x20\x02\x00\x00", "items: more items than the bytes have room for"),
        (b"\x02\x00\x01\x00\x00\x02\x00\x00", "price: a decimal without bytes"),
        (b"\x02\x00\x01\x00\x00\x00\x02\x02\xff\x02\x00", "names{key}: a text that is not UTF-8"),
        (b"\x02\x00\x01\x00\x00\x00\x00\x00", "bytes follow the value"),
    ],
)
def test_a_broken_body_is_named_with_field_and_reason(body: bytes, reason: str) -> None:
    avro = from_connect(ROW)
    good = fastavro_bytes([GOOD], ROW, to_text(avro))[0]
    parts, bad = decode(pa.array([good, body, good], pa.binary()), avro, ROW)
    assert bad == {1: reason}
    [(rows, column)] = parts
    assert rows.tolist() == [0, 2]
    assert column.equals(arrow([GOOD, GOOD], ROW))


def test_decimals_of_many_digits_are_text_in_a_part_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_module, "ROWS", 2)
    schema = decimal(2)
    unscaled = [150, -1, 10**60, 0]
    bodies = [
        bytes([2 * 30]) + one.to_bytes(30, "big", signed=True) if one > 1000 else b"\x04" + one.to_bytes(2, "big", signed=True)
        for one in unscaled
    ]
    parts, bad = decode(pa.array(bodies, pa.binary()), from_connect(schema), schema)
    assert bad == {}
    assert [(rows.tolist(), column.to_pylist()) for rows, column in parts] == [
        ([0, 1], [Decimal("1.50"), Decimal("-0.01")]),
        ([2, 3], [f"1{'0' * 58}.00", "0.00"]),
    ]


PLACE = {"type": "record", "name": "Place", "fields": [{"name": "x", "type": "float"}]}
FOREIGN = {
    "type": "record", "name": "R", "namespace": "org.other",
    "fields": [
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 3}},
        {"name": "either", "type": ["string", "null", "long", "Color"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "uuid", "type": ["null", {"type": "string", "logicalType": "uuid"}]},
        {"name": "last", "type": ["int", "null"]},
        {"name": "matrix", "type": {"type": "array", "items": {"type": "array", "items": "double"}}},
        {"name": "places", "type": {"type": "map", "values": PLACE}},
    ],
}  # fmt: skip


def test_schemas_of_other_writers() -> None:
    row = {
        "color": "BLUE", "id": b"abc", "either": 7, "at": 5, "uuid": "u", "last": None,
        "matrix": [[], [0.5, 1.0]], "places": {"p": {"x": 2.0}},
    }  # fmt: skip
    other = {**row, "either": ("org.other.Color", "RED"), "last": 2, "uuid": None, "matrix": [], "places": {}}
    nothing = {**row, "either": None}
    parsed = fastavro.parse_schema(json.loads(json.dumps(FOREIGN).replace(', "logicalType": "uuid"', "")))
    bodies = []
    for one in (row, other, nothing):
        file = io.BytesIO()
        fastavro.schemaless_writer(file, parsed, one)
        bodies.append(file.getvalue())
    avro = parse(json.dumps(FOREIGN))
    [(_, column)], bad = decode(pa.array(bodies, pa.binary()), avro, to_connect(avro))
    empty = {"string": None, "long": None, "Color": None}
    first = {**row, "either": {**empty, "long": 7}, "places": [("p", {"x": 2.0})]}
    assert bad == {}
    assert column.to_pylist() == [
        first,
        {**first, "either": {**empty, "Color": "RED"}, "last": 2, "uuid": None, "matrix": [], "places": []},
        {**first, "either": None},
    ]


def test_blocks_with_their_size_and_several_blocks() -> None:
    schema = array(ConnectSchema(T.INT32))
    body = bytes([3, 4, 2, 4, 2, 6, 0])  # a block of two items, in two bytes: 1, 2; a block of one: 3
    [(_, column)], bad = decode(pa.array([body], pa.binary()), from_connect(schema), schema)
    assert (column.to_pylist(), bad) == ([[1, 2, 3]], {})


@pytest.mark.parametrize("key", [T.STRING, T.INT32])
def test_the_last_of_equal_keys_wins(key: T) -> None:
    """An Avro map may have a name twice, and an array of MapEntry a key twice."""
    schema = mapping(ConnectSchema(key), ConnectSchema(T.INT32))
    one, other = (b"\x02a", b"\x02b") if key is T.STRING else (b"\x02", b"\x04")
    body = b"\x06" + one + b"\x02" + other + b"\x04" + one + b"\x06" + b"\x00"
    [(_, column)], bad = decode(pa.array([body, b"\x00", b"\x02" + one + b"\x08\x00"], pa.binary()), from_connect(schema), schema)
    first, second = ("a", "b") if key is T.STRING else (1, 2)
    assert (column.to_pylist(), bad) == ([[(first, 3), (second, 2)], [], [(first, 4)]], {})


EMPTY = {"type": "record", "name": "Empty", "fields": []}
NO_BYTES = {"type": "fixed", "name": "No", "size": 0}
NONE = {"type": "record", "name": "None", "fields": [{"name": "e", "type": EMPTY}, {"name": "f", "type": NO_BYTES}]}


@pytest.mark.parametrize(("items", "value"), [(EMPTY, {}), (NO_BYTES, b""), (NONE, {"e": {}, "f": b""})])
def test_items_without_bytes(items: Any, value: Any) -> None:
    """No bytes bound their number, so it is limited: over all blocks and all arrays of a body."""
    text = json.dumps({"type": "array", "items": {"type": "array", "items": items}})
    parsed = fastavro.parse_schema(json.loads(text))
    rows = [[[value] * 3], [], [[]], [[value], [value] * 999], [[value]]]
    bodies = []
    for row in rows:
        file = io.BytesIO()
        fastavro.schemaless_writer(file, parsed, row)
        bodies.append(file.getvalue())
    huge = b"\x02" + b"\xfe" * 9 + b"\x01\x00\x00"
    over = b"\x04" + bytes([*b"\x02\x00", *b"\xd0\x0f", 0, 0])  # 1 and 1,000 items
    blocks = b"\x02" + b"\xd0\x0f\x02\x00\x00"  # 1,000 items, and 1 in another block
    avro = parse(text)
    [(at, column)], bad = decode(pa.array([*bodies, huge, over, blocks], pa.binary()), avro, to_connect(avro))
    assert (at.tolist(), column.to_pylist()) == ([0, 1, 2, 3, 4], rows)
    assert bad == dict.fromkeys((5, 6, 7), "[]: more than 1000 items without bytes")


def test_rows_of_a_part_rise_over_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_module, "ROWS", 3)
    schema = ConnectSchema(T.INT64)
    bodies = pa.array([b"" if row % 4 == 1 else bytes([0, 0, 2 * row]) for row in range(10)], pa.binary())
    bodies = pa.array([b"xx" if one == b"" else one for one in bodies.to_pylist()], pa.binary())
    [(rows, column)], bad = decode(bodies, from_connect(schema), schema, 2)
    assert sorted(bad) == [1, 5, 9]
    assert rows.tolist() == column.to_pylist() == [0, 2, 3, 4, 6, 7, 8]
    assert np.all(np.diff(rows) > 0)
