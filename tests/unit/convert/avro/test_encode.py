"""Avro bodies written in columns equal fastavro's, byte for byte, for every type, with extremes and nulls at every depth."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.avro import encode as encode_module
from ignite_kafka.convert.avro.encode import encode
from ignite_kafka.convert.avro.from_connect import from_connect
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.types import to_text
from ignite_kafka.convert.connect.schema import ConnectField, ConnectSchema, ConnectType, decimal
from ignite_kafka.errors import UnsupportedType
from tests.support.avro_values import array, arrow, fastavro_bytes, mapping, schemas, struct, values
from tests.support.randomness import examples

T = ConnectType
LONG, TEXT = ConnectSchema(T.INT64), ConnectSchema(T.STRING)


def _optional(kind: ConnectType) -> ConnectSchema:
    return ConnectSchema(kind, True)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_bytes_equal_those_of_fastavro(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    rows = data.draw(st.lists(values(schema), max_size=6))
    avro = from_connect(schema)
    expected = [None if row is None else one for row, one in zip(rows, fastavro_bytes(rows, schema, to_text(avro)), strict=True)]
    assert encode(arrow(rows, schema), schema, avro).to_pylist() == expected


def test_slices_and_batches_beyond_the_rows_of_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode_module, "ROWS", 7)
    schema = struct("a.B", id=LONG, text=_optional(T.STRING), list=array(_optional(T.INT32), optional=True))
    rows = [{"id": i, "text": None if i % 3 else "x" * i, "list": None if i % 5 == 0 else list(range(i % 4))} for i in range(40)]
    avro = from_connect(schema)
    expected = [b"\x00\x00\x00\x01\x02" + one for one in fastavro_bytes(rows, schema, to_text(avro))]
    padded = arrow([*rows[:3], *rows, *rows[:2]], schema).slice(3, 40)
    assert encode(padded, schema, avro, b"\x00\x00\x00\x01\x02").to_pylist() == expected


def test_floats_keep_their_bits() -> None:
    bits = np.array([0x7FF8000000000001, 0xFFF0000000000000, 0x8000000000000000, 1], np.uint64)
    assert encode(pa.array(bits.view(np.float64)), ConnectSchema(T.FLOAT64), from_connect(ConnectSchema(T.FLOAT64))).to_pylist() == [
        one.tobytes() for one in bits
    ]


@pytest.mark.parametrize("unscaled", [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**63, -(2**63), 10**38 - 1, 10**70])
def test_decimals_are_the_shortest_unscaled_bytes_of_any_arrow_type(unscaled: int) -> None:
    schema = decimal(2)
    value = Decimal(f"{unscaled}E-2")
    expected = unscaled.to_bytes((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1, "big", signed=True)
    for kind in (pa.decimal128(38, 2), pa.decimal256(76, 2), pa.string()):
        if abs(unscaled) < 10**38 or kind != pa.decimal128(38, 2):
            data = pa.array([str(value) if kind == pa.string() else value], kind)
            assert encode(data, schema, from_connect(schema))[0].as_py() == bytes([2 * len(expected)]) + expected


def test_null_where_none_is_allowed_is_refused_with_the_field() -> None:
    schema = struct("a.B", inner=struct("a.C", optional=True, id=LONG))
    good = arrow([{"inner": None}, {"inner": {"id": 1}}], schema)
    assert encode(good, schema, from_connect(schema)).to_pylist() == [b"\x00", b"\x02\x02"]
    with pytest.raises(UnsupportedType, match=r"field inner\.id is null"):
        encode(arrow([{"inner": {"id": None}}], schema), schema, from_connect(schema))


def _written(schema: ConnectSchema, rows: list[Any], options: AvroOptions = AvroOptions(), fill_defaults: bool = True) -> list[bytes]:  # noqa: B008
    return encode(arrow(rows, schema), schema, from_connect(schema, options), fill_defaults=fill_defaults).to_pylist()


def test_null_in_a_field_with_a_default_is_the_default_unless_it_is_not_wanted() -> None:
    inner = struct("a.C", optional=True, n=ConnectSchema(T.INT32, True, default=5))
    schema = struct("a.B", text=ConnectSchema(T.STRING, default="d"), inner=inner)
    rows = [{"text": None, "inner": {"n": None}}, {"text": "x", "inner": None}]
    assert _written(schema, rows) == [b"\x02d\x02\x00\x0a", b"\x02x\x00"]
    optional = struct("a.B", n=ConnectSchema(T.INT32, True, default=5))
    assert _written(optional, [{"n": None}], fill_defaults=False) == [b"\x02"]


def test_enums_are_their_index_and_a_foreign_constant_is_refused() -> None:
    name = "io.confluent.connect.avro.Enum"
    parameters = ((name, "a.Color"), (f"{name}.RED", "RED"), (f"{name}.BLUE", "BLUE"))
    schema = ConnectSchema(T.STRING, True, parameters=parameters)
    options = AvroOptions(enhanced=True)
    assert _written(schema, ["BLUE", None, "RED"], options) == [b"\x02\x02", None, b"\x02\x00"]
    with pytest.raises(UnsupportedType, match=r"holds GREEN, which is no constant of the enum a\.Color"):
        _written(schema, ["GREEN"], options)


def test_fixed_has_no_length_and_a_decimal_is_padded_to_it() -> None:
    plain = ConnectSchema(T.BYTES, name="a.Id", parameters=(("connect.fixed.size", "2"),))
    assert _written(plain, [b"ab"]) == [b"ab"]
    with pytest.raises(UnsupportedType, match="has 3 bytes, and its schema is a fixed of 2"):
        _written(plain, [b"abc"])
    money = decimal(2)
    money = ConnectSchema(money.type, False, money.name, 1, parameters=(*money.parameters, ("connect.fixed.size", "4")))
    assert _written(money, [Decimal("-0.01"), Decimal("2.56")]) == [b"\xff\xff\xff\xff", b"\x00\x00\x01\x00"]


def test_a_union_is_the_branch_of_its_first_field_with_a_value() -> None:
    fields = (ConnectField("string", _optional(T.STRING)), ConnectField("int", _optional(T.INT32)))
    union = ConnectSchema(T.STRUCT, True, "io.confluent.connect.avro.Union", fields=fields)
    schema = struct("a.B", u=union)
    rows = [{"u": {"string": "x", "int": None}}, {"u": {"string": None, "int": -1}}, {"u": None}, {"u": {"string": "", "int": 3}}]
    assert _written(schema, rows) == [b"\x02\x02x", b"\x04\x01", b"\x00", b"\x02\x00"]
    required = struct("a.B", u=union.as_optional(False))
    with pytest.raises(UnsupportedType, match="field u has no branch of its union"):
        _written(required, [{"u": {"string": None, "int": None}}])


def test_a_map_with_optional_text_keys_is_a_map_where_that_is_allowed() -> None:
    schema = mapping(_optional(T.STRING), ConnectSchema(T.INT32))
    assert _written(schema, [[("a", 1)]], AvroOptions(allow_optional_map_keys=True)) == [b"\x02\x02a\x02\x00"]
    assert _written(schema, [[("a", 1)]]) == [b"\x02\x02\x02a\x02\x00"]
