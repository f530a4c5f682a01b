"""Connect schemas of Avro schemas: every rule of AvroData.toConnectSchema, and what it refuses."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.avro.from_connect import from_connect
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.to_connect import to_connect
from ignite_kafka.convert.avro.types import AvroField, AvroType, parse, to_text
from ignite_kafka.convert.connect.schema import ConnectField, ConnectSchema, ConnectType, date, timestamp
from ignite_kafka.errors import UnsupportedType
from tests.support.avro_values import array, struct

T = ConnectType
NAMESPACE = "io.confluent.connect.avro"


def _connect(avro: Any, options: AvroOptions = AvroOptions()) -> ConnectSchema:  # noqa: B008
    return to_connect(parse(json.dumps(avro)), options)


def _record(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "a.B", "fields": [{"name": name, **one} for name, one in fields.items()]}


@pytest.mark.parametrize(
    ("avro", "schema"),
    [
        ({"type": "int", "connect.type": "int8"}, ConnectSchema(T.INT8)),
        ({"type": "int", "logicalType": "date"}, date()),
        ({"type": "long", "logicalType": "timestamp-millis"}, timestamp()),
        ({"type": "long", "logicalType": "timestamp-micros"}, ConnectSchema(T.INT64)),
        ({"type": "string", "logicalType": "uuid"}, ConnectSchema(T.STRING)),
        (["null", "string"], ConnectSchema(T.STRING, True)),
        (["int", "null"], ConnectSchema(T.INT32, True)),
        (["int"], ConnectSchema(T.INT32)),
        ({"type": "fixed", "name": "a.Id", "size": 3}, ConnectSchema(T.BYTES, name="a.Id", parameters=(("connect.fixed.size", "3"),))),
        ({"type": "enum", "name": "a.E", "symbols": ["X"]},
         ConnectSchema(T.STRING, name="a.E", parameters=((f"{NAMESPACE}.Enum", "a.E"), (f"{NAMESPACE}.Enum.X", "X")))),
        ({"type": "array", "items": "long"}, array(ConnectSchema(T.INT64))),
        ({"type": "record", "name": "ConnectDefault", "namespace": NAMESPACE, "fields": [{"name": "x", "type": "int"}]},
         struct(None, x=ConnectSchema(T.INT32))),
    ],
)  # fmt: skip
def test_types(avro: Any, schema: ConnectSchema) -> None:
    assert _connect(avro) == schema


def test_decimals_of_another_precision_keep_it() -> None:
    found = _connect({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2})
    assert found.parameters == (("scale", "2"), ("connect.decimal.precision", "10"))
    assert to_connect(from_connect(found)) == found


def test_unions_of_several_types_are_structs() -> None:
    avro = ["null", "string", {"type": "record", "name": "a.P", "fields": []}]
    empty = ConnectSchema(T.STRUCT, True, "a.P")
    fields = (ConnectField("string", ConnectSchema(T.STRING, True)), ConnectField("P", empty))
    assert _connect(avro) == ConnectSchema(T.STRUCT, True, f"{NAMESPACE}.Union", fields=fields)
    assert _connect(avro, AvroOptions(enhanced=True)).fields[1].name == "a.P"
    general = _connect(avro, AvroOptions(generalized_sums=True))
    assert (general.name, general.fields[0].name) == ("connect_union_0", "connect_union_field_1")
    assert parse(to_text(from_connect(_connect(avro)))).kind == "union"
    with pytest.raises(UnsupportedType, match=r"Set enhanced\.avro\.schema\.support=true"):
        _connect([{"type": "enum", "name": "a.X", "symbols": []}, {"type": "enum", "name": "b.X", "symbols": []}])
    assert _connect(["int"], AvroOptions(flatten_singletons=False)).fields[0].name == "int"


def test_defaults_and_docs_of_fields() -> None:
    found = _connect(
        _record(
            n={"type": "int", "default": 5, "doc": "count"},
            at={"type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 1000},
            price={"type": {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 1}, "default": "\x00\x80"},
            gone={"type": ["null", "int"], "default": None},
            own={"type": [{"type": "int", "connect.default": 7}, "null"], "default": 7},
        )
    )
    defaults = {one.name: one.schema.default for one in found.fields}
    at = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert defaults == {"n": 5, "at": at, "price": Decimal("12.8"), "gone": None, "own": 7}
    assert found.parameters == ((f"{NAMESPACE}.field.doc.n", "count"),)
    assert found.fields[0].schema.parameters == ((f"{NAMESPACE}.field.default", "true"),)
    assert found.fields[4].schema.parameters == ()
    old = _connect(_record(n={"type": "int", "doc": "count"}), AvroOptions(discard_docs=True))
    assert old.fields[0].schema.doc == "count"


@pytest.mark.parametrize(
    ("avro", "reason"),
    [
        ("null", "null alone has no type"),
        ({"type": "string", "connect.parameters": {"a": 1}}, "not names with texts"),
        ({"type": "int", "logicalType": "date", "connect.version": 2}, "connect.version 2, where Connect has 1"),
        ({"type": "int", "logicalType": "date", "connect.name": "x"}, "connect.name x, where Connect has"),
        ({"type": "int", "connect.type": "int9"}, "connect.type int9"),
        ({"type": "int", "connect.type": ["int8"]}, "connect.type \\['int8'\\]"),
        ({"type": "array", "items": {"type": "record", "name": f"{NAMESPACE}.MapEntry", "fields": []}}, "should be key and value"),
    ],
)  # fmt: skip
def test_what_has_no_connect_schema(avro: Any, reason: str) -> None:
    with pytest.raises(UnsupportedType, match=reason):
        _connect(avro)


def test_a_type_that_is_used_again_is_made_once() -> None:
    inner = AvroType("record", "a.R", fields=(AvroField("x", AvroType("int")),))
    for level in range(40):  # as a tree it has 2^40 types
        inner = AvroType("record", f"a.R{level}", fields=(AvroField("x", inner), AvroField("y", inner)))
    x, y = (field.schema for field in to_connect(inner).fields)
    same = x is y  # a failing assertion would write the tree out
    assert same
