"""Division of a topic's records by the header that names the cache of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..common.arrays import RowIndex
from ..common.redaction import in_message
from ..convert.rules.failure_stages import Stage
from ..convert.to_ignite import BadRecord
from ..java.patterns import matches_whole
from ..kafka.cache_headers import cache_in
from ..kafka.headers import Header, last_values
from ..kafka.records import Consumed, take_consumed
from ..plan.routing import INTERNAL_CACHES, is_backlog
from ..settings.sink import SinkSettings

_BACKLOGS = "kafka-connect-backlog"
_LONGEST = 255
"""Bytes of a name; Ignite's nodes keep a persistent cache in a folder of its name."""
_NO_FOLDER = re.compile(r"\.\.?|.*[/\\\x00-\x1f\x7f].*", re.DOTALL)
_DATA_STRUCTURES = re.compile(r"datastructures_.*|default-(volatile-)?ds-group", re.DOTALL)
"""Caches of Ignite's queues, sets and atomic numbers."""


@dataclass(frozen=True)
class CacheRecords:
    """Records of one topic partition whose header has the same name.

    :param named: name in the header, that of the source's cache.
    :param cache: the sink's cache for it.
    :param rows: rows of the records in the batch, ascending.
    """

    named: str
    cache: str
    rows: RowIndex
    consumed: Consumed


def divide_by_cache(consumed: Consumed, settings: SinkSettings) -> tuple[list[CacheRecords], list[BadRecord]]:
    """Divide records by the cache that their header names, in the order of each cache's records.

    :param consumed: records of one topic partition, with headers.
    :returns: the records of each name, and those without a header that names an admitted cache.
    """
    assert consumed.headers is not None
    values, _ = last_values(consumed.headers, settings.cache_header)
    names = values.dictionary_encode()
    number = names.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    parts: list[CacheRecords] = []
    header = settings.cache_header
    without = f"the record has no header {header}, which names its cache"
    bad = [BadRecord(row, Stage.HEADER, without) for row in np.flatnonzero(number < 0).tolist()]
    for at, value in enumerate(names.dictionary.to_pylist()):
        rows = np.flatnonzero(number == at)
        named = _decoded(value)
        cache = None if named is None else cache_of_name(named, settings)
        if named is None or cache is None:
            shown = in_message(value[:_LONGEST].decode(errors="backslashreplace"))
            reason = f"header {header} names cache {shown}, which header_caches does not admit"
            bad += [BadRecord(row, Stage.HEADER, reason) for row in rows.tolist()]
        else:
            of_cache = consumed if len(rows) == len(consumed) else take_consumed(consumed, rows)
            parts.append(CacheRecords(named, cache, rows, of_cache))
    return parts, sorted(bad, key=lambda record: record.row)


def cache_of_header(headers: Iterable[Header] | None, settings: SinkSettings) -> str | None:
    """Return the cache of one record by its headers; None for a bad record."""
    value = cache_in(headers, settings.cache_header)
    name = None if value is None else _decoded(value.encode() if isinstance(value, str) else value)
    return None if name is None else cache_of_name(name, settings)


def _decoded(value: bytes) -> str | None:
    """Return the name in a header; None for bytes that are no cache's name."""
    try:
        return value.decode() if 0 < len(value) <= _LONGEST else None
    except UnicodeDecodeError:
        return None


def cache_of_name(name: str, settings: SinkSettings) -> str | None:
    """Return the cache for records whose header has a name; None if it is not admitted, or leads to no cache's name.

    Caches of Ignite, of removed keys, and of backlogs with the default name are never admitted.

    :raises SettingsError: an expression cannot be used with a name of that length.
    """
    try:
        if not any(matches_whole(name, pattern) for pattern in settings.header_caches):
            return None
    except ValueError as error:
        raise settings.wrong("header_caches", f"{error}") from error
    named = settings.named_by("cache_names", name)
    cache = settings.cache_prefix + name if named is None else named.name
    is_name = 0 < len(cache.encode()) <= _LONGEST and not _NO_FOLDER.fullmatch(cache)
    is_internal = INTERNAL_CACHES.match(cache) or _DATA_STRUCTURES.fullmatch(cache) or is_backlog(cache, _BACKLOGS)
    return cache if is_name and not is_internal else None
