"""Avro schemas of Connect schemas: every rule of AvroData.fromConnectSchema, and what it refuses."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.avro.from_connect import from_connect
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.types import to_text
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType, date, decimal, time, timestamp
from ignite_kafka.errors import UnsupportedType
from tests.support.avro_values import array, mapping, record, struct

T = ConnectType
NAMESPACE = "io.confluent.connect.avro"
INT, TEXT = ConnectSchema(T.INT32), ConnectSchema(T.STRING)


def _avro(schema: ConnectSchema, options: AvroOptions = AvroOptions()) -> Any:  # noqa: B008
    return json.loads(to_text(from_connect(schema, options)))


def _logical(schema: ConnectSchema, kind: str, logical: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more, "connect.version": 1, "connect.name": schema.name, "logicalType": logical}


@pytest.mark.parametrize(
    ("schema", "avro"),
    [
        (ConnectSchema(T.INT8), {"type": "int", "connect.type": "int8"}),
        (ConnectSchema(T.INT16, True), ["null", {"type": "int", "connect.type": "int16"}]),
        (INT, "int"), (ConnectSchema(T.INT64), "long"), (ConnectSchema(T.FLOAT32), "float"), (ConnectSchema(T.FLOAT64), "double"),
        (ConnectSchema(T.BOOLEAN), "boolean"), (TEXT, "string"), (ConnectSchema(T.BYTES, True), ["null", "bytes"]),
        (date(), _logical(date(), "int", "date")),
        (time(), _logical(time(), "int", "time-millis")),
        (timestamp(optional=True), ["null", _logical(timestamp(), "long", "timestamp-millis")]),
        (array(ConnectSchema(T.INT32, True)), {"type": "array", "items": ["null", "int"]}),
        (mapping(TEXT, INT, optional=True), ["null", {"type": "map", "values": "int"}]),
        (ConnectSchema(T.STRING, name="a.b", version=3, doc="d", parameters=(("p", "v"), ("avro.x", "y"))),
         {"type": "string", "connect.doc": "d", "connect.version": 3, "connect.parameters": {"p": "v", "avro.x": "y"},
          "connect.name": "a.b", "avro.x": "y"}),
    ],
)  # fmt: skip
def test_types(schema: ConnectSchema, avro: Any) -> None:
    assert _avro(schema) == avro


def test_decimals_have_scale_and_precision_in_javas_order() -> None:
    assert to_text(from_connect(decimal(2))) == (
        '{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{"scale":"2"},'
        '"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}'
    )
    precise = replace(decimal(2), parameters=(("scale", "2"), ("connect.decimal.precision", "10")))
    assert _avro(precise)["precision"] == 10


def test_maps_whose_keys_are_not_text_are_arrays_of_entries() -> None:
    entry = {"type": "record", "name": "MapEntry", "namespace": NAMESPACE,
             "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": ["null", "string"], "default": None}]}  # fmt: skip
    assert _avro(mapping(INT, ConnectSchema(T.STRING, True))) == {"type": "array", "items": entry}
    named = _avro(mapping(INT, TEXT, name="org.acme.Pair"))
    assert (named["items"]["name"], named["items"]["namespace"], named["items"]["connect.internal.type"]) == (
        "Pair",
        "org.acme",
        "MapEntry",
    )
    optional_key = mapping(ConnectSchema(T.STRING, True), INT)
    assert _avro(optional_key)["type"] == "array"
    assert _avro(optional_key, AvroOptions(allow_optional_map_keys=True)) == {"type": "map", "values": "int"}


def test_records_and_their_names() -> None:
    schema = struct(
        "org.acme.A", inner=struct("org.acme.B", optional=True, x=INT), again=struct("org.acme.B", x=INT), plain=struct(None, x=INT)
    )
    assert _avro(schema) == {
        "type": "record", "name": "A", "namespace": "org.acme",
        "fields": [
            {"name": "inner", "type": ["null", {"type": "record", "name": "B", "fields": [{"name": "x", "type": "int"}],
             "connect.name": "org.acme.B"}], "default": None},
            {"name": "again", "type": "B"},
            {"name": "plain", "type": {"type": "record", "name": "ConnectDefault", "namespace": NAMESPACE, "fields": [
                {"name": "x", "type": "int"}]}},
        ],
        "connect.name": "org.acme.A",
    }  # fmt: skip


def test_records_without_a_name_are_numbered() -> None:
    text = to_text(from_connect(struct(None, a=struct(None, x=INT), b=struct(None, x=INT), c=struct(None, y=INT))))
    assert [text.count(f'"{name}"') for name in ("ConnectDefault", "ConnectDefault2", "ConnectDefault3")] == [1, 2, 1]


def test_defaults() -> None:
    at = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    schema = struct(
        "a.B",
        n=ConnectSchema(T.INT32, True, default=5),
        t=replace(timestamp(), default=at),
        d=replace(decimal(1), default=Decimal("12.8")),
        b=ConnectSchema(T.BYTES, default=b"\x00\xff"),
        day=replace(date(), default=datetime.date(1970, 1, 11)),
        clock=replace(time(), default=datetime.time(0, 0, 2)),
        m=replace(mapping(TEXT, INT), default=[("k", 1)]),
        e=replace(mapping(INT, INT), default=[(1, 2)]),
        s=replace(struct("a.C", x=INT, y=array(INT)), default={"x": 1, "y": [2]}),
    )
    found = {one["name"]: one for one in _avro(schema)["fields"]}
    assert found["n"]["type"] == [{"type": "int", "connect.default": 5}, "null"]
    assert {name: one.get("default", "none") for name, one in found.items()} == {
        "n": 5, "t": 1000, "d": "\x00\x80", "b": "\x00\xff", "day": 10, "clock": 2000, "m": {"k": 1}, "e": "none", "s": {"x": 1, "y": [2]},
    }  # fmt: skip
    assert found["e"]["type"]["connect.default"] == [[1, 2]]


def test_docs() -> None:
    mark = f"{NAMESPACE}.field.doc.x"
    schema = struct("a.B", x=ConnectSchema(T.INT32, doc="of the schema"))
    schema = replace(schema, parameters=((f"{NAMESPACE}.record.doc", "new"), ("connect.record.doc", "old"), (mark, "of the field")))
    new, old = _avro(schema), _avro(schema, AvroOptions(discard_docs=True))
    assert (new["doc"], new["fields"][0]["doc"]) == ("new", "of the field")
    assert (old["doc"], old["fields"][0]["doc"]) == ("old", "of the schema")


def test_without_connects_metadata_logical_types_stay() -> None:
    assert _avro(timestamp(), AvroOptions(metadata=False)) == {"type": "long", "logicalType": "timestamp-millis"}
    assert _avro(ConnectSchema(T.INT8), AvroOptions(metadata=False)) == "int"


def test_enums_stay_enums_where_that_is_wanted() -> None:
    mark = f"{NAMESPACE}.Enum"
    schema = ConnectSchema(T.STRING, name="a.Color", parameters=((mark, "a.Color"), (f"{mark}.RED", "RED"), (f"{mark}.BLUE", "BLUE")))
    assert _avro(schema)["type"] == "string"
    enum = _avro(schema, AvroOptions(enhanced=True))
    assert (enum["type"], enum["name"], enum["namespace"], enum["symbols"]) == ("enum", "Color", "a", ["RED", "BLUE"])
    general = "org.apache.kafka.connect.data.Enum"
    schema = ConnectSchema(T.STRING, parameters=((general, "Color"), (f"{general}.RED", "0")))
    assert _avro(schema, AvroOptions(generalized_sums=True))["symbols"] == ["RED"]


@pytest.mark.parametrize("schema", [struct("org.acme.Outer$Inner", x=INT), record("a.B", **{"x-y": INT})])
def test_names_that_avro_refuses_are_scrubbed_or_refused_with_that_remedy(schema: ConnectSchema) -> None:
    with pytest.raises(UnsupportedType, match=r"Set scrub\.invalid\.names=true"):
        from_connect(schema)
    text = to_text(from_connect(schema, AvroOptions(scrub=True)))
    assert "Outer_24Inner" in text or "x_y" in text


def test_two_fields_that_scrubbing_makes_equal_are_refused() -> None:
    with pytest.raises(UnsupportedType, match=r"two fields of a\.B the name x_y"):
        from_connect(record("a.B", **{"x-y": INT, "x_y": INT}), AvroOptions(scrub=True))
