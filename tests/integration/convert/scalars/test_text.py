"""Our converter string beside Kafka's StringConverter: every type, extremes, random values, encodings."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectColumn, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import date, decimal, time, timestamp
from ignite_kafka.convert.scalars.text import StringDeserializer, StringSerializer
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.settings.encodings import CODECS
from tests.support.connect_converters import ConnectConverters
from tests.support.connect_data import described
from tests.support.connect_json import column, connect_schema, connect_value, values
from tests.support.randomness import examples
from tools.servers import Jars

CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
BIG = 2**63 - 1
PLAIN = {
    pa.int8(): ConnectType.INT8, pa.int16(): ConnectType.INT16, pa.int32(): ConnectType.INT32, pa.int64(): ConnectType.INT64,
    pa.bool_(): ConnectType.BOOLEAN, pa.string(): ConnectType.STRING,
}  # fmt: skip
LOGICAL = {pa.date32(): date(), pa.time32("ms"): time(), pa.timestamp("ms", "UTC"): timestamp()}
# the first instants of the Gregorian calendar, of year 1, and of year -1
TIMES = [0, -1, 999, 951_782_400_000, -12_219_292_800_000, -12_219_292_800_001, -62_135_769_600_000, -62_135_769_600_001, BIG, -BIG - 1]
FLOATS = [0.0, -0.0, 1.0, 100.0, 1.5, 0.1, 1e-3, 9.999e-4, 9_999_999.0, 1e7, 12_345_678.5, 1e10, 1e16, -1e21, float("inf"), -float("inf")]
DOUBLES = [*FLOATS, float("nan"), 5e-324, 1e-323, 1.5e-323, 2.5e-322, 2.2250738585072014e-308, 1.7976931348623157e308, 2e23, 1e23]
SINGLES = [*np.array(FLOATS, np.float32).tolist(), float("nan"), 1.4e-45, 2.8e-45, 9.8e-45, 1.17549435e-38, 3.4028235e38, 16_777_216.0]
TABLE: list[tuple[pa.Field, list[Any]]] = [
    (column("v", pa.int8()), [-128, 127]),
    (column("v", pa.int16()), [-(2**15), 2**15 - 1]),
    (column("v", pa.int32()), [-(2**31), 0, 2**31 - 1]),
    (column("v", pa.int64()), [-BIG - 1, -1, 0, BIG]),
    (column("v", pa.bool_()), [True, False]),
    (column("v", pa.string()), ["", "abc", '"quoted"', "\x00\n", "é\u2028\ufffe\ufeff😀"]),
    (column("v", pa.date32()), [-(2**31), -719_164, -719_163, -141_428, -141_427, -1, 0, 11_016, 20_454, 2**31 - 1]),
    (column("v", pa.time32("ms")), [0, 1, 43_200_000, 86_399_999]),
    (column("v", pa.timestamp("ms", "UTC")), TIMES),
    *[
        (column("v", pa.decimal128(38, scale), "decimal"), [Decimal(f"{n}E{-scale}") for n in (0, 1, -1, 12, -1250, 10**30)])
        for scale in (-3, 0, 1, 6, 7, 8, 20)
    ],
]


@pytest.fixture(scope="module")
def kafka(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectConverters]:
    java = ConnectConverters(jars.kafka, tmp_path_factory.mktemp("classes"))
    yield java
    java.close()


def schema_of(field: pa.Field) -> ConnectSchema:
    if pa.types.is_decimal(field.type):
        return decimal(field.type.scale)
    floats = {pa.float32(): ConnectType.FLOAT32, pa.float64(): ConnectType.FLOAT64}
    return LOGICAL.get(field.type) or ConnectSchema((PLAIN | floats)[field.type])


def compare(kafka: ConnectConverters, field: pa.Field, rows: list[Any]) -> None:
    made = StringSerializer().serialize(ConnectColumn(pa.array(rows, field.type), schema_of(field)), "t").to_pylist()
    java = connect_schema(column("v", pa.int64(), "time") if pa.types.is_time(field.type) else field)
    assert made == [kafka.write(CONVERTER, java, connect_value(row, field)) for row in rows]


@pytest.mark.parametrize(("field", "rows"), TABLE, ids=[str(field.type) for field, _ in TABLE])
def test_every_type(kafka: ConnectConverters, field: pa.Field, rows: list[Any]) -> None:
    compare(kafka, field, [*rows, None])


DRAWN = [column("v", kind) for kind in (*PLAIN, pa.date32(), pa.timestamp("ms", "UTC"))]
DRAWN += [column("v", pa.decimal128(38, scale), "decimal") for scale in (0, 3, 9, 30)]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(DRAWN))
def test_random_values(kafka: ConnectConverters, data: st.DataObject, field: pa.Field) -> None:
    compare(kafka, field, data.draw(st.lists(values(field), max_size=4)))


def compare_floats(kafka: ConnectConverters, kind: pa.DataType, rows: list[float]) -> None:
    """Java's text; Java 17 and 18 may write more digits than are needed (JDK-4511638), for the same number."""
    field = column("v", kind)
    made = StringSerializer().serialize(ConnectColumn(pa.array(rows, kind), schema_of(field)), "t").to_pylist()
    for row, our in zip(rows, made, strict=True):
        real = kafka.write(CONVERTER, connect_schema(field), connect_value(row, field))
        if our == real:
            continue
        assert real is not None
        number = np.float32 if kind == pa.float32() else np.float64
        assert number(our.decode()) == number(real.decode())
        one_digit = our.decode().lstrip("-").split("E")[0].endswith(".0")
        assert len(our) < len(real) or (len(our) == len(real) and (abs(row) < 1e-43 or one_digit)), (our, real)


