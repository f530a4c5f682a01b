"""Two caches entry by entry: same keys, same values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ignite_kafka.thin.cluster import Cluster
from ignite_kafka.thin.codec import decode_rows, entry_bounds
from ignite_kafka.thin.model import CacheInfo, Page
from ignite_kafka.thin.scan import scan_partitions

_EXAMPLES = 3


@dataclass
class Compared:
    """How the entries of one cache are found in another: ``entries`` of both, and how many keys differ in which way."""

    cache: str
    other: str
    entries: int = 0
    other_entries: int = 0
    missing: int = 0
    different: int = 0
    unexpected: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not (self.missing or self.different or self.unexpected)


def compare(cluster: Cluster, cache: str, other: str) -> Compared:
    """Compare every entry; bytes that differ are decoded, because one value can be written in several ways (the order of fields)."""
    result = Compared(cache, other)
    one, two = cluster.cache(cache), cluster.cache(other)
    found = dict(_entries(cluster, two))
    result.other_entries = len(found)
    for key, value in _entries(cluster, one):
        result.entries += 1
        copy = found.pop(key, None)
        if copy is None:
            result.missing += 1
            _note(result, f"no entry of {_decoded(cluster, one, key, value)!r}")
        elif copy != value and _decoded(cluster, one, key, value) != _decoded(cluster, two, key, copy):
            result.different += 1
            _note(result, f"{_decoded(cluster, one, key, value)!r} is {_decoded(cluster, two, key, copy)!r}")
    result.unexpected = len(found)
    for key, value in list(found.items())[:_EXAMPLES]:
        _note(result, f"nothing else has {_decoded(cluster, two, key, value)!r}")
    return result


def _entries(cluster: Cluster, info: CacheInfo) -> Iterator[tuple[bytes, bytes]]:
    for page in scan_partitions(cluster, info, range(info.partitions)):
        bounds = entry_bounds(page, info.name)
        columns = (bounds.key_start, bounds.key_end, bounds.value_start, bounds.value_end)
        for key_start, key_end, value_start, value_end in zip(*(column.tolist() for column in columns), strict=True):
            yield bytes(page.data[key_start:key_end]), bytes(page.data[value_start:value_end])


def _decoded(cluster: Cluster, info: CacheInfo, key: bytes, value: bytes) -> tuple[object, object]:
    return next(decode_rows([Page(-1, 1, memoryview(key + value), True)], info, cluster))


def _note(result: Compared, what: str) -> None:
    if len(result.examples) < _EXAMPLES:
        result.examples.append(what[:600])
