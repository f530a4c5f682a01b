"""Selection of the caches to copy, and names of their topics: pure functions of names.

Lists hold regular expressions in Java's syntax, see :mod:`~ignite_kafka.settings.java_patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..errors import SettingsError
from ..settings.java_patterns import matches_whole, pattern_remedy
from ..settings.topic_names import is_internal_topic, is_topic_name

INTERNAL_CACHES = re.compile(r"ignite-sys-.*|ignite-internal-.*")


def matches(cache: str, whitelist: Sequence[str] = (), blacklist: Sequence[str] = ()) -> bool:
    """Whether a cache is copied: it matches the whitelist, or that is empty, and does not match the blacklist.

    :raises SettingsError: a pattern is no regular expression.
    """
    if INTERNAL_CACHES.fullmatch(cache):
        return False
    listed = not whitelist or any(_listed("cache_whitelist", pattern, cache) for pattern in whitelist)
    return listed and not any(_listed("cache_blacklist", pattern, cache) for pattern in blacklist)


def is_backlog(cache: str, backlog_cache_name: str) -> bool:
    """Whether a cache is a connector's backlog (`<backlog cache name>` or `<backlog cache name>-<connector>`)."""
    return cache == backlog_cache_name or cache.startswith(f"{backlog_cache_name}-")


def select(
    caches: Iterable[str], whitelist: Sequence[str] = (), blacklist: Sequence[str] = (), backlog_cache_name: str = "kafka-connect-backlog"
) -> list[str]:
    """The caches to copy, sorted by name, without backlogs of connectors."""
    return sorted(cache for cache in caches if not is_backlog(cache, backlog_cache_name) and matches(cache, whitelist, blacklist))


def topic_of(cache: str, prefix: str = "") -> str:
    """The topic of a cache: prefix + cache name.

    :raises SettingsError: the result is no topic name (1 to 249 of a-z A-Z 0-9 . _ -, and neither . nor ..).
    """
    topic = prefix + cache
    if not is_topic_name(topic):
        raise SettingsError(
            "the topic's name, which contains the cache's name, is not valid: allowed are 1 to 249 of the characters a-z A-Z 0-9 . _ -",
            "Leave the cache out with cache_blacklist, or choose another topic_prefix",
            cache=cache,
            topic=topic,
        )
    return topic


def routes(caches: Iterable[str], prefix: str = "", internal_topic_prefix: str = "ignite-kafka") -> dict[str, str]:
    """The topic of each cache.

    :raises SettingsError: a topic is internal, or two topics collide (Kafka does not distinguish `.` and `_` in metric names).
    """
    result: dict[str, str] = {}
    taken: dict[str, str] = {}
    for cache in caches:
        topic = topic_of(cache, prefix)
        if is_internal_topic(topic, internal_topic_prefix):
            raise SettingsError(
                "the topic of a cache is an internal topic",
                "Choose another topic_prefix or internal_topic_prefix",
                cache=cache,
                topic=topic,
            )
        other = taken.setdefault(topic.replace(".", "_"), cache)
        if other != cache:
            raise SettingsError(
                f"the topics of the caches {other} and {cache} collide: Kafka does not distinguish . and _ in names",
                "Leave one out with cache_blacklist and copy it with another connector and topic_prefix",
                cache=cache,
                topic=topic,
            )
        result[cache] = topic
    return result


def _listed(setting: str, pattern: str, name: str) -> bool:
    try:
        return matches_whole(name, pattern)
    except ValueError as error:
        raise SettingsError(
            f"{setting} holds no regular expression: {error}", pattern_remedy(pattern), setting=setting, value=pattern
        ) from error
