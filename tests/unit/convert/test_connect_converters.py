"""The table of Connect's converters, and records of converters string, bytes and of primitives as entries."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.convert.avro.deserializer import AvroDeserializer
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.connect.columns import ConnectColumn
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.convert.connect_converters import CONVERTERS, deserializer, header_serializer
from ignite_kafka.convert.json_schema.deserializer import JsonSchemaDeserializer
from ignite_kafka.convert.json_with_schemas import serializer as connect_json
from ignite_kafka.convert.to_ignite import ConversionRules, Entries, SideRules, Stage
from ignite_kafka.convert.to_ignite.record_converter import RecordConverter
from ignite_kafka.errors import RegistryUnavailable, SettingsError
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.settings.converters import HEADER_NAMES, IGNITE_BINARY, NAMES, PROPERTIES, parse_properties
from tests.support.registry import MemoryClient, memory_registry
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
TYPES = GrowingTypes()


def entries(cache: CacheInfo, key: str, value: str, records: list[tuple[bytes | None, bytes | None]], **properties: str) -> Entries:
    first, second = (SideRules(name, parse_properties("", name, properties if name == "string" else {})) for name in (key, value))
    return record_converter(cache, TYPES, ConversionRules(first, second)).convert(
        consumed([v for _, v in records], [k for k, _ in records])
    )


def test_each_name_of_the_settings_has_a_converter() -> None:
    assert set(CONVERTERS) == {*NAMES, *HEADER_NAMES} - {IGNITE_BINARY}
    assert set(CONVERTERS) | {IGNITE_BINARY} == set(PROPERTIES)


def test_text_keys_and_json_values() -> None:
    found = entries(cache_of({"id": "java.lang.Integer"}, key="java.lang.String"), "string", "json", [(b"7", b'{"id": 7}'), (b'"q"', None)])
    assert [(key, value and value.fields) for key, value in decoded(found, TYPES)] == [("7", {"id": 7}), ('"q"', None)]
    assert [key[0] for key in found.keys.to_pylist()] == [codes.STRING] * 2
    assert found.bad == ()


CASES: list[tuple[str, bytes, Any, int]] = [
    ("long", struct.pack(">q", -5), -5, codes.LONG),
    ("integer", struct.pack(">i", 1 << 30), 1 << 30, codes.INT),
    ("short", struct.pack(">h", 300), 300, codes.SHORT),
    ("float", struct.pack(">f", 1.5), 1.5, codes.FLOAT),
    ("double", struct.pack(">d", 0.1), 0.1, codes.DOUBLE),
    ("boolean", b"\x01", True, codes.BOOL),
    ("bytes", b"\x00\xff", b"\x00\xff", codes.BYTE_ARRAY),
    ("string", "é".encode(), "é", codes.STRING),
]


@pytest.mark.parametrize(("name", "data", "value", "code"), CASES, ids=[case[0] for case in CASES])
def test_each_converter_gives_its_own_type(name: str, data: bytes, value: Any, code: int) -> None:
    found = entries(FREE, "string", name, [(b"k", data)])
    assert (found.values[0].as_py()[0], decoded(found, TYPES)) == (code, [("k", value)])


def test_bytes_that_are_no_value_are_bad_and_name_the_side() -> None:
    records = [(struct.pack(">q", 1), b"a"), (b"1", b"b"), (struct.pack(">q", 3), b"\xff"), (None, b"d"), (b"", None)]
    found = entries(FREE, "long", "string", records)
    assert decoded(found, TYPES) == [(1, "a")]
    why = "Failed to deserialize long: Size of data received by LongDeserializer is not 8"
    assert [(bad.row, bad.stage, bad.reason) for bad in found.bad] == [
        (1, Stage.KEY, why),
        (2, Stage.VALUE, "byte 0 is no text in UTF-8 (converter.encoding)"),
        (3, Stage.PUT, "the record has no key, and key_policy is key"),
        (4, Stage.KEY, why),
    ]


def test_the_encoding_is_a_property() -> None:
    found = entries(FREE, "string", "string", [(b"\xe9", b"\x80")], **{"converter.encoding": "latin1"})
    assert decoded(found, TYPES) == [("é", "\x80")]


@pytest.mark.parametrize(("schemas", "replaced", "payload"), [
    ("false", "true", b'"none"'), ("false", "false", b"null"), ("true", "true", b'"none"'), ("true", "false", b"null"),
])  # fmt: skip
def test_headers_in_json_have_defaults_for_nulls_as_kafkas_converter_writes_them(schemas: str, replaced: str, payload: bytes) -> None:
    given = {"schemas.enable": schemas, "replace.null.with.default": replaced}
    made = header_serializer("json", parse_properties("", "json", given))
    column = ConnectColumn(pa.array([None], pa.string()), ConnectSchema(ConnectType.STRING, True, default="none"))
    (found,) = made.serialize(column, "t").to_pylist()
    schema = b'{"schema":{"type":"string","optional":true,"default":"none"},"payload":%s}'
    assert found == (payload if schemas == "false" else schema % payload)


def test_headers_in_json_keep_as_many_schemas_as_their_property_says(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ConnectSchema] = []

    def noted(schema: ConnectSchema, _form: object) -> str:
        made.append(schema)
        return "{}"

    monkeypatch.setattr(connect_json, "schema_json", noted)
    texts, numbers = (
        ConnectColumn(pa.array(["a"]), ConnectSchema(ConnectType.STRING)),
        ConnectColumn(pa.array([1]), ConnectSchema(ConnectType.INT64)),
    )
    for size, asked in (("1", 4), ("2", 2)):
        made.clear()
        writer = header_serializer("json", parse_properties("", "json", {"schemas.enable": "true", "schemas.cache.size": size}))
        for column in (texts, numbers, texts, numbers):
            writer.serialize(column, "t")
        assert len(made) == asked


PAIR = '{"type":"struct","name":"Pair","fields":[{"type":"int32","field":"id"},{"type":"string","optional":true,"field":"text"}]}'


def test_a_sink_reads_payloads_with_the_one_schema_that_its_property_has() -> None:
    given = {"schemas.enable": "true", "schema.content": f" {PAIR} "}
    rules = ConversionRules(SideRules("string"), SideRules("json", parse_properties("", "json", given)))
    texts = [
        b'{"id":1,"text":"a"}',
        b'{"id":1.5}',
        b'{"id":1},"payload":{"id":2}',
        b'{"id":1},"x":{"id":2}',
        b"",
        b'{"text":null,"id":2}',
        None,
    ]
    found = record_converter(FREE, TYPES, rules).convert(consumed(texts, [b"%d" % row for row in range(len(texts))]))
    assert [bad.row for bad in found.bad] == [1, 2, 3, 4]
    assert [(key, value and value.fields) for key, value in decoded(found, TYPES)] == [
        ("0", {"id": 1, "text": "a"}), ("5", {"id": 2, "text": None}), ("6", None)
    ]  # fmt: skip
    assert decoded(found, TYPES)[0][1].type_name == "Pair"


def test_without_schemas_the_one_schema_has_no_effect_as_in_kafka() -> None:
    given = parse_properties("", "json", {"schemas.enable": "false", "schema.content": PAIR})
    found = record_converter(FREE, TYPES, ConversionRules(SideRules("string"), SideRules("json", given))).convert(consumed([b"5"], [b"k"]))
    assert decoded(found, TYPES) == [("k", 5)]


@pytest.mark.parametrize("content", ['{"type":"int33"}', '{"fields":[]}'])
def test_a_text_that_describes_no_schema_is_refused_by_its_setting(content: str) -> None:
    given = parse_properties("", "json", {"schemas.enable": "true", "schema.content": content})
    with pytest.raises(SettingsError, match=r"describes none: .*chema.*value_converter_config\.schema\.content"):
        deserializer("value", SideRules("json", given))


@pytest.mark.parametrize("made", [AvroDeserializer, lambda registry, _: JsonSchemaDeserializer(registry)], ids=["avro", "json-schema"])
def test_an_unknown_id_is_a_bad_record_and_a_registry_that_is_away_ends_the_attempt(made: Any) -> None:
    class Away(MemoryClient):
        def get_schema(self, _id: int) -> Any:
            raise RegistryUnavailable("away")

    def converted(client: MemoryClient) -> Entries:
        registry = memory_registry(client, retry_s=0.0)
        sides: Any = {"key": None, "value": made(registry, AvroOptions())}
        converter = RecordConverter(FREE, TYPES, deserializers=lambda side, _: sides[side])
        return converter.convert(consumed([b"\0\0\0\0\x63{}", b"{}"]))

    found = converted(MemoryClient())
    assert [(bad.row, bad.stage) for bad in found.bad] == [(0, Stage.VALUE), (1, Stage.VALUE)]
    assert "99" in found.bad[0].reason
    with pytest.raises(RegistryUnavailable):
        converted(Away())
