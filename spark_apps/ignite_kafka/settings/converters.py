"""Converters of keys and values under our names and Kafka Connect's class names, with the properties of each.

A property has its name in Kafka Connect, without the prefix ``key.converter.`` or ``value.converter.``: a file of
Connect loads as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..errors import NotAvailableYet, SettingsError
from . import avro_properties, json_schema_properties, registry_properties
from .converter_property import Property
from .encodings import ENCODING
from .fields import BOOLEAN, TEXT, SettingType, choice, whole_number
from .secrets import is_secret
from .suggestions import did_you_mean

JSON = "json"
IGNITE_BINARY = "ignite-binary"
AVRO = "avro"
JSON_SCHEMA = "json-schema"
STRING = "string"
BYTES = "bytes"
PRIMITIVES = ("boolean", "short", "integer", "long", "float", "double")
SIMPLE = "simple"
HEADER_NAMES = (SIMPLE, JSON, STRING, BYTES)
"""Names of the converters for headers."""
SCALARS = (STRING, BYTES, *PRIMITIVES)
"""Names of the converters for values without fields, such as texts and numbers."""
FIELDLESS = (IGNITE_BINARY, *SCALARS)
"""Names of the converters whose values have no fields, so that no key can be made from fields."""
NAMES = (JSON, IGNITE_BINARY, AVRO, JSON_SCHEMA, STRING, BYTES, *PRIMITIVES)

_KAFKA = "org.apache.kafka.connect"
CLASSES: Mapping[str, str] = MappingProxyType(
    {
        f"{_KAFKA}.json.JsonConverter": JSON,
        "JsonConverter": JSON,
        "org.gridgain.kafka.IgniteBinaryConverter": IGNITE_BINARY,
        "IgniteBinaryConverter": IGNITE_BINARY,
        "io.confluent.connect.avro.AvroConverter": AVRO,
        "AvroConverter": AVRO,
        "io.confluent.connect.json.JsonSchemaConverter": JSON_SCHEMA,
        "JsonSchemaConverter": JSON_SCHEMA,
        f"{_KAFKA}.storage.StringConverter": STRING,
        "StringConverter": STRING,
        f"{_KAFKA}.converters.ByteArrayConverter": BYTES,
        "ByteArrayConverter": BYTES,
    }
    | {f"{_KAFKA}.converters.{name.capitalize()}Converter": name for name in PRIMITIVES}
    | {f"{name.capitalize()}Converter": name for name in PRIMITIVES}
)
"""Converter names by Kafka Connect's class names, for keys and values."""
_NO_PROTOBUF = "Protobuf is not available in this version; avro and json-schema write schemas to the same registries"
CONVERTER = choice(
    *NAMES,
    aliases=CLASSES,
    absent=dict.fromkeys(
        ("protobuf", "ProtobufConverter", "io.confluent.connect.protobuf.ProtobufConverter"), _NO_PROTOBUF
    ),
)
"""Type of a setting whose value is a converter of keys or values."""
HEADER_CLASSES: Mapping[str, str] = MappingProxyType(
    {f"{_KAFKA}.storage.SimpleHeaderConverter": SIMPLE, "SimpleHeaderConverter": SIMPLE}
    | {java_class: name for java_class, name in CLASSES.items() if name in HEADER_NAMES}
)
"""Converter names by Kafka Connect's class names, for headers."""


def missing_converters(keys: Mapping[str, Any]) -> list[str]:
    """Return the settings of the key and value converters that neither connector file nor worker file has.

    Kafka Connect has no default for these two converters.
    """
    return [
        f"{side}.converter" for side in ("key", "value") if not {f"{side}.converter", f"{side}_converter"} & keys.keys()
    ]


_DECIMAL_FORMAT = Property(
    choice("BASE64", "NUMERIC", "", any_case=True),
    "",
    "Form of decimals: unscaled bytes in base64, or a number; empty: that of setting decimal_format",
)


def _schema(value: object) -> str:
    """Check that a schema property is the JSON text of an object, or an empty text."""
    text = str(value).strip()
    if text and not isinstance(json.loads(text), dict):
        raise ValueError("it is not a JSON object")
    return text


_SCHEMA = SettingType("string", 'a schema of Kafka Connect as JSON, such as {"type":"string","optional":true}', _schema)

