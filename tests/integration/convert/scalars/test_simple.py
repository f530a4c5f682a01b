"""Our header converter simple beside Kafka's SimpleHeaderConverter: texts of every form, and values of every scalar type."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectColumn, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import date, decimal, time, timestamp
from ignite_kafka.convert.scalars.parse_string import Parsed, parse_string
from ignite_kafka.convert.scalars.simple import SimpleSerializer
from tests.support.connect_converters import ConnectConverters
from tests.support.connect_data import described, exact
from tests.support.connect_json import column, connect_schema, connect_value
from tests.support.randomness import examples
from tools.servers import Jars

SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_PIECES = st.sampled_from(
    ["12", "-5", "+7", "1.5", "0", "1e3", "1E-2", ".5", "5.", "007", "128", "70000", "3000000000", "9223372036854775808", "1e39", "1e400",
     "0.1", "true", "false", "null", "True", "abc", "a b", " ", "\t", ",", ":", "[", "]", "{", "}", '"', '""', "\\", "\\:",
     "\\\"", "-", "+", "2024-01-31", "2024-13-45", "12:34:56.789Z", "2024-01-31T12:34:56.789Z",
     "25:61:61.000Z", "1500-02-29", "0000-01-01", "é", "\u0663"]
)  # fmt: skip
TEXTS = st.lists(_PIECES, max_size=7).map("".join) | st.text(max_size=8) | st.decimals(allow_nan=False, allow_infinity=False).map(str)
ITEMS = st.lists(
    st.sampled_from(["1", "-300", "70000", "1.5", "true", '"a"', "null", "3000000000", "1e39", '"2024-01-31"', "[1]"]), max_size=4
)
ARRAYS = ITEMS.map(lambda items: f"[{','.join(items)}]")
MAPS = st.lists(st.tuples(st.sampled_from(['"a"', '"b"', "1", "300"]), ITEMS.map(lambda one: (one or ["null"])[0])), max_size=3).map(
    lambda pairs: "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"
)


@pytest.fixture(scope="module")
def kafka(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectConverters]:
    java = ConnectConverters(jars.kafka, tmp_path_factory.mktemp("classes"))
    yield java
    java.close()


def known(value: Any, schema: ConnectSchema | None, scalar: Callable[[Any, ConnectSchema], Any]) -> Any:
    """A value with its scalars in a form; items without a schema, whose types differ, only show that they are there."""
    if value is None or schema is None:
        return None if value is None else "?"
    if schema.type is ConnectType.ARRAY:
        return [known(item, schema.value_schema, scalar) for item in value]
    if schema.type is ConnectType.MAP:
        return [[known(key, schema.key_schema, scalar), known(item, schema.value_schema, scalar)] for key, item in value]
    return scalar(value, schema)


def compare(kafka: ConnectConverters, text: str) -> None:
    schema, value = kafka.read(SIMPLE, text.encode())
    found = parse_string(text)
    assert described(found.schema) == schema, text
    assert known(found.value, found.schema, exact) == known(value, found.schema, lambda given, _: given), text


@settings(max_examples=examples(1_500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS | ARRAYS | MAPS)
@example("16777217.5")
@example("1.00000017881393421514957253748434595763683319091796875001")
def test_texts_are_read_as_kafka_reads_them(kafka: ConnectConverters, text: str) -> None:
    if not re.search(r"[eE][+-]?\d{5,}", text):
        compare(kafka, text)


ROWS: list[tuple[pa.Field, ConnectSchema, list[Any]]] = [
    (column("v", pa.int8()), ConnectSchema(ConnectType.INT8), [-128, 127]),
    (column("v", pa.int64()), ConnectSchema(ConnectType.INT64), [-(2**63), 0, 2**63 - 1]),
    (column("v", pa.bool_()), ConnectSchema(ConnectType.BOOLEAN), [True, False]),
    (column("v", pa.string()), ConnectSchema(ConnectType.STRING), ["", '"q" \\', "é😀"]),
    (column("v", pa.binary()), ConnectSchema(ConnectType.BYTES), [b"", b"\x00\xff\xfe"]),
    (column("v", pa.float64()), ConnectSchema(ConnectType.FLOAT64), [0.1, 1e10, 100.0, math.inf]),
    (column("v", pa.decimal128(38, 2), "decimal"), decimal(2), [Decimal("12.50"), Decimal("-0.01")]),
    (column("v", pa.date32()), date(), [-1, 0, 1, 20_454]),
    (column("v", pa.timestamp("ms", "UTC")), timestamp(), [-1, 0, 999, 86_399_999, 86_400_000, 86_400_001, 1_767_225_600_123]),
]


@pytest.mark.parametrize(("field", "schema", "rows"), ROWS, ids=[str(field.type) for field, *_ in ROWS])
def test_values_are_written_as_kafka_writes_them(kafka: ConnectConverters, field: pa.Field, schema: ConnectSchema, rows: list[Any]) -> None:
    rows = [*rows, None]
    made = SimpleSerializer().serialize(ConnectColumn(pa.array(rows, field.type), schema), "t").to_pylist()
    assert made == [kafka.write(SIMPLE, connect_schema(field), connect_value(row, field)) for row in rows]


def test_times_are_written_as_kafka_writes_them(kafka: ConnectConverters) -> None:
    rows = [0, 1, 86_399_999]
    made = SimpleSerializer().serialize(ConnectColumn(pa.array(rows, pa.time32("ms")), time()), "t").to_pylist()
    assert made == [kafka.write(SIMPLE, described(time()), str(row)) for row in rows]


def test_what_costs_java_without_bound_is_text() -> None:
    assert parse_string("1e2147483647") == Parsed(ConnectSchema(ConnectType.STRING), "1e2147483647")
