"""Deserializers by the name of their converter: the seam at which a converter of records with schemas is added.

A converter that is added here reads both sides of records, for every key policy: :class:`~.connect_values.ConnectReader` turns its
columns into Ignite's values. Factories import what they need when they are called, so that a run loads its own converters only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ...settings import converters
from ..connect.columns import Deserializer
from .conversion_rules import SideRules

Factory = Callable[[str, Mapping[str, Any]], Deserializer | None]
"""Makes the deserializer of a side, `key` or `value`, with the converter's properties; None: values are JSON texts without schemas."""


def deserializer(side: str, rules: SideRules) -> Deserializer | None:
    """The deserializer of a side; None: its values are JSON texts without schemas, which :class:`~.json.JsonReader` reads.

    :raises SettingsError: a property that only the converter itself can check.
    """
    defaults = {name: one.default for name, one in converters.PROPERTIES[rules.converter].items()}
    return _FACTORIES[rules.converter](side, {**defaults, **rules.properties})


def header_deserializer(rules: SideRules) -> Deserializer | None:
    """The deserializer of headers; None: their values are JSON texts without schemas."""
    if rules.converter == converters.SIMPLE:
        from ..connect.simple import SimpleDeserializer

        return SimpleDeserializer()
    return deserializer("header", rules)


def _json(side: str, properties: Mapping[str, Any]) -> Deserializer | None:
    schemas = properties["schemas.enable"]
    if schemas == "false":
        return None
    from .connect_json import ConnectJsonDeserializer

    return ConnectJsonDeserializer(
        plain=schemas == "auto",
        defaults=properties["replace.null.with.default"],
        kept=properties["schemas.cache.size"],
    )


def _avro(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from ...registry.registries import registry_of
    from ..avro.deserializer import AvroDeserializer
    from ..avro.options import AvroOptions

    return AvroDeserializer(registry_of(side, properties), AvroOptions.of(properties), properties["schemas.cache.config"])


def _json_schema(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from ...registry.registries import registry_of
    from .json_schema import JsonSchemaDeserializer

    return JsonSchemaDeserializer(registry_of(side, properties), required=not properties["use.optional.for.nonrequired"])


def _string(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from ..connect.text import StringDeserializer

    return StringDeserializer(properties["converter.encoding"])


def _bytes(side: str, properties: Mapping[str, Any]) -> Deserializer:
    from ..connect.primitives import BytesDeserializer

    return BytesDeserializer()


def _primitive(name: str) -> Factory:
    def made(side: str, properties: Mapping[str, Any]) -> Deserializer:
        from ..connect.primitives import PRIMITIVES, PrimitiveDeserializer

        return PrimitiveDeserializer(PRIMITIVES[name])

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
