"""Conversion between Ignite entries and Kafka records.

:func:`converter` returns the converter that a source's settings choose.

:class:`Converters` has the converter of each cache.

Imports ignite, kafka and settings; source, sink, admin and datasources import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..settings.converters import IGNITE_BINARY, JSON
from ..settings.source import EAGER

if TYPE_CHECKING:
    from ..settings.connector import ConnectorSettings
    from ..settings.source import SourceSettings
    from .to_kafka.converter import Converter, KeyConverter
    from .to_kafka.entry_converter import EntryConverter

__all__ = ["Converters", "check_transforms", "converter"]


def check_transforms(settings: ConnectorSettings) -> None:
    """Check the transforms and predicates of a connector and its overrides, without connecting to a cluster.

    :raises SettingsError: a class is unknown, its properties are wrong, or a source's transforms would give one cache
        several topics.
    """
    if any(variant.transforms for variant in settings.variants):
        from .transforms.steps import check_steps  # which a run without transforms does not load

        check_steps(settings)


def converter(settings: SourceSettings, whole: SourceSettings | None = None) -> Converter:
    """Return the source converter that the settings choose, from a cache's entries to records.

    :param settings: settings of the cache.
    :param whole: settings of the connector, to find the topic of each cache; None: `settings`.
    :raises SettingsError: a transform's class is unknown, or its properties are wrong.
    """
    # polars costs 0.13 s and 32 MB: imported where it is used
    if settings.key_converter == settings.value_converter == IGNITE_BINARY:
        from .ignite_binary.serializer import IgniteBinaryConverter

        return IgniteBinaryConverter()
    from ..ignite.binary import EnumPolicy
    from .to_kafka.entry_converter import EntryConverter

    fields = None
    if settings.record_key or settings.record_timestamp_field:
        from .to_kafka.record_fields import RecordFields

        fields = RecordFields(settings.record_key, settings.record_timestamp_field)
    selected = None
    if settings.select:
        from ..sql import parse_columns
        from .to_kafka.selected_fields import SelectedFields

        selected = SelectedFields(parse_columns(settings.select))
    sides = _side(settings, "key"), _side(settings, "value")
    plain = EntryConverter(*sides, EnumPolicy(settings.enum_policy), settings.date_time_zone, fields, selected)
    return _transforming(plain, settings, whole or settings) if settings.transforms else plain


def _transforming(plain: EntryConverter, settings: SourceSettings, whole: SourceSettings) -> Converter:
    from ..settings.transforms import chain_of
    from .connect_converters import header_serializer
    from .to_kafka.connect_side import ConnectSide
    from .to_kafka.transforming_converter import Chain, TransformingConverter
    from .transforms.steps import make_steps

    headers = header_serializer(settings.header_converter, settings.converter_properties("header"))
    chain = Chain(make_steps(settings), chain_of(settings), headers, lambda cache: whole.topic_of(cache).name)
    key, value = (_side(settings, side, connect=True) for side in ("key", "value"))
    assert isinstance(key, ConnectSide)
    assert isinstance(value, ConnectSide)
    return TransformingConverter(plain, key, value, chain)


class Converters:
    """Source converters by cache; caches with the same settings share one."""

    def __init__(self, settings: SourceSettings, make: Callable[[SourceSettings], Converter] | None = None) -> None:
        self._settings = settings
        self._make = make or (lambda own: converter(own, settings))
        self._converters: dict[str | None, Converter] = {}

    def of(self, cache: str) -> Converter:
        """Return the converter from this cache's entries to records."""
        override = self._settings.override_of(cache)
        if override not in self._converters:
            self._converters[override] = self._make(self._settings.of(cache))
        return self._converters[override]

    def of_keys(self, cache: str) -> Converter:
        """Return the converter that turns the keys of a cache's records back into Ignite keys.

        If the cache's transforms do not change keys, the converter has no transforms.
        """
        of_cache = self.of(cache)
        return getattr(of_cache, "of_keys", None) or of_cache


def _side(settings: SourceSettings, side: str, *, connect: bool = False) -> KeyConverter | None:
    """Return the converter of keys or of values; None for Ignite's binary format, which needs no conversion.

    :param connect: write JSON without schemas from Connect columns, too, because transforms return such columns.
    """
    name = getattr(settings, f"{side}_converter")
    properties = settings.converter_properties(side)
    if name == IGNITE_BINARY:
        return None
    from .connect_converters import deserializer, serializer
    from .json.converter import JsonConverter
    from .json.write_columns import JsonFormat
    from .to_ignite.conversion_rules import SideRules
    from .to_kafka.connect_side import ConnectSide, SchemaPolicy
    from .to_kafka.first_schemas import first_schemas

    eager = settings.field_nullability_policy == EAGER
    plain = JsonConverter(
        side,
        JsonFormat(properties.get("decimal.format", settings.decimal_format), omit_nulls=side == "value" and not eager),
    )
    writer = serializer(name, side, properties)
    if writer is None and connect:
        from .json_with_schemas.serializer import ConnectJsonSerializer

        writer = ConnectJsonSerializer(
            JsonFormat(properties["decimal.format"]), schemas=False, defaults=properties["replace.null.with.default"]
        )
    if writer is None:
        return plain
    first = None
    if not settings.is_schema_dynamic:
        first = first_schemas(settings.name, settings.schema_cache_max_size, settings.schema_cache_ttl_ms)
    # the other converters write the same bytes with a schema and without
    schemaless = settings.is_schemaless and name == JSON
    policy = SchemaPolicy(eager, schemaless, first, settings.date_time_zone)
    return ConnectSide(side, writer, policy, plain, lambda: deserializer(side, SideRules(name, properties)))
