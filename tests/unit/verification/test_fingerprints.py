"""Fingerprints: equal for equal bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.verification.fingerprints import Rows, check_probe, fingerprint, probe, record_order


def rows(pairs: Sequence[tuple[bytes, bytes | None]]) -> Rows:
    keys, values = (pa.array([pair[side] for pair in pairs], pa.binary()) for side in (0, 1))
    return fingerprint(keys, values, np.arange(len(pairs), dtype=np.int64))


def test_a_null_key_is_an_empty_one_and_a_tombstone_is_no_empty_value() -> None:
    null = fingerprint(pa.array([None], pa.binary()), pa.array([None], pa.binary()))
    empty = fingerprint(pa.array([b""], pa.binary()), pa.array([b""], pa.binary()))
    assert null["high"] == empty["high"]
    assert null["value"] != empty["value"]


def test_the_order_of_records_is_that_of_offsets() -> None:
    assert record_order(0, np.array([5, 6])).tolist() == [5, 6]
    assert record_order(1, np.array([0])) > record_order(0, np.array([1 << 43]))


def test_processes_that_hash_otherwise_are_told() -> None:
    check_probe(probe())
    with pytest.raises(IgniteKafkaError, match="hashes otherwise than the driver"):
        check_probe(probe()[::-1])
