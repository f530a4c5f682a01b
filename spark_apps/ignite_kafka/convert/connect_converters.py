"""Table of the converters: their names in settings, and the functions that make their serializers and deserializers.

A converter is added with an entry of CONVERTERS, besides its name, classes and properties in
:mod:`~ignite_kafka.settings.converters`. It then writes and reads both sides of records, for every key policy:
:class:`~.to_ignite.connect_values.ConnectReader` turns its columns into Ignite's values. Factories import what they
need when they are called, so that a run loads its own converters only.

Converter ignite-binary has no entry: its bytes do not pass through Connect's data model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import SettingsError
from ..settings import converters

if TYPE_CHECKING:
    from .connect.columns import Deserializer, Serializer
    from .to_ignite.conversion_rules import SideRules


class ConnectConverter(NamedTuple):
    """Functions that make a converter's serializer and deserializer, for `key`, `value` or `header`.

    A factory returns None if the side has JSON texts without schemas.
    """

    serializer: Callable[[str, Mapping[str, Any]], Serializer | None]
    deserializer: Callable[[str, Mapping[str, Any]], Deserializer | None]


def serializer(name: str, side: str, properties: Mapping[str, Any]) -> Serializer | None:
    """Return the serializer for keys, values or headers; None for JSON without schemas, which needs none.

    :class:`~.json.converter.JsonConverter` writes JSON without schemas, without Connect's data model.

    :param properties: every property of the converter (:func:`~ignite_kafka.settings.converters.parse_properties`).
    """
    return CONVERTERS[name].serializer(side, properties)


def header_serializer(name: str, properties: Mapping[str, Any]) -> Serializer:
    """Return the serializer for header values."""
    writer = serializer(name, "header", properties)
    assert writer is not None, name
    return writer


def deserializer(side: str, rules: SideRules) -> Deserializer | None:
    """Return the deserializer for keys, values or headers; None for JSON without schemas, which needs none.

    :class:`~.json.reader.JsonReader` reads JSON without schemas.

    :raises SettingsError: a property is wrong in a way that only the converter itself can check.
    """
    return CONVERTERS[rules.converter].deserializer(side, _with_defaults(rules))


def head_of(rules: SideRules) -> Callable[[bytes], bytes] | None:
    """Return the function that finds a value's head, its repeated schema; None for converters without heads.

    Records are read without their heads (:mod:`~ignite_kafka.kafka.value_heads`).
    """
    properties = _with_defaults(rules)
    # with schema.content each record is only a payload
    content = properties.get("schema.content") and properties["schemas.enable"] == "true"
    if rules.converter != converters.JSON or properties["schemas.enable"] == "false" or content:
        return None
    from .json.envelope_texts import head_of

    return head_of


def _with_defaults(rules: SideRules) -> Mapping[str, Any]:
    return {name: definition.default for name, definition in converters.PROPERTIES[rules.converter].items()} | dict(
        rules.properties
    )


def _json_serializer(side: str, properties: Mapping[str, Any]) -> Serializer | None:
    schemas = properties["schemas.enable"] == "true"
    if not schemas and side != "header":
        return None
    from .json.write_columns import JsonFormat
    from .json_with_schemas.serializer import ConnectJsonSerializer

    defaults = properties["replace.null.with.default"]
    kept = properties["schemas.cache.size"]
    return ConnectJsonSerializer(
        JsonFormat(properties["decimal.format"]), schemas=schemas, defaults=defaults, kept=kept
    )


def _json_deserializer(side: str, properties: Mapping[str, Any]) -> Deserializer | None:
    schemas = properties["schemas.enable"]
    if schemas == "false":
        return None
    from .json.values import Refused
    from .json_with_schemas.deserializer import ConnectJsonDeserializer

    content = properties["schema.content"] if schemas == "true" else ""
    try:
        return ConnectJsonDeserializer(
            plain=schemas == "auto",
            defaults=properties["replace.null.with.default"],
            kept=properties["schemas.cache.size"],
            content=content,
        )
    except Refused as error:
        remedy = 'Give a schema in the form of Kafka Connect, such as {"type":"string","optional":true}.'
        what = f"the schema of all records describes none: {error.reason}"
        raise SettingsError(what, remedy, setting=f"{side}_converter_config.schema.content") from error


def _avro_serializer(side: str, properties: Mapping[str, Any]) -> Serializer:
    from ..registry.registries import registry_of
    from .avro.options import AvroOptions
    from .avro.serializer import AvroSerializer

    return AvroSerializer(registry_of(side, properties), AvroOptions.of(properties), properties["schemas.cache.config"])


def _avro_deserializer(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from ..registry.registries import registry_of
    from .avro.deserializer import AvroDeserializer
    from .avro.options import AvroOptions

    return AvroDeserializer(
        registry_of(side, properties), AvroOptions.of(properties), properties["schemas.cache.config"]
    )


def _json_schema_serializer(side: str, properties: Mapping[str, Any]) -> Serializer:
    from ..registry.registries import registry_of
    from .json.write_columns import JsonFormat
    from .json_schema.serializer import JsonSchemaSerializer

    return JsonSchemaSerializer(
        registry_of(side, properties),
        JsonFormat(properties["decimal.format"]),
        additional=properties["object.additional.properties"],
        defaults=not properties["ignore.default.for.nullables"],
    )


def _json_schema_deserializer(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from ..registry.registries import registry_of
    from .json_schema.deserializer import JsonSchemaDeserializer

    return JsonSchemaDeserializer(
        registry_of(side, properties), required=not properties["use.optional.for.nonrequired"]
    )


def _string_serializer(side: str, properties: Mapping[str, Any]) -> Serializer:
    from .scalars.text import StringSerializer

    return StringSerializer(properties["converter.encoding"], of_key=side == "key")


def _string_deserializer(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from .scalars.text import StringDeserializer

    return StringDeserializer(properties["converter.encoding"])


def _bytes_serializer(side: str, properties: Mapping[str, Any]) -> Serializer:
    from .scalars.primitives import BytesSerializer

    return BytesSerializer()


def _bytes_deserializer(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from .scalars.primitives import BytesDeserializer

    return BytesDeserializer()


def _simple_serializer(side: str, properties: Mapping[str, Any]) -> Serializer:
    from .scalars.simple import SimpleSerializer

    return SimpleSerializer()


def _simple_deserializer(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from .scalars.simple import SimpleDeserializer

    return SimpleDeserializer()


def _primitive(name: str) -> ConnectConverter:
    def serializer(side: str, properties: Mapping[str, Any]) -> Serializer:
        from .scalars.primitives import PRIMITIVES, PrimitiveSerializer

        return PrimitiveSerializer(PRIMITIVES[name])

    def deserializer(side: str, properties: Mapping[str, Any]) -> Deserializer:
        from .scalars.primitives import PRIMITIVES, PrimitiveDeserializer

        return PrimitiveDeserializer(PRIMITIVES[name])

    return ConnectConverter(serializer, deserializer)


CONVERTERS: Mapping[str, ConnectConverter] = MappingProxyType(
    {
        converters.JSON: ConnectConverter(_json_serializer, _json_deserializer),
        converters.AVRO: ConnectConverter(_avro_serializer, _avro_deserializer),
        converters.JSON_SCHEMA: ConnectConverter(_json_schema_serializer, _json_schema_deserializer),
        converters.STRING: ConnectConverter(_string_serializer, _string_deserializer),
        converters.BYTES: ConnectConverter(_bytes_serializer, _bytes_deserializer),
        converters.SIMPLE: ConnectConverter(_simple_serializer, _simple_deserializer),
    }
    | {name: _primitive(name) for name in converters.PRIMITIVES}
)
