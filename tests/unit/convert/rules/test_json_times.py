"""Times and bytes in JSON: what is written is read back, and what no such value is written as is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.convert.rules.json_bytes import bytes_from_json, bytes_to_json
from ignite_kafka.convert.rules.json_times import (
    DAY_MS,
    MOST_MILLIS,
    instants_to_json,
    sql_times_from_json,
    sql_times_to_json,
    timestamps_from_json,
)


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_timestamps_are_read_back(unit: str) -> None:
    per = 1 if unit == "ms" else 1000
    stamps = pa.array([0, -per, 1_700_000_000_123 * per, None], pa.timestamp(unit, "UTC"))
    written = instants_to_json(stamps)
    assert written.to_pylist() == [0, -1, 1_700_000_000_123, None]
    read, wrong = timestamps_from_json(written, stamps.type)
    assert read.equals(stamps)
    assert not wrong.any()


def test_a_timestamp_beyond_64_bits_of_microseconds_is_refused() -> None:
    _, wrong = timestamps_from_json(pa.array([MOST_MILLIS, MOST_MILLIS + 1, -MOST_MILLIS - 1, None]), pa.timestamp("us", "UTC"))
    assert wrong.tolist() == [False, True, True, False]


def test_times_of_other_days_are_written_as_times_of_the_day() -> None:
    written = sql_times_to_json(pa.array([0, DAY_MS, DAY_MS + 1, -1, None]))
    assert written.to_pylist() == [0, DAY_MS, 1, DAY_MS - 1, None]
    read, wrong = sql_times_from_json(pa.array([0, DAY_MS, DAY_MS + 1, -1, None]))
    assert read.to_pylist()[:2] == [0, DAY_MS]
    assert wrong.tolist() == [False, False, True, True, False]


def test_bytes_are_read_back() -> None:
    data = pa.array([b"", b"\0", b"ab", bytes(range(256)), None])
    read, wrong = bytes_from_json(bytes_to_json(data))
    assert read.to_pylist() == data.to_pylist()
    assert not wrong.any()


@pytest.mark.parametrize("text", ["YQ", "YQ=", "YW\n==", "!", "YR=="])
def test_other_base64_is_refused(text: str) -> None:
    _, wrong = bytes_from_json(pa.array([text, "YQ==", None]))
    assert wrong.tolist() == [True, False, False]
