"""Limit of the caches that a run may reach, set by the Dag's author and unchangeable by forms."""

from __future__ import annotations

from collections.abc import Sequence

from ignite_kafka.errors import SettingsError
from ignite_kafka.java.patterns import matches_whole
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.transforms import chain_of

_SPECIAL = frozenset("\\.[]{}()*+?^$|")
_REMEDY = "Choose allowed caches, or ask the author of the Dag to extend allowed_caches."


def check_allowed_caches(settings: ConnectorSettings, allowed: Sequence[str]) -> None:
    """Check that a run cannot read or write caches outside the list of the Dag's author.

    An item of a source's ``cache_whitelist`` must itself be in the list, or be a plain name that an expression of the
    list matches, because no check can tell which names two expressions have in common. A sink must name its topics,
    and the cache of each topic must match after cache_names, overrides and routers are applied; transforms by which
    the cache depends on the record are refused.

    :param allowed: regular expressions (Java's) of whole cache names.
    :raises SettingsError: another cache can be reached; the error names setting, value and list.
    """
    if isinstance(settings, SourceSettings):
        if not settings.cache_whitelist:
            raise _refused(
                "cache_whitelist is not given, so all caches would be copied", "cache_whitelist", None, allowed
            )
        for pattern in settings.cache_whitelist:
            if pattern not in allowed and not (_is_plain_name(pattern) and _matches(pattern, allowed)):
                raise _refused(
                    "cache_whitelist would reach caches that the Dag does not allow",
                    "cache_whitelist",
                    pattern,
                    allowed,
                )
    elif isinstance(settings, SinkSettings):
        if settings.topics_regex:
            raise _refused(
                "which caches topics_regex would reach is not known", "topics_regex", settings.topics_regex, allowed
            )
        for topic in settings.topics:
            if not _matches(cache := _cache_of(topic, settings, allowed), allowed):
                raise _refused(
                    f"topic {topic} would be stored in a cache that the Dag does not allow", "topics", cache, allowed
                )


def _cache_of(topic: str, settings: SinkSettings, allowed: Sequence[str]) -> str:
    """Return the cache of a topic's records; refuse transforms by which records may reach several."""
    chain = chain_of(settings.of(topic))
    if not chain:
        return settings.cache_of(topic).name
    # loads Arrow, which a run without transforms does not need here
    from ignite_kafka.convert.transforms.steps import (
        routes_each,
    )
    from ignite_kafka.sink.planning import cache_of

    if routes_each(chain) or any(step.is_own for step in chain):
        aliases = ", ".join(step.alias for step in chain)
        raise _refused(
            f"transforms may give each record of topic {topic} another cache", "transforms", aliases, allowed
        )
    return cache_of(topic, settings).name


def _is_plain_name(pattern: str) -> bool:
    """Return whether a regular expression is a plain name, without special characters."""
    return not _SPECIAL & set(pattern)


def _matches(cache: str, allowed: Sequence[str]) -> bool:
    try:
        return any(matches_whole(cache, pattern) for pattern in allowed)
    except ValueError as error:
        raise SettingsError(
            f"allowed_caches has an expression that cannot be used: {error}", setting="allowed_caches"
        ) from error


def _refused(what: str, setting: str, value: str | None, allowed: Sequence[str]) -> SettingsError:
    return SettingsError(what, _REMEDY, setting=setting, value=value, allowed_caches=list(allowed))