@pytest.mark.parametrize(("kind", "rows"), [(pa.float32(), SINGLES), (pa.float64(), DOUBLES)])
def test_extreme_floats(kafka: ConnectConverters, kind: pa.DataType, rows: list[float]) -> None:
    compare_floats(kafka, kind, rows)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(), max_size=5), st.lists(st.floats(width=32), max_size=5))
def test_random_floats(kafka: ConnectConverters, doubles: list[float], singles: list[float]) -> None:
    compare_floats(kafka, pa.float64(), doubles)
    compare_floats(kafka, pa.float32(), singles)


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(CODECS)), st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.binary(max_size=8))
def test_every_encoding(kafka: ConnectConverters, encoding: str, text: str, data: bytes) -> None:
    """Where Java puts a question mark or U+FFFD, the entry or the record is refused."""
    properties = {"converter.encoding": encoding}
    field = column("v", pa.string())
    real = kafka.write(CONVERTER, connect_schema(field), text, properties)
    try:
        our = StringSerializer(encoding).serialize(ConnectColumn(pa.array([text]), schema_of(field)), "t")[0].as_py()
    except UnsupportedType:
        our = text.encode(CODECS[encoding], "replace")
    assert our == real
    for item in (data, our):
        schema, value = kafka.read(CONVERTER, item, properties)
        assert schema == described(ConnectSchema(ConnectType.STRING, optional=True))
        found = StringDeserializer(encoding).deserialize(pa.array([item], pa.binary()), "t")
        if found.bad:
            assert "\ufffd" in str(value)
        else:
            assert found.parts[0].column.data.to_pylist() == [value]


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "ISO-8859-15", "windows-1252", "US-ASCII"])
def test_every_byte_of_an_encoding(kafka: ConnectConverters, encoding: str) -> None:
    for byte in range(256):
        _, value = kafka.read(CONVERTER, bytes([byte]), {"converter.encoding": encoding})
        found = StringDeserializer(encoding).deserialize(pa.array([bytes([byte])]), "t")
        assert [part.column.data.to_pylist() for part in found.parts] == ([] if value == "\ufffd" else [[value]])
