"""Groups of new topics, as Kafka Connect's ``topic.creation.groups``: the first group that matches configures a topic.

A group includes and excludes topics by lists of regular expressions of whole names; ``exclude`` takes precedence, and a
group without ``include`` matches no topic. A group without partitions or replication
factor has those of the default group, but never the default group's topic configuration. Sources: KIP-158;
``TopicCreationGroup`` of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SettingsError
from ..java.patterns import matches_whole
from .fields import MAPPING, TEXTS, SettingType, json_object, whole_number
from .suggestions import nearest

CONNECT_PREFIX = "topic.creation."
LISTED = f"{CONNECT_PREFIX}groups"
DEFAULT = "default"
INCLUDE = "include"
EXCLUDE = "exclude"
PARTITIONS = "partitions"
REPLICATION = "replication.factor"
PARTITION_COUNT = whole_number(1, 1_000_000, besides=-1)
COPIES = whole_number(1, 32_767, besides=-1)
_OURS = {PARTITIONS: "topic_partitions", REPLICATION: "replication_factor"}
_KNOWN = {INCLUDE: TEXTS, EXCLUDE: TEXTS, PARTITIONS: PARTITION_COUNT, REPLICATION: COPIES}


@dataclass(frozen=True)
class NewTopicSettings:
    """Partitions, replication factor and configuration with which a missing topic is created.

    :param partitions: number of partitions; -1: the broker's default.
    :param replication_factor: number of replicas; -1: the broker's default.
    :param config: topic configuration.
    """

    partitions: int
    replication_factor: int
    config: Mapping[str, str]


def new_topic(topic: str, groups: Mapping[str, Mapping[str, Any]], default: NewTopicSettings) -> NewTopicSettings:
    """Return the settings with which a missing topic is created: the first matching group's, else the default.

    :raises ValueError: an expression cannot be used with a name of that length.
    """
    for group in groups.values():
        if not _matches(topic, group.get(EXCLUDE, ())) and _matches(topic, group.get(INCLUDE, ())):
            config = {name: value for name, value in group.items() if name not in _KNOWN}
            return NewTopicSettings(
                group.get(PARTITIONS, default.partitions), group.get(REPLICATION, default.replication_factor), config
            )
    return default


def with_values(groups: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return topic creation groups with the given partitions, replication factor and configuration."""
    own = {ours: values[theirs] for ours, theirs in _OURS.items() if theirs in values}
    config = values.get("topic_config")
    return {
        name: {key: value for key, value in group.items() if config is None or key in _KNOWN} | own | dict(config or {})
        for name, group in groups.items()
    }


def _matches(topic: str, patterns: Iterable[str]) -> bool:
    return any(matches_whole(topic, pattern) for pattern in patterns)


def _parse_groups(value: object) -> dict[str, dict[str, Any]]:
    value = json_object(value)
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and isinstance(group, Mapping) for name, group in value.items()
    ):
        raise ValueError("it is not a mapping of groups to mappings")
    if DEFAULT in value:
        raise ValueError(f"the group {DEFAULT!r} is given by topic_partitions, replication_factor and topic_config")
    return {name: _parse_group(name, group) for name, group in value.items()}


def _parse_group(group: str, values: Mapping[str, object]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for name, value_type in _KNOWN.items():
        if name in values:
            try:
                value = value_type.parse(values[name])
            except ValueError as error:
                raise ValueError(f"{name} of group {group!r}: {error}; allowed is {value_type.allowed}") from None
            parsed[name] = list(value) if isinstance(value, tuple) else value
    others = {name: value for name, value in values.items() if name not in _KNOWN}
    for name in others:
        if close := nearest(name, _KNOWN):
            raise ValueError(f"group {group!r} has no {name}: did you mean {close}?")
    return {**parsed, **MAPPING.parse(others)}  # type: ignore[dict-item]


def from_connect(
    values: Mapping[str, Any], origin: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return the topic creation groups of a Connect file in their order, and the group of each property.

    The order is that of topic.creation.groups; properties of no group are left out.

    :raises SettingsError: a group is named twice, or the list is no list.
    """
    try:
        names: Any = TEXTS.parse(values[LISTED])
    except ValueError as error:
        raise SettingsError(f"{LISTED} is wrong: {error}", setting=LISTED, set_in=origin.get(LISTED)) from error
    if len(set(names)) < len(names):
        raise SettingsError(
            f"{LISTED} names a group twice", setting=LISTED, value=str(values[LISTED]), set_in=origin.get(LISTED)
        )
    groups: dict[str, dict[str, Any]] = {name: {} for name in names if name != DEFAULT}
    translated: dict[str, str] = {}
    for name, value in values.items():
        # a group's name may begin with another group's name and a dot: the longest matching name counts
        group = max(
            (candidate for candidate in groups if name.startswith(f"{CONNECT_PREFIX}{candidate}.")),
            key=len,
            default=None,
        )
        if group is not None:
            groups[group][name.removeprefix(f"{CONNECT_PREFIX}{group}.")] = value
            translated[name] = group
    return groups, translated


GROUPS = SettingType(
    "mapping",
    "a mapping of groups, in order, to include, exclude, partitions, replication.factor and topic configurations; as a "
    "text: JSON",
    _parse_groups,
    shown=False,
    ordered=True,
)
