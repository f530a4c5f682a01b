"""Our JSON beside that of the real org.apache.kafka.connect.json.JsonConverter: every type of the table, extremes, and random values."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.json.write_columns import JsonFormat, text
from tests.support.connect_converters import JSON, ConnectConverters
from tests.support.connect_json import (
    DAY_MS,
    FLAT,
    TEXT_DECIMAL,
    arrow,
    column,
    connect_schema,
    connect_value,
    expected,
    fields,
    longer_in_java,
    parsed,
    same,
    values,
)
from tests.support.randomness import examples
from tools.servers import Jars

FORMATS = ("BASE64", "NUMERIC")
BIG = 2**63 - 1

_STRINGS = ["", "abc", 'quote " backslash \\ slash /', "\x00\x1f\x7f\t\n\r\b\f", "é\u2028\ufffe😀", "a" * 10_000]
_FLOATS = [0.0, -0.0, 1.0, 0.1, 1e16, 1e-7, 1e7, 123456789.125, float("nan"), float("inf"), float("-inf")]
_DOUBLES = [*_FLOATS, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2e23, 0.30000000000000004, 9007199254740993.0]
_SINGLES = np.array([*_FLOATS, 1.401298464324817e-45, 3.4028234663852886e38], np.float32).tolist()
_TENTHS = column("item", pa.decimal128(38, 1), "decimal")
_UUID_KEY = column("key", pa.string(), "uuid").with_nullable(False)
_INNER = pa.struct([pa.field('é "', pa.string()), pa.field("f", pa.float64())])
_NESTED = pa.struct([pa.field("z", pa.int32()), pa.field("a", _INNER)])

TABLE: dict[str, tuple[pa.Field, list[Any]]] = {
    "byte": (column("v", pa.int8()), [-128, 0, 127]),
    "short": (column("v", pa.int16()), [-(2**15), 0, 2**15 - 1]),
    "int": (column("v", pa.int32()), [-(2**31), 0, 2**31 - 1]),
    "long": (column("v", pa.int64()), [-BIG - 1, -1, 0, 2**53 + 1, BIG]),
    "char": (column("v", pa.int32(), "char"), [0, 97, 0xFFFF]),
    "float": (column("v", pa.float32()), _SINGLES),
    "double": (column("v", pa.float64()), _DOUBLES),
    "boolean": (column("v", pa.bool_()), [True, False]),
    "String": (column("v", pa.string()), _STRINGS),
    "Class": (column("v", pa.string(), "class"), ["java.lang.String"]),
    "UUID": (column("v", pa.string(), "uuid"), ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    "enum by name": (column("v", pa.string(), "enum"), ["RED", "Color.RED", "org.example.Color.RED"]),
    "enum by ordinal": (column("v", pa.int32(), "enum"), [0, 7]),
    "java.util.Date": (column("v", pa.timestamp("ms", "UTC"), "date"), [-BIG - 1, -1, 0, 1, 1_767_225_600_123, BIG]),
    "java.sql.Timestamp": (column("v", pa.timestamp("us", "UTC")), [-BIG - 1, -1001, -1000, -1, 0, 999, 1_767_225_600_123_456, BIG]),
    "java.sql.Date": (column("v", pa.date32()), [-(2**31), -719_162, -1, 0, 20_454, 2**31 - 1]),
    "java.sql.Time": (column("v", pa.int64(), "time"), [0, 1, 43_200_000, DAY_MS - 1, DAY_MS]),
    "BigDecimal of one scale": (
        column("v", pa.decimal128(38, 2), "decimal"),
        [Decimal("0.00"), Decimal("-1.50"), Decimal("9" * 36 + ".99")],
    ),
    "whole BigDecimal": (
        column("v", pa.decimal128(38, 0), "decimal"),
        [Decimal(0), *(Decimal(s * 2**n) for n in (7, 8, 63, 64) for s in (1, -1))],
    ),
    "BigDecimal of any scale": (
        TEXT_DECIMAL,
        [Decimal("1.50"), Decimal("5E+2"), Decimal("-1E-30"), Decimal("0E-9"), Decimal("1" * 300 + ".5")],
    ),
    "byte[]": (column("v", pa.binary()), [b"", b"\x00", b"\xff\xfe", bytes(range(256))]),
    "array": (column("v", pa.list_(pa.int32())), [[], [1], [None, -5, None]]),
    "array of doubles": (column("v", pa.list_(pa.float64())), [[1.0, None], [float("nan"), 2.5]]),
    "array of arrays": (column("v", pa.list_(pa.list_(pa.string()))), [[], [[], None, ["a", None]]]),
    "array of decimals": (column("v", pa.list_(_TENTHS)), [[Decimal("1.0"), None, Decimal("-0.1")]]),
    "map of strings": (column("v", pa.map_(pa.string(), pa.int64())), [[], [("a", 1), ('b"', None), ("", BIG)]]),
    "map of UUIDs": (column("v", pa.map_(_UUID_KEY, pa.bool_())), [[("0", True)]]),
    "map of numbers": (column("v", pa.map_(pa.int32(), pa.string())), [[(1, "a"), (2, None)]]),
    "map of maps": (column("v", pa.map_(pa.string(), pa.map_(pa.bool_(), pa.string()))), [[("a", [(True, "x")]), ("b", None)]]),
    "map of decimals": (column("v", pa.map_(_TENTHS.with_nullable(False), pa.int8())), [[(Decimal("1.5"), 1)]]),
    "object": (column("v", _NESTED), [(1, ("x", 1.5)), (None, None), (2, (None, float("nan")))]),
}


@pytest.fixture(scope="module")
def connect(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectConverters]:
    java = ConnectConverters(jars.kafka, tmp_path_factory.mktemp("classes"))
    yield java
    java.close()


def config(decimal_format: str) -> dict[str, str]:
    return {"schemas.enable": "false", "decimal.format": decimal_format}


def compare(connect: ConnectConverters, field: pa.Field, rows: list[Any], decimal_format: str) -> None:
    """Ours are the real converter's bytes, and parse to the value that the rules give."""
    # a decimal in text has a scale of its own, so its column is written row by row
    ours = text(arrow(rows, field), field, JsonFormat(decimal_format)).to_pylist()
    for row, our in zip(rows, ours, strict=True):
        real = connect.write(JSON, connect_schema(field, row), connect_value(row, field), config(decimal_format))
        assert real is not None
        wanted = expected(row, field, decimal_format)
        assert same(parsed(real), wanted), f"the reference is wrong: {real!r} for {row!r}"
        assert same(parsed(our), wanted), f"{our!r} instead of {real!r} for {row!r}"
        assert our == real or longer_in_java(our, real), row


