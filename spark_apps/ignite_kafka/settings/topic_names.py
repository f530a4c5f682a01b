"""Rules for names of Kafka topics, and the names of the connectors' internal topics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from ..errors import SettingsError

DEFAULT_PREFIX = "ignite-kafka"
_INTERNAL_TOPICS = ("comparisons", "configs", "heartbeats", "offsets", "status", "types")
_BROKER_TOPICS = frozenset({"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"})
TOPIC_CHARACTERS = r"[a-zA-Z0-9._-]{1,249}"
ALLOWED = "1 to 249 of the characters a-z A-Z 0-9 . _ -"
PREFIX = re.compile(r"[a-zA-Z0-9._-]{1,180}")
PREFIXES = "IGNITE_KAFKA_INTERNAL_TOPIC_PREFIXES"
_reserved: tuple[str, ...] = ()
_TOPIC = re.compile(TOPIC_CHARACTERS)


def is_topic_name(text: str) -> bool:
    """Return whether Kafka accepts a text as a topic name."""
    return bool(_TOPIC.fullmatch(text)) and text not in (".", "..")


def types_topic(internal_topic_prefix: str) -> str:
    """Return the name of the internal topic with the types of records in Ignite's binary format."""
    return f"{internal_topic_prefix}-types"


def reserve(prefixes: Iterable[str]) -> None:
    """Set further prefixes of internal topics for this process, so that data topics with them are refused.

    An administrator lists the prefixes; no setting does. The list replaces an earlier list.
    """
    global _reserved
    _reserved = tuple(prefixes)


def reserved() -> tuple[str, ...]:
    """Return the reserved prefixes of internal topics, from :func:`reserve` and variable :data:`PREFIXES`, sorted.

    :raises SettingsError: the variable holds a text that is no prefix.
    """
    listed = os.environ.get(PREFIXES, "")
    named = [prefix.strip() for prefix in listed.split(",")] if listed.strip() else []
    for prefix in named:
        if not PREFIX.fullmatch(prefix):
            what = f"the environment variable {PREFIXES} has {prefix!r}, which is no prefix of topics"
            raise SettingsError(
                what, "Give prefixes of 1 to 180 of the characters a-z A-Z 0-9 . _ -, with commas between"
            )
    return tuple(sorted({*_reserved, *named}))


def is_internal_topic(topic: str, internal_topic_prefix: str) -> bool:
    """Return whether a topic is internal to brokers or connectors, so that no data may be copied from or to it.

    Connectors' internal topics have this prefix, the default one, or a reserved one.
    """
    prefixes = {internal_topic_prefix, DEFAULT_PREFIX, *reserved()}
    names = (f"{prefix}-{name}" for prefix in prefixes for name in _INTERNAL_TOPICS)
    return topic in _BROKER_TOPICS or any(topic == name or topic.startswith(f"{name}-") for name in names)


def check_data_topic(setting: str, topic: str, internal_topic_prefix: str = DEFAULT_PREFIX) -> None:
    """Refuse an internal topic as a data topic, because its records control connectors or hold secrets.

    :param setting: the setting or option that names the topic.
    :raises SettingsError: the topic is internal.
    """
    if is_internal_topic(topic, internal_topic_prefix):
        what = f"{setting} names an internal topic of {'brokers' if topic in _BROKER_TOPICS else 'connectors'}"
        raise SettingsError(what, "Choose another topic", setting=setting, topic=topic)
