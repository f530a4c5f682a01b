"""Names of Kafka topics: valid names, and names of internal topics."""

from __future__ import annotations

import re

_INTERNAL_TOPICS = ("configs", "offsets", "status", "types")
_BROKER_TOPICS = frozenset({"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"})
TOPIC_CHARACTERS = r"[a-zA-Z0-9._-]{1,249}"
ALLOWED = "1 to 249 of the characters a-z A-Z 0-9 . _ -"
_TOPIC = re.compile(TOPIC_CHARACTERS)


def is_topic_name(text: str) -> bool:
    """Whether Kafka accepts a text as a topic's name."""
    return bool(_TOPIC.fullmatch(text)) and text not in (".", "..")


def types_topic(internal_topic_prefix: str) -> str:
    """Name of the topic with the binary types of records in Ignite's binary format."""
    return f"{internal_topic_prefix}-types"


def is_internal_topic(topic: str, internal_topic_prefix: str) -> bool:
    """Whether a topic is an internal topic of connectors or brokers."""
    own = (f"{internal_topic_prefix}-{name}" for name in _INTERNAL_TOPICS)
    return topic in _BROKER_TOPICS or any(topic == name or topic.startswith(f"{name}-") for name in own)
