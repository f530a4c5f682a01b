"""Compare two caches entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ignite_kafka.ignite.binary import decode_rows, raw_entries
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types.model import CacheInfo, Page
from ignite_kafka.verification.differences import Differences


@dataclass
class CacheComparison(Differences):
    """Result of comparing one cache with another."""

    cache: str
    other: str
    other_entries: int = 0


def compare(cluster: Cluster, cache: str, other: str) -> CacheComparison:
    """Compare every entry. Bytes that differ are decoded: one value has several encodings (order of fields)."""
    result = CacheComparison(cache, other)
    one, two = cluster.cache(cache), cluster.cache(other)
    found = dict(_entries(cluster, two))
    result.other_entries = len(found)
    for key, value in _entries(cluster, one):
        result.entries += 1
        copy = found.pop(key, None)
        if copy is None:
            result.note("missing", key, f"missing: {_decoded(cluster, one, key, value)!r}")
        elif copy != value and _decoded(cluster, one, key, value) != _decoded(cluster, two, key, copy):
            result.note(
                "different", key, f"{_decoded(cluster, one, key, value)!r} is {_decoded(cluster, two, key, copy)!r}"
            )
    for key, value in found.items():
        result.note("unexpected", key, f"only in {other}: {_decoded(cluster, two, key, value)!r}")
    return result


def _entries(cluster: Cluster, info: CacheInfo) -> Iterator[tuple[bytes, bytes]]:
    for page in scan_partitions(cluster, info, range(info.partitions)):
        yield from raw_entries(page, info.name)


def _decoded(cluster: Cluster, info: CacheInfo, key: bytes, value: bytes) -> tuple[object, object]:
    return next(decode_rows([Page(-1, 1, memoryview(key + value), True)], info, cluster))
