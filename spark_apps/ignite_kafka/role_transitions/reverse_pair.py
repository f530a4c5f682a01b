"""Settings of the pair that copies in the other direction, derived from a pair's own settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import SettingsError
from ..settings.connector import ConnectorSettings
from ..settings.error_policies import STOP
from ..settings.schema_contracts import DEAD_LETTER_RECORD, DISCARD_FIELD
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..settings.topic_names import types_topic
from ..settings.trust import ADDRESS
from ..settings.trust import SETTINGS as TRUST
from ..sink.planning import chosen_topics

MARK = "reverse-"
"""Beginning of names and topic prefixes of a reverse pair; reversed again, they are the first pair's."""
_ASYMMETRIC = (
    "transforms", "predicates", "transform_config", "filter", "cache_filter", "where", "select", "overrides",
    "topic_names", "record_key", "cache_names", "cache_prefix", "key_fields", "cache_header",
)  # fmt: skip
_REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "source": {"run_mode": "continuous", "failover_policy": "BACKLOG", "process_removals": True},
    "sink": {"run_mode": "continuous", "process_updates": True, "key_policy": "key"},
}
_OWN_ADDRESSES = ("metrics_host", "metrics_port")
_REASON = "a role transition needs it, so that nothing is lost and both directions copy the same"
_SAMPLE = "x"


def check_pair(source: SourceSettings, sink: SinkSettings) -> None:
    """Check that a pair loses no change and has an inverse.

    :raises SettingsError: a setting makes the copy lossy, or another one than its reverse.
    """
    if source.active_active:
        raise SettingsError(
            "the pair is active-active: both clusters accept writes at any time, so there are no roles to change",
            "Direct the programs to the other cluster, and wait until the lag is 0 (docs/active-active.md).",
            setting="active_active",
        )
    for role, settings in (("source", source), ("sink", sink)):
        for name, value in _REQUIRED[role].items():
            if getattr(settings, name) != value:
                shown = str(value).lower() if isinstance(value, bool) else value
                raise SettingsError(
                    f"{name} of the {role} is not {shown}, and {_REASON}", f"Set it to {shown}.", setting=name
                )
        if changed := [name for name in _ASYMMETRIC if name in settings.changed()]:
            raise SettingsError(
                f"the {role} sets {', '.join(changed)}, so the settings of the reverse pair cannot be derived",
                "Copy such caches by a pair of their own.",
                setting=changed[0],
            )
    if source.topic_prefix != sink.topic_prefix:
        raise SettingsError(
            f"topic_prefix of the source is {source.topic_prefix!r}, that of the sink {sink.topic_prefix!r}, so caches "
            "have other names on the other cluster",
            "Set both to the same.",
            setting="topic_prefix",
        )
    check_no_circle(source, sink, [source.topic_prefix + _SAMPLE, *sink.topics])


def check_no_circle(source: SourceSettings, sink: SinkSettings, topics: Iterable[str]) -> None:
    """Check that the sink reads no topic of the reverse pair.

    :param topics: names of topics of the pair.
    :raises SettingsError: it reads the reverse topic of one of them.
    """
    prefix = turned(source.topic_prefix)
    if circle := chosen_topics(sink, [prefix + topic.removeprefix(source.topic_prefix) for topic in topics]):
        name = "topics" if sink.topics else "topics_regex"
        raise SettingsError(
            f"the sink also reads topics of the reverse pair, such as {circle[0]}: changes would run in a circle",
            f"Let topics_regex begin with the topic prefix; without a prefix, with (?!{MARK}).",
            setting=name,
        )


def check_lossless(source: SourceSettings, sink: SinkSettings) -> None:
    """Check that both connectors stop at an entry or a field they cannot copy.

    The other direction would remove or replace what was skipped.

    :raises SettingsError: a setting allows it.
    """
    for role, settings in (("source", source), ("sink", sink)):
        if not settings.always_stops:
            own = settings.error_handling_policy != STOP
            name = "error_handling_policy" if own else "conversion_error_policy"
            raise SettingsError(
                f"{name} of the {role} is {getattr(settings, name)}: entries that it skipped are on one cluster alone, "
                f"and the other direction would lose them",
                f"Set it to {STOP}, and correct the entries that then stop the run.",
                setting=name,
            )
    if sink.schema_contract in (DISCARD_FIELD, DEAD_LETTER_RECORD):
        raise SettingsError(
            f"schema_contract of the sink is {sink.schema_contract}: values lack fields on the other cluster, or are "
            "not there, and the other direction would copy that",
            "Use another one, and send the caches again.",
            setting="schema_contract",
        )


def reverse_pair(source: SourceSettings, sink: SinkSettings) -> tuple[SourceSettings, SinkSettings]:
    """Return the settings of the source on the sink's cluster and of the sink on the source's cluster.

    Connections and internal topics change sides. Names, topics and consumer group get another prefix, so that neither
    pair reads what the other writes.

    :raises SettingsError: see :func:`check_pair`.
    """
    check_pair(source, sink)
    prefix = turned(source.topic_prefix)
    backward = {
        **source.changed(),
        **_connection(sink, source),
        "name": turned(source.name),
        "topic_prefix": prefix,
        "internal_topic_prefix": sink.internal_topic_prefix,
        "load_initial_data": True,  # changes on B before its capture are sent by this alone
    }
    described = types_topic(sink.internal_topic_prefix)
    forward = {
        **sink.changed(),
        **_connection(source, sink),
        "name": turned(sink.name),
        "topic_prefix": prefix,
        "internal_topic_prefix": source.internal_topic_prefix,
        "types_topic": "" if sink.internal_topic_prefix == source.internal_topic_prefix else described,
        "topics": [prefix + topic.removeprefix(sink.topic_prefix) for topic in sink.topics],
        "topics_regex": "" if sink.topics else _own_topics(prefix),
        "consumer_group": turned(sink.consumer_group) if sink.consumer_group else "",
    }
    return SourceSettings.from_dict(backward, "the reverse pair"), SinkSettings.from_dict(forward, "the reverse pair")


def _own_topics(prefix: str) -> str:
    """Return a regular expression of the topics of one direction, and none of the other, also without a prefix."""
    return ("" if prefix.startswith(MARK) else f"(?!{MARK})") + f"{re.escape(prefix)}.*"


def turned(name: str) -> str:
    """Return the name of the other direction: with the mark, or without it if it has it."""
    return name.removeprefix(MARK) if name.startswith(MARK) else MARK + name


def _connection(settings: ConnectorSettings, present: ConnectorSettings) -> dict[str, Any]:
    """Return the settings of a connector's connections, with defaults, except where its metrics are served."""
    values = settings.to_dict()
    return {
        name: values[name]
        for name, trust in TRUST.items()
        if trust == ADDRESS and name in values and name not in _OWN_ADDRESSES and hasattr(present, name)
    }


def stored_once(sink: SinkSettings) -> SinkSettings:
    """Return the settings of a run of the sink that ends at the topics' ends."""
    return replace(sink, run_mode="once")
