"""JSON with schemas beside that of the real org.apache.kafka.connect.json.JsonConverter: byte by byte, both directions."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import decimal
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_with_schemas.deserializer import ConnectJsonDeserializer
from ignite_kafka.convert.json_with_schemas.schema_from_connect import schema_json
from ignite_kafka.convert.json_with_schemas.serializer import ConnectJsonSerializer
from tests.support.connect_converters import JSON, ConnectConverters, Refused
from tests.support.connect_data import column, described, exact, raw, schemas, values
from tests.support.connect_json import longer_in_java
from tests.support.randomness import examples
from tools.servers import Jars

FORMATS = ("BASE64", "NUMERIC")
FLAGS = (True, False)


@pytest.fixture(scope="module")
def connect(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectConverters]:
    java = ConnectConverters(jars.kafka, tmp_path_factory.mktemp("classes"))
    yield java
    java.close()


def config(decimals: str, *, enable: bool = True, defaults: bool = True) -> dict[str, str]:
    return {
        "schemas.enable": str(enable).lower(), "decimal.format": decimals, "replace.null.with.default": str(defaults).lower(),
    }  # fmt: skip


_DOUBLES = [0.0, -0.0, 1.0, 100.0, 0.001, 9.999e-4, 1e7, 9999999.5, 1e10, 1.5e-7, -1e300, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize("kind", [ConnectType.FLOAT32, ConnectType.FLOAT64])
@pytest.mark.parametrize("enable", FLAGS)
def test_floats_are_written_as_java_writes_them(connect: ConnectConverters, kind: ConnectType, enable: bool) -> None:
    schema = ConnectSchema(kind)
    rows = [*_DOUBLES, math.nan, math.inf, -math.inf] if kind is ConnectType.FLOAT64 else [0.0, -0.0, 100.0, 1e7, 1e10, 0.5, 1e-5, math.nan]
    if kind is ConnectType.FLOAT32:
        rows = [float(np.float32(row)) for row in rows]
    ours = ConnectJsonSerializer(schemas=enable).serialize(column(rows, schema), "t")
    assert ours.to_pylist() == [connect.write(JSON, described(schema), exact(row, schema), config("BASE64", enable=enable)) for row in rows]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), schemas(), st.sampled_from(FORMATS), st.sampled_from(FLAGS), st.sampled_from(FLAGS))
def test_what_is_written(
    connect: ConnectConverters, data: st.DataObject, schema: ConnectSchema, decimals: str, enable: bool, defaults: bool
) -> None:
    rows: list[Any] = data.draw(st.lists(values(schema), max_size=4))
    ours = ConnectJsonSerializer(JsonFormat(decimals), schemas=enable, defaults=defaults).serialize(column(rows, schema), "t")
    for row, our in zip(rows, ours.to_pylist(), strict=True):
        real = connect.write(JSON, described(schema), exact(row, schema), config(decimals, enable=enable, defaults=defaults))
        assert our == real or longer_in_java(our, real), row


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), schemas(), st.sampled_from(FORMATS), st.sampled_from(FLAGS), st.sampled_from(FLAGS))
def test_what_is_read(
    connect: ConnectConverters, data: st.DataObject, schema: ConnectSchema, decimals: str, spaced: bool, defaults: bool
) -> None:
    rows: list[Any] = data.draw(st.lists(values(schema), max_size=4))
    texts = ConnectJsonSerializer(JsonFormat(decimals), defaults=False).serialize(column(rows, schema), "t")
    if spaced:  # as other programs write it
        texts = pa.array([b'{ "schema" : %s , "payload" : %s }' % _halves(text) for text in texts.to_pylist()], pa.binary())
    found = ConnectJsonDeserializer(defaults=defaults).deserialize(texts, "t")
    assert not found.bad
    ours = {
        row: (part.column.schema, value)
        for part in found.parts
        for row, value in zip(part.rows.tolist(), raw(part.column.data), strict=True)
    }
    for row, text in enumerate(texts.to_pylist()):
        real_schema, real_value = connect.read(JSON, text, config(decimals, defaults=defaults))
        read_schema, value = ours[row]
        assert read_schema is not None
        assert _lost_defaults(described(read_schema)) == _lost_defaults(real_schema)
        assert _as_java(exact(value, read_schema), read_schema) == _as_java(real_value, read_schema), text


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), schemas(), st.sampled_from(FORMATS))
def test_what_is_read_with_one_schema_for_all(
    connect: ConnectConverters, data: st.DataObject, schema: ConnectSchema, decimals: str
) -> None:
    rows: list[Any] = data.draw(st.lists(values(schema), max_size=4))
    texts = ConnectJsonSerializer(JsonFormat(decimals), schemas=False, defaults=False).serialize(column(rows, schema), "t")
    texts = pa.array([b"null" if text is None else text for text in texts.to_pylist()], pa.binary())
    content = schema_json(schema, JsonFormat(decimals))
    found = ConnectJsonDeserializer(content=content).deserialize(texts, "t")
    assert not found.bad
    ours = {
        row: (part.column.schema, value)
        for part in found.parts
        for row, value in zip(part.rows.tolist(), raw(part.column.data), strict=True)
    }
    for row, text in enumerate(texts.to_pylist()):
        real_schema, real_value = connect.read(JSON, text, config(decimals) | {"schema.content": content})
        read_schema, value = ours[row]
        assert read_schema is not None
        assert _lost_defaults(described(read_schema)) == _lost_defaults(real_schema)
        assert _as_java(exact(value, read_schema), read_schema) == _as_java(real_value, read_schema), text


_POINT = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("x", ConnectSchema(ConnectType.INT32)),))


@pytest.mark.parametrize(
    ("key", "pairs"),
    [
        (ConnectSchema(ConnectType.INT32), '[[1,"a"],[1,"b"]]'),
        (ConnectSchema(ConnectType.BOOLEAN), '[[true,"a"],[false,"b"],[true,"c"]]'),
        (ConnectSchema(ConnectType.FLOAT64), '[[1.5,"a"],[0.5,"x"],[1.5,"b"]]'),
        (decimal(1), '[["AQ==","a"],["AQ==","b"]]'),
        (_POINT, '[[{"x":1},"a"],[{"x":1},"b"]]'),
    ],
)
def test_the_last_of_equal_keys_wins(connect: ConnectConverters, key: ConnectSchema, pairs: str) -> None:
    schema = ConnectSchema(ConnectType.MAP, key_schema=key, value_schema=ConnectSchema(ConnectType.STRING))
    text = f'{{"schema":{schema_json(schema, JsonFormat())},"payload":{pairs}}}'.encode()
    [part] = ConnectJsonDeserializer().deserialize(pa.array([text], pa.binary()), "t").parts
    _, real = connect.read(JSON, text, config("BASE64"))
    assert sorted(exact(raw(part.column.data)[0], schema)) == sorted(real)


@pytest.mark.parametrize(
    "text", ["", "YQ==", "YR==", " YWJj\\r\\n\\tYQ== ", "YWJj\\u0000YWJj", "AQ\\n==", "Y Q==", "YQ", "YQ= =", "YW-_", "YWJj\\u00a0"]
)
def test_forms_of_base64(connect: ConnectConverters, text: str) -> None:
    """Of the forms that Kafka's converter reads one is refused here: more characters after a padded group."""
    record = f'{{"schema":{{"type":"bytes"}},"payload":"{text}"}}'.encode()
    found = ConnectJsonDeserializer().deserialize(pa.array([record], pa.binary()), "t")
    [ours] = [value for part in found.parts for value in part.column.data.to_pylist()] or [None]
    try:
        real = base64.b64decode(connect.read(JSON, record)[1])
    except Refused:
        real = None
    assert ours == real


