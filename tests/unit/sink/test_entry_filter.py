"""Which entries a sink's filter keeps; removals pass."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.filter.entries import EntryFilter
from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.to_ignite import BadRecord, Entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.sink.entry_filter import kept_entries
from tests.support.bad_entries import long
from tests.support.ignite_bytes import CACHE, Types, number, string

VALUES = [number(codes.INT, 1), None, number(codes.INT, 5), number(codes.INT, 9)]
ROWS = [0, 2, 3, 4]  # record 1 was bad
BAD = (BadRecord(1, Stage.VALUE, "why"),)
RECORDS = Consumed(
    "trades", 7, pa.array([b"k"] * 5), pa.array([b"v"] * 5), np.arange(100, 105), np.array([-1, 0, 1_000, 2_000, -1], np.int64)
)


def kept(where: str, values: list[bytes | None] = VALUES) -> Entries:
    entries = Entries(np.array(ROWS), pa.array([long(row) for row in ROWS], pa.binary()), pa.array(values, pa.binary()), BAD)
    return kept_entries(entries, RECORDS, EntryFilter(where), CACHE, Types())


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("_value > 4", [2, 3, 4]), ("_value < 0", [2]), ("_key = 4 OR _value = 1", [0, 2, 4]),
        ("_topic = 'trades' AND _partition = 7 AND _offset >= 103", [2, 3, 4]), ("_timestamp >= TIMESTAMP '1970-01-01 00:00:02Z'", [2, 3]),
        ("_timestamp IS NULL", [0, 2, 4]),
    ],
)  # fmt: skip
def test_entries_that_do_not_match_are_left_out(where: str, rows: list[int]) -> None:
    found = kept(where)
    assert (found.rows.tolist(), found.bad) == (rows, BAD)
    assert found.keys.to_pylist() == [long(row) for row in rows]
    assert found.values.null_count == 1


def test_a_record_for_which_the_filter_fails_is_a_bad_record() -> None:
    found = kept("_value > 4", [number(codes.INT, 9), None, string("x"), number(codes.INT, 1)])
    assert found.rows.tolist() == [0, 2]
    assert [(bad.row, bad.stage) for bad in found.bad] == [(1, Stage.VALUE), (3, Stage.TRANSFORMATION)]


def test_a_record_without_a_result_of_the_condition_is_a_bad_record() -> None:
    found = kept("10 / (_value - 5) < 0", VALUES)
    assert found.rows.tolist() == [0, 2]
    assert [(bad.row, bad.stage) for bad in found.bad] == [(1, Stage.VALUE), (3, Stage.TRANSFORMATION)]
    assert "division by zero" in found.bad[1].reason


def test_removals_alone_pass() -> None:
    assert kept("_value > 4", [None] * 4).rows.tolist() == ROWS
