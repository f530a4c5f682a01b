"""Converters of keys by a name, as tests compare them; those of Connect without the settings that choose them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ignite_kafka.convert.avro.deserializer import AvroDeserializer
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.connect.columns import Deserializer, Serializer
from ignite_kafka.convert.connect_converters import serializer
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_schema.deserializer import JsonSchemaDeserializer
from ignite_kafka.convert.json_schema.serializer import JsonSchemaSerializer
from ignite_kafka.convert.json_with_schemas.deserializer import ConnectJsonDeserializer
from ignite_kafka.convert.scalars.primitives import PRIMITIVES, PrimitiveDeserializer
from ignite_kafka.convert.scalars.text import StringDeserializer
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.converter import Converter
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.ignite.binary import EnumPolicy
from ignite_kafka.settings.converters import parse_properties
from tests.support.converters import converter
from tests.support.registry import memory_registry


def _connect(
    name: str,
    deserializer: Callable[[], Deserializer],
    enums: EnumPolicy = EnumPolicy.SHORT_NAME,
    policy: SchemaPolicy | None = None,
    decimals: str = "BASE64",
) -> Converter:
    given = {"schemas.enable": "true", "decimal.format": decimals} if name == "json" else {}
    made = serializer(name, "key", {**parse_properties("c", name, {}), **given})
    assert made is not None
    return _keys(made, deserializer, enums, policy, decimals)


def _keys(
    made: Serializer,
    deserializer: Callable[[], Deserializer],
    enums: EnumPolicy = EnumPolicy.SHORT_NAME,
    policy: SchemaPolicy | None = None,
    decimals: str = "BASE64",
) -> Converter:
    side = ConnectSide("key", made, policy or SchemaPolicy(), JsonConverter("key", JsonFormat(decimals)), deserializer)
    return EntryConverter(side, JsonConverter("value"), enums)


_REGISTRY = memory_registry(side="key")
_AVRO = AvroOptions(scrub=True)
KEY_CONVERTERS: Mapping[str, Callable[[], Converter]] = {
    "json": lambda: converter("json"),
    "json-numeric": lambda: converter("json", decimal_format="NUMERIC", enum_policy="ORDINAL"),
    "json-full-names": lambda: converter("json", enum_policy="FULL_NAME"),
    "json-long-names": lambda: converter("json", enum_policy="LONG_NAME", decimal_format="NUMERIC"),
    "schemas": lambda: _connect("json", ConnectJsonDeserializer),
    "schemas-numeric": lambda: _connect("json", ConnectJsonDeserializer, EnumPolicy.ORDINAL, SchemaPolicy(eager=True), "NUMERIC"),
    "schemas-full-names": lambda: _connect("json", ConnectJsonDeserializer, EnumPolicy.FULL_NAME),
    "schemaless": lambda: _connect("json", ConnectJsonDeserializer, policy=SchemaPolicy(schemaless=True)),
    "string": lambda: _connect("string", StringDeserializer),
    "long": lambda: _connect("long", lambda: PrimitiveDeserializer(PRIMITIVES["long"])),
    "float": lambda: _connect("float", lambda: PrimitiveDeserializer(PRIMITIVES["float"])),
    "avro": lambda: _keys(AvroSerializer(_REGISTRY, _AVRO), lambda: AvroDeserializer(_REGISTRY, _AVRO)),
    "json-schema": lambda: _keys(JsonSchemaSerializer(_REGISTRY), lambda: JsonSchemaDeserializer(_REGISTRY)),
    "ignite-binary": lambda: converter("ignite-binary"),
}