@pytest.mark.parametrize("decimal_format", FORMATS)
@pytest.mark.parametrize("name", TABLE)
def test_every_type_of_the_table(connect: ConnectConverters, name: str, decimal_format: str) -> None:
    field, rows = TABLE[name]
    compare(connect, field, rows if field is TEXT_DECIMAL else [*rows, None], decimal_format)


@pytest.mark.parametrize("decimal_format", FORMATS)
def test_one_object_with_every_type(connect: ConnectConverters, decimal_format: str) -> None:
    named = {name: pair for name, pair in TABLE.items() if pair[0] is not TEXT_DECIMAL}
    record = column("", pa.struct([field.with_name(name) for name, (field, _) in named.items()]))
    rows = [tuple(cases[i % len(cases)] for _, cases in named.values()) for i in range(20)]
    compare(connect, record, [*rows, (None,) * len(named)], decimal_format)


def test_an_empty_map_has_no_schema_and_is_an_object(connect: ConnectConverters) -> None:
    kind = pa.map_(pa.int32(), pa.string())
    assert connect.write(JSON, None, {}, config("BASE64")) == b"{}"
    assert text(pa.array([[]], kind), pa.field("", kind), JsonFormat()).to_pylist() == [b"{}"]


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data(), fields(FLAT), st.sampled_from(FORMATS))
def test_random_columns(connect: ConnectConverters, data: st.DataObject, field: pa.Field, decimal_format: str) -> None:
    compare(connect, field, data.draw(st.lists(values(field, least=1), max_size=4)), decimal_format)
