"""Serializers by the name of their converter: the seam at which a converter of records with schemas is added.

Factories import what they need when they are called, so that a run loads its own converters only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ...settings import converters
from ..connect.columns import Serializer
from .json_columns import JsonFormat

Factory = Callable[[str, Mapping[str, Any]], Serializer | None]
"""Makes the serializer of a side, `key` or `value`, with the converter's properties; None: JSON texts without schemas."""


def serializer(name: str, side: str, properties: Mapping[str, Any]) -> Serializer | None:
    """The serializer of a side; None: plain JSON, which :class:`.json.JsonConverter` writes without Connect's data model.

    :param properties: every property of the converter (:func:`~ignite_kafka.settings.converters.parse_properties`).
    """
    return _FACTORIES[name](side, properties)


def header_serializer(name: str, properties: Mapping[str, Any]) -> Serializer:
    """The serializer of headers' values."""
    if name == converters.SIMPLE:
        from ..connect.simple import SimpleSerializer

        return SimpleSerializer()
    if name == converters.JSON:
        from .connect_json import ConnectJsonSerializer

        return ConnectJsonSerializer(JsonFormat(properties["decimal.format"]), schemas=properties["schemas.enable"] == "true")
    made = serializer(name, "header", properties)
    assert made is not None, name
    return made


def _json(side: str, properties: Mapping[str, Any]) -> Serializer | None:
    if properties["schemas.enable"] != "true":
        return None
    from .connect_json import ConnectJsonSerializer

    return ConnectJsonSerializer(
        JsonFormat(properties["decimal.format"]),
        defaults=properties["replace.null.with.default"],
        kept=properties["schemas.cache.size"],
    )


def _avro(side: str, properties: Mapping[str, Any]) -> Serializer:
    from ...registry.registries import registry_of
    from ..avro.options import AvroOptions
    from ..avro.serializer import AvroSerializer

    return AvroSerializer(registry_of(side, properties), AvroOptions.of(properties), properties["schemas.cache.config"])


def _json_schema(side: str, properties: Mapping[str, Any]) -> Serializer:
    from ...registry.registries import registry_of
    from .json_schema import JsonSchemaSerializer

    return JsonSchemaSerializer(
        registry_of(side, properties),
        JsonFormat(properties["decimal.format"]),
        additional=properties["object.additional.properties"],
        defaults=not properties["ignore.default.for.nullables"],
    )


def _string(side: str, properties: Mapping[str, Any]) -> Serializer:
    from ..connect.text import StringSerializer

    return StringSerializer(properties["converter.encoding"], of_key=side == "key")


def _bytes(side: str, properties: Mapping[str, Any]) -> Serializer:
    from ..connect.primitives import BytesSerializer

    return BytesSerializer()


def _primitive(name: str) -> Factory:
    def made(side: str, properties: Mapping[str, Any]) -> Serializer:
        from ..connect.primitives import PRIMITIVES, PrimitiveSerializer

        return PrimitiveSerializer(PRIMITIVES[name])

    return made


_FACTORIES: Mapping[str, Factory] = MappingProxyType(
    {
        converters.JSON: _json,
        converters.AVRO: _avro,
        converters.JSON_SCHEMA: _json_schema,
        converters.STRING: _string,
        converters.BYTES: _bytes,
    }
    | {name: _primitive(name) for name in converters.PRIMITIVES}
)
