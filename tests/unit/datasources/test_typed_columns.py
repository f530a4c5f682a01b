"""Typed columns of `kafka-tx`: what a converter writes of them, and what it reads back."""

from __future__ import annotations

import json
import pickle
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.datasources.frame_schemas import schema_of
from ignite_kafka.datasources.kafka_tx import WriteOptions
from ignite_kafka.datasources.kafka_tx_read import KafkaTxReader, ReadOptions, make_default_schema
from ignite_kafka.datasources.typed_columns import ColumnReader, ColumnWriter, SideConverterOptions, parse_converter_options
from ignite_kafka.errors import DecodeError, SettingsError, UnsupportedType
from ignite_kafka.settings.converters import parse_properties

MOMENT = pa.timestamp("us", "UTC")
ITEM = pa.struct([pa.field("sku", pa.string(), False), pa.field("count", pa.int16())])
ORDER = pa.field(
    "value",
    pa.struct(
        [
            pa.field("id", pa.int64(), False),
            pa.field("price", pa.decimal128(10, 2)),
            pa.field("day", pa.date32()),
            pa.field("at", MOMENT),
            pa.field("data", pa.binary()),
            pa.field("items", pa.list_(pa.field("element", ITEM))),
            pa.field("rate", pa.float32()),
        ]
    ),
)
ROWS: list[dict[str, Any] | None] = [
    {
        "id": 1,
        "price": Decimal("12.50"),
        "day": date(2024, 2, 29),
        "at": datetime(2024, 2, 29, 1, 2, 3, 456_000, UTC),
        "data": b"\0x",
        "items": [{"sku": "a", "count": 1}, {"sku": "b", "count": None}],
        "rate": 0.5,
    },
    None,
    {"id": 2, "price": None, "day": None, "at": None, "data": None, "items": None, "rate": None},
    {"id": 3, "price": Decimal("-0.01"), "day": None, "at": None, "data": b"", "items": [], "rate": None},
]
JSON_FORMS = [("false", "BASE64"), ("false", "NUMERIC"), ("true", "BASE64"), ("true", "NUMERIC")]


def side(name: str, **properties: str) -> SideConverterOptions:
    return SideConverterOptions("value", name, parse_properties("value.converter", name, properties))


def json_side(schemas: str, decimals: str) -> SideConverterOptions:
    return SideConverterOptions("value", "json", {**side("json").properties, "schemas.enable": schemas, "decimal.format": decimals})


@pytest.mark.parametrize(("schemas", "decimals"), JSON_FORMS)
def test_a_struct_comes_back_as_it_was(schemas: str, decimals: str) -> None:
    options = json_side(schemas, decimals)
    writer = pickle.loads(pickle.dumps(ColumnWriter.of(options, ORDER, "t")))  # as Spark sends it to tasks
    written = writer.write(pa.array(ROWS, ORDER.type), "t")
    assert written.null_count == 1
    assert ColumnReader(options, ORDER).read(written, "t").to_pylist() == ROWS


def test_json_is_that_of_connect() -> None:
    written = ColumnWriter.of(json_side("false", "NUMERIC"), ORDER, "t").write(pa.array(ROWS, ORDER.type), "t")
    first = json.loads(written[0].as_py(), parse_float=Decimal)
    items = [{"sku": "a", "count": 1}, {"sku": "b", "count": None}]
    expected = {"id": 1, "price": Decimal("12.50"), "day": 19_782, "at": 1_709_168_523_456, "data": "AHg=", "items": items}
    assert first == expected | {"rate": Decimal("0.5")}
    enveloped = ColumnWriter.of(json_side("true", "NUMERIC"), ORDER, "t").write(pa.array(ROWS, ORDER.type), "t")
    schema = json.loads(enveloped[0].as_py())["schema"]
    assert [(one["field"], one["type"], one["optional"]) for one in schema["fields"][:2]] == [
        ("id", "int64", False),
        ("price", "bytes", True),
    ]
    assert schema["fields"][1]["parameters"] == {"scale": "2"}


