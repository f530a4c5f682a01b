"""This project's settings by Kafka Connect's names, such as ``value.converter.schemas.enable``."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping

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
"""This project's mapping setting for each prefix of a Connect name; the rest of the name is the mapping's key."""

CONNECT_NAMES: Mapping[str, str] = {
    "name": "name",
    "tasks.max": "tasks_max",
    "key.converter": "key_converter",
    "value.converter": "value_converter",
    "header.converter": "header_converter",
    "transforms": "transforms",
    "predicates": "predicates",
    "bootstrap.servers": "bootstrap_servers",
    "errors.deadletterqueue.topic.name": "dead_letter_topic",
    "errors.log.include.messages": "log_values",
    "errors.deadletterqueue.topic.replication.factor": "dead_letter_replication_factor",
}
CONNECT_NAMES_OF_SOURCE: Mapping[str, str] = {
    "topic.creation.enable": "create_topics",
    f"{DEFAULT_GROUP}partitions": "topic_partitions",
    f"{DEFAULT_GROUP}replication.factor": "replication_factor",
}
CONNECT_NAMES_OF_SINK: Mapping[str, str] = {
    "topics.regex": "topics_regex",
    "consumer.override.auto.offset.reset": "auto_offset_reset",
    "consumer.auto.offset.reset": "auto_offset_reset",
}
TOLERANCE = "errors.tolerance"  # its values differ from those of our setting
TOLERATED = "conversion_error_policy"
_OURS = {**CONNECT_NAMES, **CONNECT_NAMES_OF_SOURCE, **CONNECT_NAMES_OF_SINK, TOLERANCE: TOLERATED}


def spelling(name: str, settings: Container[str]) -> str:
    """Return a hint with this project's name for a Kafka Connect name, where Connect's is refused, as in a Dag.

    :param settings: the settings of the direction.
    """
    if name in _OURS:
        return f"Write {_OURS[name]}" if _OURS[name] in settings else ""
    for kind, setting in CONFIGS.items():
        if name.startswith(f"{kind}."):
            alias, _, item = name.removeprefix(f"{kind}.").partition(".")
            written = _format_setting(setting, {alias: {item or "type": "…"}})
            return f"Write {written}: a property has no setting of its own here"
    for beginning, setting in MAPPINGS.items():
        if name.startswith(beginning) and setting in settings:
            written = _format_setting(setting, {name.removeprefix(beginning): "…"})
            return f"Write {written}: an item has no setting of its own here"
    return ""


def _format_setting(setting: str, items: Mapping[str, object]) -> str:
    return f'"{setting}": {json.dumps(items, ensure_ascii=False)}'
