"""Keys of Apache Ignite's own connectors for Kafka Connect (extension `kafka-ext`), translated as in docs/migrate.md.

Its sink puts keys and values of all topics into one cache. Its source sends Java's serialization of cache events,
without keys, to each of its topics, at most once, and no snapshot. Source: ``IgniteSinkTask`` and ``IgniteSourceTask``
of Ignite's extensions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ..fields import TEXTS
from ..key_table import Refusal
from .given_keys import ConnectKeys

CLASS = "connector.class"
_PACKAGE = "org.apache.ignite.stream.kafka.connect."
SINK = f"{_PACKAGE}IgniteSinkConnector"
SOURCE = f"{_PACKAGE}IgniteSourceConnector"
_EVENT_CONVERTER = f"{_PACKAGE}serialization.CacheEventConverter"
_CACHE = "cacheName"
_TOPICS = "topicNames"
_EVENTS = "cacheEvts"
_LISTED = "topics"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")

RENAMED: Mapping[str, Mapping[str, str]] = {
    SINK: {"cacheAllowOverwrite": "process_updates", "cachePerNodeDataSize": "batch_size"},
    SOURCE: {},
}
"""This project's settings that replace keys of Ignite's connectors, by connector class and key."""

IGNORED: Mapping[str, Mapping[str, str]] = {
    SINK: {"cachePerNodeParOps": "the tasks of a run put side by side, each a batch at a time"},
    SOURCE: {
        "evtBufferSize": "changes are read from the nodes' backlog or by continuous queries, not from a buffer of "
        "events",
        "evtBatchSize": "a batch is what a poll finds; transaction_max_records bounds it",
    },
}

REFUSED: Mapping[str, Mapping[str, Refusal]] = {
    SINK: {
        "singleTupleExtractorCls": Refusal(
            "a Java class that makes entries of records cannot run here",
            "key_policy and key_fields make the cache's key of the record's value or of a header; else write an own "
            "transform (docs/transforms-setup.md)",
        )
    },
    SOURCE: {
        "cacheFilterCls": Refusal(
            "a Java class that filters events cannot run here",
            "Set where, a condition in SQL, or filter, a Python function. They keep what they are true for; the class "
            "drops it",
        )
    },
}
COMPUTED: Mapping[str, tuple[str, ...]] = {SINK: (_CACHE,), SOURCE: (_CACHE, _TOPICS, _EVENTS)}
"""Keys whose values :func:`convert_ignite_connector_keys` turns into settings with other values, by connector class."""

_CONVERTER = Refusal("it writes Java's serialization of cache events", "Use json, avro, json-schema or ignite-binary")
_ONE_CACHE = Refusal(
    "all topics go to one cache, and here records of two topics would overtake each other there, so a cache has one "
    "topic",
    "Give one topic; write the others' records into that topic, or into caches of their own, by a connector each",
)
_ONE_TOPIC = Refusal(
    "each event goes to each topic, and here a cache has one topic",
    "Give one topic, and make a connector for each other",
)
_NO_CACHE = Refusal("it is missing, and Ignite's connectors need it", "Name the cache")
_PAGE = "docs/migrate.md says what stands for each key of Ignite's own connectors"
_PUT = "put"
_REMOVED = ("removed", "remove")


def convert_ignite_connector_keys(keys: ConnectKeys) -> None:
    """Replace the keys of one of Ignite's own connectors by this project's settings; leave other connectors' keys."""
    kind = str(keys.values.get(CLASS))
    if kind not in COMPUTED:
        return
    keys.values[CLASS] = kind.removeprefix(_PACKAGE)
    keys.ignored[CLASS] = f"it is changed to {keys.values[CLASS]}: it is Apache Ignite's own connector. {_PAGE}"
    for name, setting in RENAMED[kind].items():
        if name in keys.values:
            keys.rename(name, setting, keys.values[name])
    for name, reason in IGNORED[kind].items():
        if name in keys.values:
            keys.ignore(name, reason)
    for name, refusal in REFUSED[kind].items():
        if name in keys.values:
            _refuse(keys, name, refusal)
    for side in ("key.converter", "value.converter"):
        if keys.values.get(side) == _EVENT_CONVERTER:
            _refuse(keys, side, _CONVERTER)
    if not str(keys.values.setdefault(_CACHE, "") or "").strip():
        _refuse(keys, _CACHE, _NO_CACHE)
    elif kind == SINK:
        _convert_sink(keys)
    else:
        _convert_source(keys)


def _refuse(keys: ConnectKeys, name: str, refusal: Refusal) -> None:
    keys.refuse(name, Refusal(refusal.reason, f"{refusal.remedy}. {_PAGE}"))


def _convert_sink(keys: ConnectKeys) -> None:
    topics = _parse_list(keys, _LISTED)
    if len(topics) > 1:
        _refuse(keys, _CACHE, _ONE_CACHE)
        return
    pattern = _quote(topics[0]) if topics else str(keys.values.get("topics.regex", ".*"))
    keys.rename(_CACHE, "overrides", json.dumps({pattern: {"cache": str(keys.values[_CACHE]).strip()}}))


def _convert_source(keys: ConnectKeys) -> None:
    cache = _quote(str(keys.values[_CACHE]).strip())
    topics = _parse_list(keys, _TOPICS)
    keys.rename(_CACHE, "cache_whitelist", cache)
    if len(topics) > 1:
        _refuse(keys, _TOPICS, _ONE_TOPIC)
    elif topics:
        keys.rename(_TOPICS, "overrides", json.dumps({cache: {"topic": topics[0]}}))
    if _EVENTS in keys.values:
        _convert_events(keys)
    for name, reference, value in (
        ("run_mode", "runMode", "continuous"),
        ("load_initial_data", "shallLoadInitialData", "false"),
    ):
        if name not in keys.values and reference not in keys.values:
            keys.values[name], keys.origin[name] = (
                value,
                "Ignite's source, which runs until it is stopped and sends no snapshot",
            )


def _convert_events(keys: ConnectKeys) -> None:
    events = [event.lower() for event in _parse_list(keys, _EVENTS)]
    others = [event for event in events if event != _PUT and event not in _REMOVED]
    if others:
        remedy = "Leave it out: put is always sent, and removed is process_removals"
        _refuse(
            keys,
            _EVENTS,
            Refusal(f"a source sends puts and removals of entries, and no event {', '.join(others)}", remedy),
        )
    elif _PUT not in events:
        _refuse(
            keys,
            _EVENTS,
            Refusal("a source sends puts in any case", "Add put, and drop records with a value by a transform"),
        )
    else:
        keys.rename(_EVENTS, "process_removals", str(any(event in _REMOVED for event in events)).lower())


def _parse_list(keys: ConnectKeys, name: str) -> tuple[str, ...]:
    """Return the texts in a key's list; empty for a malformed list, which the settings check reports later."""
    try:
        texts = TEXTS.parse(keys.values.get(name) or ())
    except ValueError:
        return ()
    assert isinstance(texts, tuple)
    return texts


def _quote(name: str) -> str:
    """Return a Java regular expression that matches exactly this name."""
    return name if _PLAIN_NAME.fullmatch(name) else "\\Q" + name.replace("\\E", "\\E\\\\E\\Q") + "\\E"
