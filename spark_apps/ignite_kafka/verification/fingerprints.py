"""Fingerprints of keys and values, and the join of a topic's with a cache's.

A fingerprint takes 32 bytes whatever its record has, so that Spark moves and sorts little. Keys have 128 bits of hash:
two of a thousand million keys have the same with a probability of 10⁻²¹. Values have 64 bits, because only the two
values of one key are compared.
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
"""``high`` and ``low``: hash of the key; ``value``: hash of the value; ``order``: which of a key's records is the last.

``order`` of an entry is 0, or -1 for a second row of an entry that is to be judged whatever its bytes are.
"""
Rows = npt.NDArray[Any]
Hashes = npt.NDArray[np.uint64]

NO_VALUE = 0
"""``value`` of a tombstone."""
_HIGH = 1
_LOW = 2
_VALUE = 3
PLACE_BITS = 44
"""Number of lower bits of a record's ``order``, which hold its offset.

The higher bits hold its place, the number of its partition.
"""
_PROBE = (b"", b"ignite-kafka", bytes(range(256)))


def fingerprints(keys: pa.BinaryArray, values: pa.BinaryArray, order: Int64Array | None = None) -> Rows:
    """Fingerprints of N keys and values; a key that is null is an empty one.

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


def order_of(place: int, offsets: Int64Array) -> Int64Array:
    """Order of the records of a topic's partition.

    Of a key in several partitions the record of the last partition counts.
    """
    return offsets + (np.int64(place) << PLACE_BITS)


def probe() -> tuple[int, ...]:
    """Hashes of some values, by which two machines find out whether they hash alike."""
    series = pl.Series(values=list(_PROBE), dtype=pl.Binary)
    return tuple(number for seed in (_HIGH, _LOW, _VALUE) for number in series.hash(seed).to_list())


def check_probe(expected: tuple[int, ...]) -> None:
    """Compare :func:`probe` of this process with the driver's.

    :raises IgniteKafkaError: they differ, so no fingerprint could be compared.
    """
    if probe() != expected:
        remedy = "Install the same version of polars on the driver and all executors."
        raise IgniteKafkaError("an executor hashes otherwise than the driver", remedy, polars=pl.__version__)


def sampled(rows: Rows, percent: float) -> Mask:
    """True for the rows of the sample, which has about ``percent`` of all keys.

    The same keys of a topic and of its cache.
    """
    if percent >= 100:
        return np.ones(len(rows), bool)
    sample: Mask = rows["high"] < np.uint64(percent / 100 * 2**64)
    return sample


def within(rows: Rows, keys: Rows) -> RowIndex:
    """Return positions of rows with a key among ``keys`` (sorted by ``high``)."""
    if not len(keys):
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(keys["high"], rows["high"]), len(keys) - 1)
    return np.flatnonzero((keys["high"][at] == rows["high"]) & (keys["low"][at] == rows["low"]))


def last_of_keys(rows: Rows, *, first: bool = False) -> RowIndex:
    """Ascending positions of each key's last record in each place.

    With `first`, of its first record with a value, else its first.
    """
    order = -rows["order"] if first else rows["order"]
    counts = rows["value"] != NO_VALUE if first else np.ones(len(rows), bool)
    place = rows["order"] >> PLACE_BITS
    by_key = np.lexsort((order, counts, place, rows["low"], rows["high"]))
    sorted_rows = rows[by_key]
    places = place[by_key]
    is_last = np.ones(len(rows), bool)
    for column in (sorted_rows["high"], sorted_rows["low"], places):
        is_last[:-1] &= column[1:] == column[:-1]
    is_last[:-1] = ~is_last[:-1]
    return np.sort(by_key[is_last])


@dataclass(frozen=True)
class Joined:
    """The join of a cache's fingerprints with those of its topic.

    :param records: records of the topic, of which ``repeated`` have another one of their key.
    :param entries: entries of the cache.
    :param suspects: fingerprints, sorted, one of each key whose record and entry are not alike by their bytes.
    """

    records: int
    repeated: int
    entries: int
    suspects: Rows


def join(topic: Rows, cache: Rows, *, first: bool = False) -> Joined:
    """Join fingerprints by key.

    A key is a suspect unless its last record has the hash of its only entry, or it has no entry and its last record is
    a tombstone.

    :param first: the first record with a value counts, not the last one.
    """
    rows = np.concatenate([topic, cache])
    is_entry = np.arange(len(rows)) >= len(topic)
    ignored = ~is_entry & (rows["value"] == NO_VALUE) if first else np.zeros(len(rows), bool)
    order = -rows["order"] if first else rows["order"]
    # of a key: ignored records, records in their order, entries
    place = np.where(is_entry, 2, np.where(ignored, 0, 1)).astype(np.uint8)
    by_key = np.lexsort((order, place, rows["low"], rows["high"]))
    rows = rows[by_key]
    is_entry = is_entry[by_key]
    ignored = ignored[by_key]
    changes = (rows["high"][1:] != rows["high"][:-1]) | (rows["low"][1:] != rows["low"][:-1])
    starts = np.concatenate([np.zeros(min(1, len(rows)), np.int64), np.flatnonzero(changes) + 1])
    ends = np.append(starts[1:], len(rows)) if len(rows) else starts
    entries = _sums(is_entry, starts)
    counting = _sums(~is_entry & ~ignored, starts)
    last = np.where(counting > 0, rows["value"][np.clip(ends - entries - 1, 0, None)], np.uint64(NO_VALUE))
    entry = np.where(entries > 0, rows["value"][ends - 1], np.uint64(NO_VALUE))
    alike = (last == entry) & (entries <= 1)
    records = _sums(~is_entry, starts)
    counted = int((is_entry & (rows["order"] >= 0)).sum())
    repeated = int(np.clip(records - 1, 0, None).sum())
    return Joined(int(records.sum()), repeated, counted, rows[starts[~alike]])


def _sums(flags: Mask, starts: RowIndex) -> Int64Array:
    """Number of true flags in each group."""
    sums: Int64Array = np.add.reduceat(flags.astype(np.int64), starts) if len(starts) else np.zeros(0, np.int64)
    return sums
