"""Conversion between Ignite entries and Kafka records; :func:`converter` returns the converter that the settings name.

Imports ignite and kafka; source, sink, admin and datasources import it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SettingsError
from .to_kafka.converter import Converter

__all__ = ["Converter", "converter"]

NAMES = ("json", "ignite-binary")


def converter(name: str, *, decimal_format: str = "BASE64", enum_policy: str = "SHORT_NAME") -> Converter:
    """The converter of that name.

    :param decimal_format: BASE64 or NUMERIC, as ``decimal.format`` of Kafka Connect's JsonConverter.
    :param enum_policy: ORDINAL, SHORT_NAME, LONG_NAME or FULL_NAME.
    :raises SettingsError: an argument has another value.
    """
    _one_of("value_converter", name, NAMES)
    _one_of("decimal_format", decimal_format, ("BASE64", "NUMERIC"))
    _one_of("enum_policy", enum_policy, ("ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME"))
    # polars costs 0.13 s and 32 MB: imported where it is used
    if name == "ignite-binary":
        from .to_kafka.ignite_binary import IgniteBinaryConverter

        return IgniteBinaryConverter()
    from ..ignite.binary import EnumPolicy
    from .to_kafka.json import JsonConverter
    from .to_kafka.json_columns import JsonFormat

    return JsonConverter(JsonFormat(decimal_format), EnumPolicy(enum_policy))


def _one_of(setting: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SettingsError(f"{setting} is {value!r}", f"Use one of {', '.join(allowed)}.", setting=setting)