@pytest.mark.parametrize(
    ("name", "kind", "values", "written"),
    [
        ("long", pa.int64(), [7, None], [b"\0\0\0\0\0\0\0\7", None]),
        ("string", pa.string(), ["é", None], ["é".encode(), None]),
        ("string", pa.float64(), [1.0, 1e10], [b"1.0", b"1.0E10"]),
        ("bytes", pa.binary(), [b"\0", None], [b"\0", None]),
        ("boolean", pa.bool_(), [True, False], [b"\1", b"\0"]),
        ("json", pa.int64(), [7, None], [b"7", None]),
    ],
)
def test_scalars(name: str, kind: pa.DataType, values: list[Any], written: list[bytes | None]) -> None:
    options, column = (json_side("false", "BASE64") if name == "json" else side(name)), pa.field("value", kind)
    made = ColumnWriter.of(options, column, "t").write(pa.array(values, kind), "t")
    assert made.to_pylist() == written
    if options.frame_type in (None, kind):
        assert ColumnReader(options, column).read(made, "t").to_pylist() == values


def test_fields_are_read_by_their_names() -> None:
    target = pa.field(
        "value", pa.struct([pa.field("price", pa.decimal128(12, 2)), pa.field("id", pa.int64()), pa.field("more", pa.string())])
    )
    options = json_side("false", "BASE64")
    texts = pa.array([b'{"id":1,"other":[],"price":"BOI="}', b'{"id":null}', None], pa.binary())
    assert ColumnReader(options, target).read(texts, "t").to_pylist() == [
        {"price": Decimal("12.50"), "id": 1, "more": None},
        {"price": None, "id": None, "more": None},
        None,
    ]


def test_a_record_of_another_form_names_its_row() -> None:
    with pytest.raises(DecodeError, match="no value of json") as found:
        ColumnReader(json_side("false", "BASE64"), ORDER).read(pa.array([None, b'{"id":1}', b'{"id":"x"}'], pa.binary()), "t")
    assert found.value.where["row"] == 2
    with pytest.raises(DecodeError, match="Size of data received by LongDeserializer is not 8"):
        ColumnReader(side("long"), pa.field("value", pa.int64())).read(pa.array([b"x"], pa.binary()), "t")


def test_what_a_converter_cannot_write_is_refused_before_the_first_record() -> None:
    with pytest.raises(UnsupportedType, match="converter string cannot write"):
        ColumnWriter.of(side("string"), ORDER, "t")
    with pytest.raises(UnsupportedType, match=r"column value.n is of type timestamp\[us\]"):
        schema_of(pa.field("value", pa.struct([pa.field("n", pa.timestamp("us"))])))


READ = {"bootstrap.servers": "a:1", "topic": "t", "allow_insecure_connections": "true"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value.converter": "nosuch"}, "value.converter"),
        ({"value.converter": "ignite-binary"}, "has no columns"),
        ({"value.converter.schemas.enable": "true"}, "is given without value.converter"),
        ({"key.converter": "long", "key.converter.size": "8"}, "has no such property"),
        ({"value.converter": "json"}, "do not say one type"),
    ],
)
def test_wrong_options_name_themselves(options: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make_default_schema(ReadOptions.of(READ | options))


def test_converters_of_one_type_need_no_schema() -> None:
    found = make_default_schema(
        ReadOptions.of(READ | {"key.converter": "org.apache.kafka.connect.converters.LongConverter", "value.converter": "string"})
    )
    assert (found.field("key").type, found.field("value").type) == (pa.int64(), pa.string())
    assert make_default_schema(ReadOptions.of(READ)).field("value").type == pa.binary()
    with pytest.raises(SettingsError, match="no column price"):
        KafkaTxReader(ReadOptions.of(READ), pa.schema([pa.field("price", pa.string())]))
    with pytest.raises(SettingsError, match="column value is binary, not string"):
        KafkaTxReader(ReadOptions.of(READ), pa.schema([pa.field("value", pa.string())]))


def test_a_write_reads_its_converters() -> None:
    options = WriteOptions.of(READ | {"name": "w", "value.converter": "json", "value.converter.decimal.format": "NUMERIC"})
    assert options.converters["value"].properties["decimal.format"] == "NUMERIC"
    assert parse_converter_options({"key.converter": None, "value.converter": None}, {}, reading=False) == {}


def test_both_forms_of_json_in_one_topic() -> None:
    rows = pa.array(ROWS, ORDER.type)
    written = [ColumnWriter.of(json_side(schemas, "BASE64"), ORDER, "t").write(rows, "t") for schemas in ("false", "true")]
    read = ColumnReader(json_side("auto", "BASE64"), ORDER).read(pa.concat_arrays([written[0], written[1], written[0]]), "t")
    assert read.to_pylist() == ROWS * 3
    with pytest.raises(SettingsError, match="is a value for sinks"):
        WriteOptions.of(READ | {"name": "w", "value.converter": "json", "value.converter.schemas.enable": "auto"})
