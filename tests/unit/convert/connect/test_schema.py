"""Schemas of Kafka Connect and the Arrow types of their values."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType, schema


def test_the_arrow_type_of_each_schema() -> None:
    inner = ConnectSchema(ConnectType.STRUCT, name="In", fields=(ConnectField("n", ConnectSchema(ConnectType.INT8)),))
    array = ConnectSchema(ConnectType.ARRAY, value_schema=schema.timestamp())
    pairs = ConnectSchema(ConnectType.MAP, key_schema=ConnectSchema(ConnectType.STRING), value_schema=inner)
    names = ("d", "b", "t", "i", "l", "m")
    kinds = (schema.decimal(2), schema.date(), schema.time(), inner, array, pairs)
    whole = ConnectSchema(ConnectType.STRUCT, fields=tuple(ConnectField(*one) for one in zip(names, kinds, strict=True)))
    struct = pa.struct([pa.field("n", pa.int8())])
    assert schema.arrow_type(whole) == pa.struct(
        [
            pa.field("d", pa.decimal128(38, 2)),
            pa.field("b", pa.date32()),
            pa.field("t", pa.time32("ms")),
            pa.field("i", struct),
            pa.field("l", pa.list_(pa.field("item", pa.timestamp("ms", "UTC")))),
            pa.field("m", pa.map_(pa.string(), pa.field("value", struct))),
        ]
    )


def test_a_scale_beyond_arrow_is_text() -> None:
    assert schema.arrow_type(schema.decimal(39)) == pa.string()
    assert schema.scale_of(schema.decimal(-3)) == -3
    assert schema.scale_of(ConnectSchema(ConnectType.BYTES, name=schema.DECIMAL, parameters=(("scale", "x"),))) is None
    assert schema.scale_of(schema.decimal(-(2**31))) == -(2**31)
    assert schema.scale_of(schema.decimal(2**31)) is None  # Java's Integer.parseInt refuses it
    assert schema.scale_of(ConnectSchema(ConnectType.BYTES)) is None


def test_an_array_says_what_it_holds() -> None:
    with pytest.raises(ValueError, match="content"):
        schema.arrow_type(ConnectSchema(ConnectType.ARRAY))


def test_optional_and_fields() -> None:
    one = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("a", schema.date(optional=True)),))
    assert one.field("a") == ConnectField("a", schema.date().as_optional())
    assert one.field("A") is None
    assert one.as_optional(False) is one


def test_equal_schemas_have_one_hash_which_no_other_process_gets() -> None:
    """The hash of a text differs from process to process."""
    made = [ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("a", schema.decimal(2)),)) for _ in range(2)]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])
    assert hash(made[0]) != hash(replace(made[0], name="named"))
    read = pickle.loads(pickle.dumps(made[0]))
    assert "_hash" not in vars(read) | vars(read.fields[0].schema)
    assert {made[0]: 1}[read] == 1
