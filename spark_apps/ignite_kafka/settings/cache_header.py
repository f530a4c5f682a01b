"""Settings of topics that have records of several caches, with the name of its cache in a header of each record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..errors import SettingsError
from .base import setting
from .fields import LINE, TEXTS
from .findings import Findings
from .transforms import REGEX_ROUTER, TIMESTAMP_ROUTER, WithTransforms, chain_of

SOURCE = setting(
    "", LINE,
    "Header with the name of its cache that each record gets, tombstones included. Caches may then share a topic, "
    "which must not be compacted: Kafka has one key for equal keys of two caches. Records with headers cost about 2 µs "
    "more each. Empty: no such header; each cache has a topic of its own",
    fixed_in_snapshot=True,
)  # fmt: skip
SINK = setting(
    "", LINE,
    "Header that names the source's cache of each record, by cache_header of a source. The record goes to the cache "
    "cache_prefix and this name, or as cache_names says of this name. Records without the header are bad records. "
    "Empty: the topic names the cache",
)  # fmt: skip
HEADER_CACHES = setting(
    (), TEXTS,
    "Regular expressions of whole names in cache_header: records with other names are bad records, so that a record "
    "cannot write to any cache of the cluster, or create one. Needed with cache_header",
)  # fmt: skip

_RESERVED = ("__connect.", "ignite_kafka.")
_POLICY = "cleanup.policy"
_COMPACT = "compact"
_ROUTERS = (REGEX_ROUTER, TIMESTAMP_ROUTER)


class _Connector(Protocol):
    """Settings of a connector that may have a header with the cache's name."""

    @property
    def cache_header(self) -> str:
        """Name of the header; empty: there is none."""

    @property
    def active_active(self) -> bool:
        """Whether versions of entries are sent or stored."""

    def wrong(self, name: str, reason: str, remedy: str = "") -> SettingsError:
        """Return the error of a wrong setting."""


class _Source(_Connector, Protocol):
    """Settings of such a source."""

    @property
    def topic_config(self) -> Mapping[str, str]:
        """Configuration of topics that the source creates."""

    @property
    def topic_creation_groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Configuration of such topics by groups."""


class _Sink(_Connector, WithTransforms, Protocol):
    """Settings of such a sink."""

    @property
    def header_caches(self) -> tuple[str, ...]:
        """Regular expressions of the names that a header may have."""

    @property
    def overrides(self) -> Mapping[str, Mapping[str, Any]]:
        """Settings of single topics."""

    def check_pattern(self, name: str, pattern: str) -> None:
        """Check that an item of a setting is a valid regular expression."""


def described_name(topic: str, cache: str, cache_header: str) -> str:
    """Return the name under which the types topic describes the records of a cache in a topic.

    It is the topic's name or, if the topic may have several caches, `<topic>/<cache>`, which is no topic's name.

    :param cache: name of the source's cache.
    """
    return f"{topic}/{cache}" if cache_header else topic


def check_source(settings: _Source, findings: Findings) -> None:
    """Refuse headers of other uses, and compaction in the topics that the source creates."""
    _check(settings, findings)
    groups = settings.topic_creation_groups
    for name, configs in (("topic_config", [settings.topic_config]), ("topic_creation_groups", list(groups.values()))):
        with findings.check(name, "cache_header"):
            if settings.cache_header and any(is_compacted(str(config.get(_POLICY, ""))) for config in configs):
                reason = "cache_header is set: compaction keeps one record of equal keys of two caches"
                raise settings.wrong(name, reason, f"Set {_POLICY} to delete, or leave it out")


def check_sink(settings: _Sink, findings: Findings) -> None:
    """Refuse a header without a list of its names, and other settings that name the cache."""
    _check(settings, findings)
    with findings.check("header_caches", "cache_header"):
        for pattern in settings.header_caches:
            settings.check_pattern("header_caches", pattern)
        if settings.cache_header and not settings.header_caches:
            reason = "cache_header is set, and no name is admitted: a record could write to any cache"
            raise settings.wrong("header_caches", reason, "List the names of the source's caches")
        if settings.header_caches and not settings.cache_header:
            raise settings.wrong("header_caches", "cache_header is not set", "Set cache_header, or leave it out")
    with findings.check("overrides", "cache_header"):
        if settings.cache_header and any("cache" in values for values in settings.overrides.values()):
            raise settings.wrong("overrides", "a topic has a cache, and cache_header is set", "Leave one of them out")
    with findings.check("transforms", "cache_header"):
        named = [item.alias for item in chain_of(settings) if item.is_own or item.short_name in _ROUTERS]
        if settings.cache_header and named:
            reason = f"{named[0]} may change topics, from which caches are named, and cache_header is set"
            raise settings.wrong("transforms", reason, "Leave one of them out")


def _check(settings: _Connector, findings: Findings) -> None:
    with findings.check("cache_header", "active_active"):
        if settings.cache_header.startswith(_RESERVED):
            reason = f"headers that begin with {' or '.join(_RESERVED)} have other uses"
            raise settings.wrong("cache_header", reason, "Choose another name, such as cache")
        if settings.cache_header != settings.cache_header.strip():
            raise settings.wrong("cache_header", "it begins or ends with a space", "Leave the space out")
        if settings.cache_header and settings.active_active:
            reason = "active_active is true, and its caches have topics of their own"
            raise settings.wrong("cache_header", reason, "Leave one of them out")


def is_compacted(cleanup_policy: str) -> bool:
    """Return whether a cleanup.policy, such as `compact,delete`, keeps the last record of each key alone."""
    return _COMPACT in cleanup_policy
