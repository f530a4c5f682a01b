"""Hashes of keys and values (fingerprints), and the join of a topic's hashes with its cache's.

A fingerprint takes 32 bytes for a record of any size, so that Spark moves and sorts little. A key has a hash of 128
bits: among a thousand million keys, two have the same hash with a probability of 10⁻²¹. A value has 64 bits, because
only the two values of a key are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.arrays import Int64Array, Mask, RowIndex
from ..convert.rules.polars import pl
from ..errors import IgniteKafkaError

ROW = np.dtype([("high", np.uint64), ("low", np.uint64), ("value", np.uint64), ("order", np.int64)])
"""``high``, ``low``: hash of the key; ``value``: hash of the value; ``order``: rises from record to record of a key.

``order`` of an entry is 0, or -1 for the second row of an entry that must be judged even if its bytes are equal.
"""
Rows = npt.NDArray[Any]
Hashes = npt.NDArray[np.uint64]

NO_VALUE = 0
"""``value`` of a tombstone."""
_HIGH = 1
_LOW = 2
_VALUE = 3
OFFSET_BITS = 44
"""Number of lower bits of a record's ``order``, for its offset; the higher bits are for its partition's number."""
_PROBE = (b"", b"ignite-kafka", bytes(range(256)))


def fingerprint(keys: pa.BinaryArray, values: pa.BinaryArray, order: Int64Array | None = None) -> Rows:
    """Hash N keys and values to rows of dtype ROW; a null key counts as empty.

    :param order: N numbers that rise with the records of a key; None: all 0.
    """
    rows = np.zeros(len(keys), ROW)
    series = pl.Series(values=keys.fill_null(b""), dtype=pl.Binary)
    rows["high"], rows["low"] = series.hash(_HIGH).to_numpy(), series.hash(_LOW).to_numpy()
    hashes = pl.Series(values=values, dtype=pl.Binary).hash(_VALUE).to_numpy() | np.uint64(1)
    rows["value"] = (
        np.where(np.asarray(values.is_valid()), hashes, np.uint64(NO_VALUE)) if values.null_count else hashes
    )
    if order is not None:
        rows["order"] = order
    return rows


def record_order(partition: int, offsets: Int64Array) -> Int64Array:
    """Number N records by partition and offset, so that a key's last record has the highest number.

    If a key has records in several partitions, the record of the last partition counts.
    """
    return offsets + (np.int64(partition) << OFFSET_BITS)


def probe() -> tuple[int, ...]:
    """Hash fixed values, to check that driver and executors have the same hash function."""
    series = pl.Series(values=list(_PROBE), dtype=pl.Binary)
    return tuple(number for seed in (_HIGH, _LOW, _VALUE) for number in series.hash(seed).to_list())


def check_probe(expected: tuple[int, ...]) -> None:
    """Check that this executor hashes like the driver, by comparing :func:`probe`.

    :raises IgniteKafkaError: the hashes differ, so fingerprints cannot be compared.
    """
    if probe() != expected:
        remedy = "Install the same version of polars on the driver and all executors."
        raise IgniteKafkaError("an executor hashes otherwise than the driver", remedy, polars=pl.__version__)


def select_sample(rows: Rows, percent: float) -> Mask:
    """Flag the rows of a sample of keys, about ``percent``; topic and cache get the same keys."""
    if percent >= 100:
        return np.full(len(rows), True)
    sample: Mask = rows["high"] < np.uint64(percent / 100 * 2**64)
    return sample


def find_keys(rows: Rows, keys: Rows) -> RowIndex:
    """Return the positions of the rows with a key among ``keys`` (sorted by ``high``)."""
    if not len(keys):
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(keys["high"], rows["high"]), len(keys) - 1)
    return np.flatnonzero((keys["high"][at] == rows["high"]) & (keys["low"][at] == rows["low"]))


def find_last_of_keys(rows: Rows, *, first: bool = False) -> RowIndex:
    """Return the position of each key's last record in each partition, in ascending order.

    :param first: take instead the first record with a value, or the first record if none has a value.
    """
    order = -rows["order"] if first else rows["order"]
    counts = rows["value"] != NO_VALUE if first else np.full(len(rows), True)
    partitions = rows["order"] >> OFFSET_BITS
    by_key = np.lexsort((order, counts, partitions, rows["low"], rows["high"]))
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
    :param suspects: sorted fingerprints, one for each key whose record and entry have different bytes.
    """

    records: int
    repeated: int
    entries: int
    suspects: Rows


def join(topic: Rows, cache: Rows, *, first: bool = False) -> JoinResult:
    """Join the fingerprints of a topic and its cache by key, to find keys that may differ (suspects).

    A key is no suspect if its last record has the hash of its only entry, or if its last record is a tombstone and it
    has no entry.

    :param first: the first record with a value counts, not the last record.
    """
    rows = np.concatenate([topic, cache])
    is_entry = np.arange(len(rows)) >= len(topic)
    ignored = ~is_entry & (rows["value"] == NO_VALUE) if first else np.zeros(len(rows), bool)
    order = -rows["order"] if first else rows["order"]
    # each key has its ignored records, then its records in their order, then its entries
    group = np.where(is_entry, 2, np.where(ignored, 0, 1)).astype(np.uint8)
    by_key = np.lexsort((order, group, rows["low"], rows["high"]))
    rows = rows[by_key]
    is_entry = is_entry[by_key]
    ignored = ignored[by_key]
    changes = (rows["high"][1:] != rows["high"][:-1]) | (rows["low"][1:] != rows["low"][:-1])
    starts = np.concatenate([np.zeros(min(1, len(rows)), np.int64), np.flatnonzero(changes) + 1])
    ends = np.append(starts[1:], len(rows)) if len(rows) else starts
    entries = _sum_groups(is_entry, starts)
    counting = _sum_groups(~is_entry & ~ignored, starts)
    last = np.where(counting > 0, rows["value"][np.clip(ends - entries - 1, 0, None)], np.uint64(NO_VALUE))
    entry = np.where(entries > 0, rows["value"][ends - 1], np.uint64(NO_VALUE))
    alike = (last == entry) & (entries <= 1)
    records = _sum_groups(~is_entry, starts)
    counted = int((is_entry & (rows["order"] >= 0)).sum())
    repeated = int(np.clip(records - 1, 0, None).sum())
    return JoinResult(int(records.sum()), repeated, counted, rows[starts[~alike]])


def _sum_groups(flags: Mask, starts: RowIndex) -> Int64Array:
    """Count the true flags in each group of adjacent rows.

    :param starts: first position of each group.
    """
    sums: Int64Array = np.add.reduceat(flags.astype(np.int64), starts) if len(starts) else np.zeros(0, np.int64)
    return sums
