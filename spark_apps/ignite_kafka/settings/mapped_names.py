"""Kafka Connect's names of single items of settings that are mappings, such as ``value.converter.schemas.enable``."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .transforms import CONFIGS

DEFAULT_GROUP = "topic.creation.default."
MAPPINGS: Mapping[str, str] = {
    "key.converter.": "key_converter_config",
    "value.converter.": "value_converter_config",
    "header.converter.": "header_converter_config",
    "key_converter_config.": "key_converter_config",
    "value_converter_config.": "value_converter_config",
    "header_converter_config.": "header_converter_config",
    "producer.override.": "producer_override",
    "consumer.override.": "consumer_override",
    "producer.": "producer_override",
    "consumer.": "consumer_override",
    DEFAULT_GROUP: "topic_config",
    "kafka_config.": "kafka_config",
    "producer_override.": "producer_override",
    "consumer_override.": "consumer_override",
    "topic_config.": "topic_config",
}
"""Setting by the beginning of the name; the rest is the item's."""


def spelling(name: str) -> str:
    """How to write such a name where only our names are known, as in a Dag; empty if it is none."""
    for kind, setting in CONFIGS.items():
        if name.startswith(f"{kind}."):
            alias, _, item = name.removeprefix(f"{kind}.").partition(".")
            return f"Write {_written(setting, {alias: {item or 'type': '…'}})}: a property has no setting of its own here"
    for beginning, setting in MAPPINGS.items():
        if name.startswith(beginning):
            return f"Write {_written(setting, {name.removeprefix(beginning): '…'})}: an item has no setting of its own here"
    return ""


def _written(setting: str, items: Mapping[str, object]) -> str:
    return f'"{setting}": {json.dumps(items, ensure_ascii=False)}'
