"""Fingerprints: hashes of the keys and values of records and entries. :mod:`.fingerprint_join` compares them.

A fingerprint takes 40 bytes for a record of any size, so that Spark moves and sorts little. A key has a hash of 128
bits: among a thousand million keys, two have the same hash with a probability of 10⁻²¹. A value has 64 bits, because
only the two values of a key are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.arrays import Int64Array
from ..convert.rules.polars import pl
from ..errors import IgniteKafkaError

ROW = np.dtype([("high", np.uint64), ("low", np.uint64), ("value", np.uint64), ("rank", np.int64), ("order", np.int64)])
"""``high``, ``low``: hash of the key; ``value``: hash of the value; ``order``: rises from record to record of a key.

``rank`` is the number in the record's `order_field`, and 0 without this setting. Of a key's records, the one with the
greatest rank counts; of several with this rank, the one with the greatest order.

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


def fingerprint(
    keys: pa.BinaryArray, values: pa.BinaryArray, order: Int64Array | None = None, rank: Int64Array | None = None
) -> Rows:
    """Hash N keys and values to rows of dtype ROW; a null key counts as empty.

    :param order: N numbers that rise with the records of a key; None: all 0.
    :param rank: N numbers of the field that orders the records of a key; None: all 0.
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
    if rank is not None:
        rows["rank"] = rank
    return rows


def fingerprint_keys(keys: Sequence[bytes]) -> Rows:
    """Hash N keys to rows of dtype ROW without values."""
    return fingerprint(pa.array(keys, pa.binary()), pa.nulls(len(keys), pa.binary()))


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
