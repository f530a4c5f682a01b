"""Both type codes of a whole enum are one; other bytes stay."""

from __future__ import annotations

import pyarrow as pa

from ignite_kafka.verification.whole_enums import with_one_code

GIVEN_BACK, WRITTEN = bytes([38, 1, 2, 3, 4, 7, 0, 0, 0]), bytes([28, 1, 2, 3, 4, 7, 0, 0, 0])


def test_the_code_of_whole_enums_is_the_one_that_is_written() -> None:
    others = [bytes([29, 38]), bytes([9, 1, 0, 0, 0, 38]), b"", None]
    data = pa.array([GIVEN_BACK, WRITTEN, *others], pa.binary())
    assert with_one_code(data).to_pylist() == [WRITTEN, WRITTEN, *others]
    assert with_one_code(data.slice(1)).to_pylist() == [WRITTEN, *others]


def test_without_enums_nothing_is_copied() -> None:
    data = pa.array([WRITTEN, None], pa.binary())
    assert with_one_code(data) is data
