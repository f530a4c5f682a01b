"""Selection of the caches to copy, and checks of their topics' names.

Pure functions of names. Lists hold regular expressions in Java's syntax, see :mod:`~ignite_kafka.java.patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..errors import SettingsError
from ..java.patterns import matches_whole, pattern_remedy
from ..settings.name_rules import NamedBy
from ..settings.topic_names import ALLOWED, DEFAULT_PREFIX, is_internal_topic, is_topic_name

NAMED_BY = "overrides, topic_names, topic_prefix"
INTERNAL_CACHES = re.compile(r"(ignite-sys|ignite-internal|ignite-kafka-tombstones)-.*")


def matches(cache: str, whitelist: Sequence[str] = (), blacklist: Sequence[str] = ()) -> bool:
    """Return whether a cache is to be copied: in the whitelist, if there is one, and not in the blacklist.

    :raises SettingsError: a pattern is no regular expression.
    """
    if INTERNAL_CACHES.fullmatch(cache):
        return False
    listed = not whitelist or any(_listed("cache_whitelist", pattern, cache) for pattern in whitelist)
    return listed and not any(_listed("cache_blacklist", pattern, cache) for pattern in blacklist)


def is_backlog(cache: str, backlog_cache_name: str) -> bool:
    """Return whether a cache is a connector's backlog (`<backlog cache name>`, or `-<connector>` after it)."""
    return cache == backlog_cache_name or cache.startswith(f"{backlog_cache_name}-")


def select(
    caches: Iterable[str],
    whitelist: Sequence[str] = (),
    blacklist: Sequence[str] = (),
    backlog_cache_name: str = "kafka-connect-backlog",
) -> list[str]:
    """Return the names of the caches to copy, sorted, without backlogs of connectors."""
    return sorted(
        cache for cache in caches if not is_backlog(cache, backlog_cache_name) and matches(cache, whitelist, blacklist)
    )


def routes(
    caches: Iterable[str],
    topic_of: Callable[[str], NamedBy],
    internal_topic_prefix: str = DEFAULT_PREFIX,
    *,
    shared: bool = False,
) -> dict[str, str]:
    """Return the topic of each cache, after checks that names are valid and no two topics collide.

    :param topic_of: returns the name of a cache's topic.
    :param shared: whether caches may have the same topic, because a header names the cache of each record.
    :raises SettingsError: a topic's name is not valid (1 to 249 of a-z A-Z 0-9 . _ -, and neither . nor ..) or
        internal, or two topics collide (Kafka does not distinguish `.` and `_` in metric names).
    """
    result: dict[str, str] = {}
    names: dict[str, tuple[str, NamedBy]] = {}
    for cache in caches:
        topic = topic_of(cache)
        check_topic(cache, topic, internal_topic_prefix)
        other, before = names.setdefault(topic.name.replace(".", "_"), (cache, topic))
        if other != cache:
            same = topic.name == before.name
            if same and shared:
                result[cache] = topic.name
                continue
            why = "they are one topic" if same else "Kafka does not distinguish . and _ in names"
            raise SettingsError(
                f"the topics of the caches {other} (by {before.rule}) and {cache} (by {topic.rule}) collide: {why}",
                f"Give them different names ({NAMED_BY}), or leave one out with cache_blacklist and copy it to "
                f"another topic with another connector"
                f"{'. With cache_header, caches may share a topic' if same else ''}",
                cache=cache,
                topic=topic.name,
            )
        result[cache] = topic.name
    return result


def check_topic(cache: str, topic: NamedBy, internal_topic_prefix: str = DEFAULT_PREFIX) -> None:
    """Check that the topic for a cache's records has a valid name, and is not an internal topic.

    :raises SettingsError: the name is not valid, or internal.
    """
    where = {"cache": cache, "topic": topic.name, "named_by": topic.rule}
    if not is_topic_name(topic.name):
        what = f"the name of a cache's topic is not valid: allowed are {ALLOWED}, and neither . nor .."
        raise SettingsError(
            what, f"Choose another name ({NAMED_BY}), or leave the cache out with cache_blacklist", **where
        )
    if is_internal_topic(topic.name, internal_topic_prefix):
        what = "the topic of a cache is an internal topic"
        raise SettingsError(what, f"Choose another name ({NAMED_BY}) or another internal_topic_prefix", **where)


def _listed(setting: str, pattern: str, name: str) -> bool:
    try:
        return matches_whole(name, pattern)
    except ValueError as error:
        raise SettingsError(
            f"{setting} holds no regular expression: {error}", pattern_remedy(pattern), setting=setting, value=pattern
        ) from error
