"""Advice on transforms from other vendors, and on properties that Kafka has renamed."""

from __future__ import annotations

from collections.abc import Mapping

_OWN = "Write a function: type=package.module:function, see docs/transforms-setup.md"
_CONFLUENT = "io.confluent.connect.transforms."
_DEBEZIUM = "io.debezium.transforms."
_WAYS: Mapping[str, str] = {
    f"{_CONFLUENT}Filter": "Set where, a condition in SQL, or filter, a Python function; both keep entries",
    f"{_CONFLUENT}ExtractTopic": "Topics and caches are named by rules: topic_names of a source, cache_names of a "
    "sink, docs/routing.md",
    f"{_CONFLUENT}TopicRegexRouter": "Use Kafka's RegexRouter",
    f"{_CONFLUENT}MessageTimestampRouter": "Set record_timestamp_field of a source, and use Kafka's TimestampRouter",
    f"{_DEBEZIUM}ExtractNewRecordState": "Leave it out at a source: entries of Ignite have no envelope. At a sink of "
    "Debezium's records, Kafka's ExtractField$Value with field=after takes the new state",
    f"{_DEBEZIUM}ByLogicalTableRouter": "Use Kafka's RegexRouter, or the rules of docs/routing.md",
    f"{_DEBEZIUM}Filter": "Set where, a condition in SQL, or filter, a Python function; both keep entries",
    f"{_DEBEZIUM}ContentBasedRouter": "Make a connector for each topic, with where and topic_names, docs/routing.md",
}
"""Advice by class name, without the suffix ``$Key`` or ``$Value``."""
_RENAMED: Mapping[str, str] = {"blacklist": "exclude", "whitelist": "include"}


def advice_for(class_name: str) -> str:
    """Return advice on a replacement for another vendor's transform; empty for a class name without package."""
    if "." not in class_name:
        return ""
    return _WAYS.get(class_name.partition("$")[0], _OWN)


def new_name(name: str, classes: Mapping[str, object]) -> str:
    """Return the hint for a property that Kafka 4 has renamed; empty for other properties."""
    renamed = _RENAMED.get(name)
    return f"Write {renamed}: Kafka 4 has no {name} any more." if renamed in classes else ""
