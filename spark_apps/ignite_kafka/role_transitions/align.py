"""Removal of the returned cluster's keys that the other cluster lacks, before its entries come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from ..ignite.binary import raw_entries
from ..ignite.cache_reader import present_keys
from ..ignite.cache_writer import CacheWriter
from ..ignite.cluster import Cluster
from ..ignite.scan import scan_partitions

_KEYS = 1_000
_BYTES = 4 << 20


def align(stale: Cluster, living: Cluster, caches: Sequence[str]) -> dict[str, int]:
    """Remove the keys of a stale cluster's caches that the living cluster lacks, and return their numbers by cache.

    The capture on the living cluster must have begun, and nothing may write to the stale one: a key that the living
    cluster gets or loses after the look at it is then in the topics. A key that both have in other bytes is removed,
    too, and comes back with the living cluster's entries.

    :param caches: names of caches of the stale cluster.
    :raises IgniteKafkaError: a cluster did not answer; the call may be repeated.
    """
    living_names = set(living.cache_names())
    return {name: _align_cache(stale, living if name in living_names else None, name) for name in sorted(caches)}


def _align_cache(stale: Cluster, living: Cluster | None, name: str) -> int:
    cache = stale.cache(name)
    other = living.cache(name) if living is not None else None
    removed = 0
    pages = scan_partitions(stale, cache, range(cache.partitions))
    batches = split_keys(entry for page in pages for entry in raw_entries(page, name))
    with CacheWriter(stale, cache, overwrite=True) as writer:
        for batch in batches:
            present = present_keys(living, other, batch) if living is not None and other is not None else set()
            if gone := [key for key in batch if key not in present]:
                writer.remove(pa.array(gone, pa.binary()))
                writer.flush()
                removed += len(gone)
    return removed


def split_keys(entries: Iterable[tuple[bytes, bytes]], size_bytes: int = _BYTES) -> Iterator[list[bytes]]:
    """Split the keys of entries into batches of at most 1,000 keys, and of about the bytes of their entries.

    The living cluster answers with the entries of a batch, which must fit into one reply.
    """
    batch: list[bytes] = []
    held = 0
    for key, value in entries:
        size = len(key) + len(value)
        if batch and (len(batch) == _KEYS or held + size > size_bytes):
            yield batch
            batch = []
            held = 0
        batch.append(key)
        held += size
    if batch:
        yield batch