_SIDE = {
    "converter.type": Property(
        TEXT, "", "Side of the records", ignored="it follows from the setting that names the converter"
    )
}
PROPERTIES: Mapping[str, Mapping[str, Property]] = MappingProxyType(
    {
        JSON: {
            **_SIDE,
            "schemas.enable": Property(
                choice("true", "false", "auto"),
                "false",
                'Write and read the schema with each value, as {"schema": …, "payload": …}; auto, of a sink: read both '
                "forms. Kafka Connect's default is true: a file that names its class has that default",
                of_sinks=("auto",),
            ),
            "decimal.format": _DECIMAL_FORMAT,
            "schemas.cache.size": Property(whole_number(0), 1_000, "Maximum number of schemas whose JSON is kept"),
            "replace.null.with.default": Property(
                BOOLEAN, True, "Whether a null in a field with a default is the default, with schemas.enable"
            ),
            "schema.content": Property(
                _SCHEMA,
                "",
                "Schema of all records that a sink reads, as JSON, with schemas.enable=true: they are payloads alone",
            ),
        },
        IGNITE_BINARY: {},
        SIMPLE: {},
        AVRO: MappingProxyType({**registry_properties.PROPERTIES, **avro_properties.PROPERTIES}),
        JSON_SCHEMA: MappingProxyType(
            {**registry_properties.PROPERTIES, **json_schema_properties.PROPERTIES, "decimal.format": _DECIMAL_FORMAT}
        ),
        STRING: {
            **_SIDE,
            "converter.encoding": Property(ENCODING, "UTF-8", "Encoding of the text"),
        },
        BYTES: _SIDE,
        **dict.fromkeys(PRIMITIVES, MappingProxyType(_SIDE)),
    }
)
"""Properties of each converter, by converter name and property name."""


def uses_registry(converter: str) -> bool:
    """Return whether a converter stores its schemas in a schema registry."""
    return registry_properties.URL in PROPERTIES.get(converter, {})


def parse_properties(
    setting: str, converter: str, properties: Mapping[str, str], set_in: str | None = None, *, sink: bool = True
) -> dict[str, Any]:
    """Parse a converter's properties; return every property by name, absent ones with their defaults.

    :param setting: name of the setting that holds the properties, for messages.
    :param sink: the converter reads records; else it writes them.
    :raises SettingsError: a name is unknown or a secret, or a value is not allowed.
    :raises NotAvailableYet: a value needs a feature that this version does not have.
    """
    definitions = PROPERTIES.get(converter, {})  # an unknown converter is an error of the setting that names it
    values = {name: definition.default for name, definition in definitions.items()}
    for written, text in properties.items():
        name = registry_properties.canonical(written)
        if is_secret(name):
            remedy = "Put it into the part registry of the secrets file (--secrets)"
            raise SettingsError("a secret is no setting", remedy, setting=f"{setting}.{name}", set_in=set_in)
        if (
            name not in definitions
            and registry_properties.URL in definitions
            and (reason := registry_properties.unsupported(name))
        ):
            raise SettingsError(reason, setting=f"{setting}.{name}", set_in=set_in)
        if name not in definitions:
            hint = (
                did_you_mean(name, definitions)
                or f"Converter {converter} has: {', '.join(sorted(definitions)) or 'no properties'}."
            )
            raise SettingsError(
                f"converter {converter} has no such property", hint, setting=f"{setting}.{name}", set_in=set_in
            )
        values[name] = parse_property(f"{setting}.{name}", definitions[name], text, set_in)
        if not sink and values[name] in definitions[name].of_sinks:
            raise SettingsError(
                f"{text} is a value for sinks: a source writes one form", setting=f"{setting}.{name}", set_in=set_in
            )
    return values


def parse_property(setting: str, definition: Property, text: str, set_in: str | None = None) -> Any:
    """Parse one property of a converter; raise the same errors as :func:`parse_properties`."""
    try:
        value = definition.type.parse(text)
    except ValueError as error:
        shown = text if definition.type.shown else None
        raise SettingsError(
            f"{error}", setting=setting, value=shown, allowed=definition.type.allowed, set_in=set_in
        ) from error
    if definition.refuses(value):
        remedy = definition.remedy or f"Allowed: {definition.type.allowed}"
        shown = setting if definition.refused is None else f"{setting} {text}"  # any text could be a secret
        raise NotAvailableYet(f"{shown} is not available", remedy, setting=setting, set_in=set_in)
    return value
