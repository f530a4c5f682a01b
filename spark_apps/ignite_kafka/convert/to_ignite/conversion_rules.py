"""Rules by which a sink converts records to entries: converters, key policy and time zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...common.time_zones import UTC
from ...errors import SettingsError
from ...settings import converters
from ...settings.schema_contracts import STORE
from ..json.write_columns import JsonFormat

KEY_POLICIES = ("key", "value", "kafka", "header")
_NO_PROPERTIES: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class SideRules:
    """Converter of the keys, values or headers of records, with its properties.

    :param properties: properties of the converter (:data:`~ignite_kafka.settings.converters.PROPERTIES`); a missing
        property has its default.
    """

    converter: str = converters.JSON
    properties: Mapping[str, Any] = field(default_factory=lambda: _NO_PROPERTIES)

    @property
    def json_format(self) -> JsonFormat:
        """Options of JSON without schemas, such as the form of decimals."""
        return JsonFormat(self.properties.get("decimal.format") or "BASE64")


@dataclass(frozen=True)
class ConversionRules:
    """Rules by which a sink converts records to entries.

    :param key_policy: source of a key: the record's `key`, fields of its `value`, a `header`, or `kafka`: topic,
        partition, offset.
    :param key_fields: with policy `key` or `value`, the key's fields, or empty for the whole key or value; with
        `kafka`, names for the three fields; with `header`, the header's name.
    :param zone: time zone of java.sql.Date and java.sql.Time.
    :param schema_contract: treatment of values' fields that the cache's SQL table has no column for.
    :raises SettingsError: an option has an unknown value, or options contradict each other.
    """

    key: SideRules = SideRules()
    value: SideRules = SideRules()
    key_policy: str = "key"
    key_fields: tuple[str, ...] = ()
    zone: str = UTC
    header: SideRules = SideRules(converters.SIMPLE)
    schema_contract: str = STORE

    def __post_init__(self) -> None:
        _require("key_converter", self.key.converter, converters.NAMES)
        _require("value_converter", self.value.converter, converters.NAMES)
        _require("key_policy", self.key_policy, KEY_POLICIES)
        for side in (self.key, self.value):
            _require("decimal_format", side.json_format.decimal_format, ("BASE64", "NUMERIC"))
        read = {"key": self.key.converter, "value": self.value.converter}.get(self.key_policy)
        if self.key_policy == "kafka" and len(self.key_fields) not in (0, 3):
            what = f"key_policy is 'kafka', and there are {len(self.key_fields)} key_fields"
            raise SettingsError(what, "Name three: of topic, partition and offset; or none.", setting="key_fields")
        if self.key_policy == "header" and len(self.key_fields) != 1:
            what = f"key_policy is 'header', and there are {len(self.key_fields)} key_fields"
            raise SettingsError(what, "Name the one header that holds the key.", setting="key_fields")
        if self.key_fields and read in converters.FIELDLESS:
            what = (
                f"key_fields are given, and the {self.key_policy}_converter is {read}, whose fields are not looked into"
            )
            raise SettingsError(what, "Use converter json, or leave key_fields out.", setting="key_fields")


def _require(setting: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingsError(f"{setting} is {value!r}", f"Use one of {', '.join(allowed)}.", setting=setting)
