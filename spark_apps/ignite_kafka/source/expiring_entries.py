"""Reports of caches with expiring entries (event 15162): their records in Kafka do not expire.

A stream that sends tombstones removes an expired entry's record. All other runs leave the record, and the thin client
protocol does not tell the deadline of a single entry: a cache's expiry policy is known from its configuration, other
deadlines only when an entry has expired.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..events import ENTRIES_EXPIRE, emit, note
from ..ignite.cache_configuration import CacheConfiguration
from ..settings.source import SourceSettings


def report_expiry_policies(settings: SourceSettings, configurations: Iterable[CacheConfiguration]) -> None:
    """Report the caches with an expiry policy; called by the driver when a run begins."""
    if _sends_removals(settings):
        return
    for configuration in configurations:
        if configuration.expires:
            emit(ENTRIES_EXPIRE, cache=configuration.name, reason="it has an expiry policy")


def note_expired_entry(settings: SourceSettings, cache: str) -> None:
    """Note that an entry of a cache has expired; called by the tasks of a stream."""
    if not _sends_removals(settings):
        note(ENTRIES_EXPIRE, cache=cache, reason="the stream has seen one that expired")


def _sends_removals(settings: SourceSettings) -> bool:
    return settings.streams and settings.process_removals
