"""Our converters of bytes and primitives beside Kafka's: bytes, values, and messages about what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectColumn, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import arrow_type
from ignite_kafka.convert.scalars.primitives import (
    PRIMITIVES,
    BytesDeserializer,
    BytesSerializer,
    PrimitiveDeserializer,
    PrimitiveSerializer,
)
from tests.support.connect_converters import ConnectConverters, Refused
from tests.support.connect_data import described, exact
from tests.support.connect_json import column, connect_schema, connect_value, values
from tests.support.randomness import examples
from tools.servers import Jars

CLASSES = {name: f"org.apache.kafka.connect.converters.{name.capitalize()}Converter" for name in PRIMITIVES}
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


@pytest.fixture(scope="module")
def kafka(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectConverters]:
    java = ConnectConverters(jars.kafka, tmp_path_factory.mktemp("classes"))
    yield java
    java.close()


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(sorted(PRIMITIVES)))
def test_written_and_read_as_kafka_does(kafka: ConnectConverters, data: st.DataObject, name: str) -> None:
    primitive = PRIMITIVES[name]
    field = column("v", arrow_type(primitive.schema))
    rows = data.draw(st.lists(values(field), max_size=6))
    whole = pa.array([None, *rows], field.type)
    made = PrimitiveSerializer(primitive).serialize(ConnectColumn(whole[1:], primitive.schema), "t")  # an array with an offset
    assert made.to_pylist() == [kafka.write(CLASSES[name], connect_schema(field), connect_value(row, field)) for row in rows]
    found = PrimitiveDeserializer(primitive).deserialize(made.drop_null(), "t")
    assert found.bad == ()
    back = [value for part in found.parts for value in part.column.data.to_pylist()]
    wanted = [kafka.read(CLASSES[name], item) for item in made.drop_null().to_pylist()]
    assert [(described(primitive.schema), exact(value, primitive.schema)) for value in back] == wanted


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(PRIMITIVES)), st.lists(st.binary(max_size=9), min_size=1, max_size=4))
def test_bytes_that_are_no_value(kafka: ConnectConverters, name: str, items: list[bytes]) -> None:
    found = PrimitiveDeserializer(PRIMITIVES[name]).deserialize(pa.array([b"", *items], pa.binary())[1:], "t")
    good = {int(row): value for part in found.parts for row, value in zip(part.rows, part.column.data.to_pylist(), strict=True)}
    values, refused = {}, {}
    for row, item in enumerate(items):
        try:
            values[row] = kafka.read(CLASSES[name], item)[1]
        except Refused as error:
            refused[row] = str(error)
    assert {row: exact(value, PRIMITIVES[name].schema) for row, value in good.items()} == values
    assert dict(found.bad) == refused


def test_bytes_are_passed_on(kafka: ConnectConverters) -> None:
    rows = [b"", b"\x00\xff", None]
    schema = ConnectSchema(ConnectType.BYTES)
    made = BytesSerializer().serialize(ConnectColumn(pa.array(rows), schema), "t")
    field = column("v", pa.binary())
    assert made.to_pylist() == rows == [kafka.write(BYTES, connect_schema(field), connect_value(row, field)) for row in rows]
    assert kafka.read(BYTES, b"\x00\xff") == (described(ConnectSchema(ConnectType.BYTES, optional=True)), "AP8=")
    (part,) = BytesDeserializer().deserialize(made[:2], "t").parts
    assert (part.column.data.to_pylist(), part.column.schema) == (rows[:2], ConnectSchema(ConnectType.BYTES, optional=True))
