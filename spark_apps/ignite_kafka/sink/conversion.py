"""Translation of a topic's settings to conversion rules, transforms, and the search for schema prefixes of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..convert.connect_converters import deserializer, head_of
from ..convert.to_ignite import ConversionRules, SideRules
from ..settings.sink import VALUE, SinkSettings
from ..settings.transforms import chain_of
from ..sql import parse_columns

if TYPE_CHECKING:
    from ..convert.to_ignite.transforming_reader import TransformingReader


def inbound_rules(settings: SinkSettings) -> ConversionRules:
    """Build the rules for converting records to entries from a topic's settings."""
    key, value = (
        SideRules(getattr(settings, f"{side}_converter"), settings.converter_properties(side))
        for side in ("key", "value")
    )
    header = SideRules(settings.header_converter, settings.converter_properties("header"))
    return ConversionRules(
        key,
        value,
        settings.key_policy,
        settings.key_fields,
        settings.date_time_zone,
        header,
        settings.schema_contract,
    )


def transforming(settings: SinkSettings) -> TransformingReader | None:
    """Make the reader that applies a topic's transforms and `select` to records; None if it has neither."""
    if not (settings.transforms or settings.select):
        return None
    from ..convert.to_ignite.transforming_reader import TransformingReader  # not loaded by a run without transforms
    from ..convert.transforms.steps import make_steps

    select = parse_columns(settings.select) if settings.select else ()
    return TransformingReader(make_steps(settings), chain_of(settings), inbound_rules(settings), deserializer, select)


def reads_headers(settings: SinkSettings) -> bool:
    """Return whether a topic's transforms need record headers; otherwise these are not read."""
    if not settings.transforms:
        return False
    from ..convert.transforms import steps

    return steps.reads_headers(chain_of(settings))


def value_head_of(settings: SinkSettings) -> Callable[[bytes], bytes] | None:
    """Return the function that finds a value's head: its schema prefix, common to many values.

    Return None for values without heads, or if transforms, `select` or keys need whole values.
    """
    if settings.transforms or settings.select or settings.key_policy == VALUE:
        return None
    return head_of(inbound_rules(settings).value)
