"""Converters of entries, from the settings that a test names."""

from __future__ import annotations

from typing import Any

from ignite_kafka import convert
from ignite_kafka.convert.to_kafka.converter import Converter
from ignite_kafka.settings.source import SourceSettings


def converter(name: str, **settings: Any) -> Converter:
    """The converter of that name for keys and values."""
    return convert.converter(SourceSettings(name="test", key_converter=name, value_converter=name, **settings))