def _halves(text: bytes) -> tuple[bytes, bytes]:
    begin = len(b'{"schema":')
    end = begin + json.JSONDecoder().raw_decode(text[begin:].decode())[1]
    at = len(text.decode()[:end].encode()) if text.isascii() else begin + len(text[begin:].decode()[: end - begin].encode())
    return text[begin:at], text[at + len(b',"payload":') : -1]


_LOST_BY_JAVA = {
    "7fc00000",
    "7f800000",
    "ff800000",
    "80000000",
    "7ff8000000000000",
    "7ff0000000000000",
    "fff0000000000000",
    "8000000000000000",
}


def _lost_defaults(schema: Any) -> Any:
    """The description of a schema without what Java's reader loses of the defaults of floats."""
    if isinstance(schema, list):
        return [_lost_defaults(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    lost = schema["type"] in ("float32", "float64") and schema.get("default") in _LOST_BY_JAVA
    return {name: "0" * len(part) if lost and name == "default" else _lost_defaults(part) for name, part in schema.items()}


def _as_java(value: Any, schema: ConnectSchema | None) -> Any:
    """The value without what Java's reader loses: NaN, the infinities and the sign of zero; maps in one order."""
    if value is None or schema is None:
        return value
    if schema.type in (ConnectType.FLOAT32, ConnectType.FLOAT64):
        return "0" * len(value) if value in _LOST_BY_JAVA else value
    if schema.type is ConnectType.ARRAY:
        return [_as_java(item, schema.value_schema) for item in value]
    if schema.type is ConnectType.MAP:
        return sorted(([_as_java(key, schema.key_schema), _as_java(item, schema.value_schema)] for key, item in value), key=repr)
    if schema.type is ConnectType.STRUCT:
        return [_as_java(item, one.schema) for item, one in zip(value, schema.fields, strict=True)]
    return value


@pytest.mark.parametrize(
    ("kind", "payload", "lost"),
    [
        (ConnectType.INT32, "1.5", "1"),
        (ConnectType.INT8, "300", "44"),
        (ConnectType.INT64, "9223372036854775808", "-9223372036854775808"),
        (ConnectType.FLOAT64, "1e400", "7ff0000000000000"),
        (ConnectType.FLOAT64, '"NaN"', "0000000000000000"),
        (ConnectType.FLOAT64, "-0.0", "0000000000000000"),
        (ConnectType.INT32, '"5"', "0"),
        (ConnectType.INT32, "true", "0"),
        (ConnectType.BOOLEAN, "5", False),
        (ConnectType.STRING, "5", None),
        (ConnectType.INT32, '1,"payload":2', "2"),
        (ConnectType.INT32, "1} more {", "1"),
    ],
)
def test_what_kafkas_reader_turns_into_another_value(connect: ConnectConverters, kind: ConnectType, payload: str, lost: Any) -> None:
    """The table of docs/types.md: why a sink is stricter."""
    text = f'{{"schema":{{"type":"{kind}","optional":true}},"payload":{payload}}}'.encode()
    assert connect.read(JSON, text, config("BASE64"))[1] == lost
    found = ConnectJsonDeserializer().deserialize(pa.array([text]), "t")
    assert len(found.bad) == 1 or payload in ('"NaN"', "-0.0")


@pytest.mark.parametrize(("number", "kafka_reads"), [
    ("0102", True), ("-007", True), ("00.5", True), ("000", True), ("1.", False), ("+1", False), (".5", False), ("0x1", False),
])  # fmt: skip
def test_numbers_that_are_not_json(connect: ConnectConverters, number: str, kafka_reads: bool) -> None:
    text = f'{{"schema":{{"type":"double"}},"payload":{number}}}'.encode()
    found = ConnectJsonDeserializer().deserialize(pa.array([text]), "t")
    if not kafka_reads:
        assert len(found.bad) == 1
        with pytest.raises(Refused):
            connect.read(JSON, text, config("BASE64"))
        return
    (part,) = found.parts
    schema = ConnectSchema(ConnectType.FLOAT64)
    assert exact(raw(part.column.data)[0], schema) == connect.read(JSON, text, config("BASE64"))[1]
