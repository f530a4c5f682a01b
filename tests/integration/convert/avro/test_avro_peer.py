"""Schemas and bodies are those of an independent form of Confluent's AvroData, text for text and byte for byte, and it reads ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.avro.decode import decode
from ignite_kafka.convert.avro.encode import encode
from ignite_kafka.convert.avro.from_connect import from_connect
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.types import to_text
from ignite_kafka.convert.connect.columns import ConnectColumn
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType, date, decimal, time, timestamp
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_with_schemas.serializer import ConnectJsonSerializer
from tests.support.avro_values import array, arrow, mapping, schemas, struct, values
from tests.support.connect_avro import ConnectAvro
from tests.support.randomness import examples
from tools.servers import Jars

T = ConnectType
LARGEST_FLOAT = 3.4e38
MARK = "io.confluent.connect.avro.Enum"
# the peer has the form of docs and enums that Confluent's converter calls discard.type.doc.default
OPTIONS = AvroOptions(discard_docs=True, enhanced=True)


@pytest.fixture(scope="module")
def peer(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectAvro]:
    found = ConnectAvro([jars.converter, jars.kafka], tmp_path_factory.mktemp("classes"), "enhanced.avro.schema.support=true")
    yield found
    found.close()


def _compare(peer: ConnectAvro, schema: ConnectSchema, value: Any) -> None:
    data = arrow([value], schema)
    avro = from_connect(schema, OPTIONS)
    envelope = ConnectJsonSerializer(JsonFormat("BASE64"), defaults=True).serialize(ConnectColumn(data, schema), "topic")[0].as_py()
    body = encode(data, schema, avro)[0].as_py()
    found = peer.ask(envelope, to_text(avro), body)
    assert to_text(avro) == found.schema
    assert body == found.body
    assert _parsed(found.read) == _parsed(envelope)


@dataclass(frozen=True, eq=False)
class _Real:
    """A float or a double by its text; Java 17 writes some with more digits than they need."""

    text: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Real):
            return False
        one, two = float(self.text), float(other.text)
        return one == two or (max(abs(one), abs(two)) < LARGEST_FLOAT and np.float32(self.text) == np.float32(other.text))


def _parsed(envelope: bytes) -> Any:
    """The members in order."""
    return json.loads(envelope, parse_float=_Real, object_pairs_hook=list)


def test_reals_are_compared_as_floats_whatever_their_digits() -> None:
    assert _parsed(b"[5.394205E15, 5e-324]") == _parsed(b"[5.3942051E15, 4.9E-324]")
    assert _parsed(b"[5.394205E15]") != _parsed(b"[5.394206E15]")
    assert _parsed(b"[1e300]") != _parsed(b"[1.1e300]")


ENUM = ConnectSchema(T.STRING, name="a.Color", parameters=((MARK, "a.Color"), (f"{MARK}.RED", "RED"), (f"{MARK}.BLUE", "BLUE")))
INNER = struct("org.acme.Inner", x=ConnectSchema(T.INT32), y=ConnectSchema(T.STRING, True))
TABLE: dict[str, tuple[ConnectSchema, Any]] = {
    **{str(kind): (ConnectSchema(kind), 5) for kind in (T.INT8, T.INT16, T.INT32, T.INT64)},
    "float": (ConnectSchema(T.FLOAT32), 1.5),
    "double": (ConnectSchema(T.FLOAT64), -0.1),
    "text": (ConnectSchema(T.STRING, True), "é😀"),
    "bytes": (ConnectSchema(T.BYTES), b"\x00\xff"),
    "decimal": (decimal(2), Decimal("-12.50")),
    "decimal of another precision": (
        replace(decimal(2), parameters=(("scale", "2"), ("connect.decimal.precision", "10"))),
        Decimal("1.00"),
    ),
    "date": (date(optional=True), -1),
    "time": (time(), 86_399_999),
    "timestamp": (timestamp(), 1_767_225_600_123),
    "enum": (struct("a.B", one=ENUM, two=ENUM), {"one": "BLUE", "two": "RED"}),
    "map of text": (mapping(ConnectSchema(T.STRING), ConnectSchema(T.INT64, True)), [("k", 1)]),
    "map of numbers": (mapping(ConnectSchema(T.INT32), ConnectSchema(T.STRING, True), optional=True), [(7, None)]),
    "named map": (mapping(ConnectSchema(T.INT32), ConnectSchema(T.STRING), name="org.acme.Pair"), [(7, "x")]),
    "array of records": (array(INNER), [{"x": 1, "y": None}, {"x": -1, "y": "z"}]),
    "record in a record, twice": (struct("org.acme.A", one=INNER, two=INNER.as_optional(), three=array(INNER)),
                                  {"one": {"x": 1, "y": "a"}, "two": None, "three": []}),
    "record without a name": (struct(None, x=ConnectSchema(T.BOOLEAN)), {"x": True}),
    "version, doc and parameters": (
        struct("a.B", x=ConnectSchema(T.STRING, True, name="a.Text", version=3, doc="of x", parameters=(("p", "v"), ("avro.q", "w")))),
        {"x": "t"},
    ),
    "defaults": (
        struct("a.B", n=ConnectSchema(T.INT32, True, default=5), t=ConnectSchema(T.STRING, default="d"),
               i=ConnectSchema(T.INT8, default=1)),
        {"n": None, "t": "x", "i": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_schema_body_and_reading_equal_the_peers(peer: ConnectAvro, name: str) -> None:
    _compare(peer, *TABLE[name])


@pytest.mark.parametrize("key", [T.STRING, T.INT32])
def test_the_last_of_equal_keys_wins(peer: ConnectAvro, key: T) -> None:
    schema = mapping(ConnectSchema(key), ConnectSchema(T.INT32))
    one = b"\x02a" if key is T.STRING else b"\x02"
    body = b"\x04" + one + b"\x02" + one + b"\x04\x00"
    avro = from_connect(schema, OPTIONS)
    [(_, column)], _ = decode(pa.array([body], pa.binary()), avro, schema)
    envelope = ConnectJsonSerializer(JsonFormat("BASE64"), defaults=True).serialize(ConnectColumn(column, schema), "topic")[0].as_py()
    assert _parsed(peer.ask(envelope, to_text(avro), body).read) == _parsed(envelope)


def _alike(schema: ConnectSchema, value: Any) -> bool:
    """Whether a value keeps its order and form in the peer and on the way there: maps of one entry, no NaN, infinity or negative zero."""
    if value is None:
        return True
    if isinstance(value, float):
        return value - value == 0 and str(value) != "-0.0"
    if schema.type is T.STRUCT:
        return all(_alike(one.schema, value[one.name]) for one in schema.fields)
    if schema.key_schema is not None and schema.value_schema is not None:
        inner = schema.value_schema
        return len(value) <= 1 and all(_alike(schema.key_schema, key) and _alike(inner, one) for key, one in value)
    return schema.value_schema is None or all(_alike(schema.value_schema, one) for one in value)


@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_schemas_and_values_equal_the_peers(peer: ConnectAvro, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema).filter(lambda one: one is not None and _alike(schema, one)))
    _compare(peer, schema, value)
