"""Entries to the bytes of Kafka records. One converter a file; :func:`converter` finds it by its name in the settings.

Imports ignite and kafka; source, sink, admin and datasources import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..errors import SettingsError
from ..ignite.types.model import CacheInfo, Page, TypeSource
from .to_kafka.records import Records

__all__ = ["Converter", "Records", "converter"]

NAMES = ("json", "ignite-binary")


class Converter(Protocol):
    """Makes records of pages of entries. It keeps no state: one converter may serve several threads."""

    @property
    def name(self) -> str: ...

    def check(self, cache: CacheInfo, types: TypeSource) -> None:
        """Raise UnsupportedType, before the first record, when the metadata shows a type that this converter cannot hold."""

    def convert(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, in_order: bool = False) -> Records:
        """Key and value bytes of all entries of the pages, every entry exactly once; on demand in their order."""


def converter(name: str, *, decimal_format: str = "BASE64", enum_policy: str = "SHORT_NAME") -> Converter:
    """The converter of that name.

    :param decimal_format: BASE64 or NUMERIC, as ``decimal.format`` of Kafka Connect's JsonConverter.
    :param enum_policy: ORDINAL, SHORT_NAME, LONG_NAME or FULL_NAME.
    :raises SettingsError: one of them is none of these.
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
    from .to_kafka.json_columns import JsonForm

    return JsonConverter(JsonForm(decimal_format), EnumPolicy(enum_policy))


def _one_of(setting: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SettingsError(f"{setting} is {value!r}", f"Use one of {', '.join(allowed)}.", setting=setting)
