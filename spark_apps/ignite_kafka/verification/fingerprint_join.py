"""Join of a topic's fingerprints with its cache's by key: a suspect is a key whose record and entry differ in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..common.arrays import Int64Array, Mask, RowIndex
from .fingerprints import NO_VALUE, OFFSET_BITS, Rows

NO_RECORD = -1
"""``order`` of a key without a record that counts."""


def find_keys(rows: Rows, keys: Rows) -> RowIndex:
    """Return the positions of the rows with a key among ``keys`` (sorted by ``high``)."""
    if not len(keys):
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(keys["high"], rows["high"]), len(keys) - 1)
    return np.flatnonzero((keys["high"][at] == rows["high"]) & (keys["low"][at] == rows["low"]))


def find_last_of_keys(rows: Rows, *, first: bool = False) -> RowIndex:
    """Return the position of each key's last record of the greatest rank in each partition, in ascending order.

    :param first: take instead the first record with a value, or the first record if none has a value.
    """
    counts = rows["value"] != NO_VALUE if first else np.full(len(rows), True)
    partitions = rows["order"] >> OFFSET_BITS
    by_key = np.lexsort((*_counting_order(rows, first=first), counts, partitions, rows["low"], rows["high"]))
    sorted_rows = rows[by_key]
    is_last = np.full(len(rows), True)
    for column in (sorted_rows["high"], sorted_rows["low"], partitions[by_key]):
        is_last[:-1] &= column[1:] == column[:-1]
    is_last[:-1] = ~is_last[:-1]
    return np.sort(by_key[is_last])


@dataclass(frozen=True)
class JoinResult:
    """Result of joining a cache's fingerprints with its topic's.

    :param records: number of records of the topic.
    :param repeated: number of records beyond the first of each key.
    :param entries: number of entries of the cache.
    :param suspects: sorted fingerprints, one for each key whose record and entry have different bytes; `value` and
        `order` are those of the record that counts, :data:`NO_VALUE` and :data:`NO_RECORD` without one.
    """

    records: int
    repeated: int
    entries: int
    suspects: Rows


@dataclass(frozen=True)
class _Groups:
    """Records and entries of N keys.

    :param keys: N fingerprints, sorted, of the record that counts.
    :param alike: N flags: the record has the hash of the only entry, or neither side has a value.
    :param records: number of records of each key.
    :param entries: number of all entries.
    """

    keys: Rows
    alike: Mask
    records: Int64Array
    entries: int


def join_fingerprints(topic: Rows, cache: Rows, *, first: bool = False) -> JoinResult:
    """Join the fingerprints of a topic and its cache by key, and select the suspects.

    A key is no suspect if the record that counts has the hash of its only entry, or if this record is a tombstone and
    the key has no entry. The last record of the greatest rank counts.

    :param first: the first record with a value counts instead.
    """
    groups = _group_by_key(topic, cache, first=first)
    repeated = int(np.clip(groups.records - 1, 0, None).sum())
    return JoinResult(int(groups.records.sum()), repeated, groups.entries, groups.keys[~groups.alike])


def join_keys(topic: Rows, cache: Rows, *, first: bool = False) -> Rows:
    """Return one fingerprint of each key, sorted, with value and order as in :attr:`JoinResult.suspects`."""
    return _group_by_key(topic, cache, first=first).keys


def split_moved(suspects: Rows, topic: Rows, cache: Rows, *, first: bool = False) -> tuple[Rows, Rows]:
    """Split suspects by whether their record is still that of the look before.

    A change that was on its way at the look before has given the key another record since, if the connector has copied
    all changes of before.

    :param suspects: sorted fingerprints of all suspects, as :attr:`JoinResult.suspects` of the look before.
    :param topic: fingerprints of the records of some suspects now.
    :param cache: fingerprints of their entries now.
    :returns: keys with the same record, and keys with another record whose bytes differ from the entry, too.
    """
    groups = _group_by_key(topic, cache, first=first)
    at = find_keys(groups.keys, suspects)
    keys = groups.keys[at]
    before = suspects[np.searchsorted(suspects["high"], keys["high"])]
    moved = keys["order"] != before["order"]
    return keys[~moved], keys[moved & ~groups.alike[at]]


def _group_by_key(topic: Rows, cache: Rows, *, first: bool) -> _Groups:
    rows = np.concatenate([topic, cache])
    is_entry = np.arange(len(rows)) >= len(topic)
    ignored = ~is_entry & (rows["value"] == NO_VALUE) if first else np.zeros(len(rows), bool)
    # each key has its ignored records, then its records in their order, then its entries
    group = np.where(is_entry, 2, np.where(ignored, 0, 1)).astype(np.uint8)
    by_key = np.lexsort((*_counting_order(rows, first=first), group, rows["low"], rows["high"]))
    rows = rows[by_key]
    is_entry = is_entry[by_key]
    ignored = ignored[by_key]
    changes = (rows["high"][1:] != rows["high"][:-1]) | (rows["low"][1:] != rows["low"][:-1])
    starts = np.concatenate([np.zeros(min(1, len(rows)), np.int64), np.flatnonzero(changes) + 1])
    ends = np.append(starts[1:], len(rows)) if len(rows) else starts
    entries = _sum_groups(is_entry, starts)
    counting = _sum_groups(~is_entry & ~ignored, starts)
    keys = rows[starts]
    last = rows[np.clip(ends - entries - 1, 0, None)]
    keys["value"] = np.where(counting > 0, last["value"], np.uint64(NO_VALUE))
    keys["order"] = np.where(counting > 0, last["order"], NO_RECORD)
    entry = np.where(entries > 0, rows["value"][ends - 1], np.uint64(NO_VALUE))
    alike = (keys["value"] == entry) & (entries <= 1)
    counted = int((is_entry & (rows["order"] >= 0)).sum())
    return _Groups(keys, alike, _sum_groups(~is_entry, starts), counted)


def _counting_order(rows: Rows, *, first: bool) -> tuple[npt.NDArray[Any], ...]:
    """Return keys for :func:`numpy.lexsort` that put the counting record of each key last."""
    if first:  # no field orders the records then
        return (-rows["order"],)
    return (rows["order"], rows["rank"]) if rows["rank"].any() else (rows["order"],)


def _sum_groups(flags: Mask, starts: RowIndex) -> Int64Array:
    """Count the true flags in each group of adjacent rows.

    :param starts: first position of each group.
    """
    sums: Int64Array = np.add.reduceat(flags.astype(np.int64), starts) if len(starts) else np.zeros(0, np.int64)
    return sums
