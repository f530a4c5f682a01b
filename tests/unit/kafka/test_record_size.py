"""Which records are too large: for the client as they are, for their topic compressed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.kafka.record_size import RECORD_OVERHEAD, SizeLimit
from ignite_kafka.kafka.records import Records, no_records
from tests.support.randomness import generator

CHAOS = generator(4).randbytes(5_000)
ALIKE = bytes(5_000)
RECORDS = Records(pa.array([b"1", b"2", b"3", None], pa.binary()), pa.array([b"x", CHAOS, None, ALIKE], pa.binary()))


@pytest.mark.parametrize(
    ("limit", "topic_bytes", "rows"),
    [
        (SizeLimit(1_000_000, "lz4"), 1_048_588, []),
        (SizeLimit(1_000_000, "lz4"), 4_000, [1]),
        (SizeLimit(1_000_000, "zstd"), 4_000, [1]),
        (SizeLimit(1_000_000, "none"), 4_000, [1, 3]),
        (SizeLimit(4_000, "lz4"), 1_048_588, [1, 3]),
        (SizeLimit(1_000_000, "none"), None, []),
        (SizeLimit(4_000, "lz4"), None, [1, 3]),
        (SizeLimit(1_000_000, "none"), len(CHAOS) + 1 + RECORD_OVERHEAD, []),
        (SizeLimit(1_000_000, "none"), len(CHAOS) + RECORD_OVERHEAD, [1]),
    ],
)
def test_records_beyond_a_limit(limit: SizeLimit, topic_bytes: int | None, rows: list[int]) -> None:
    found = limit.exceeded(RECORDS, "t", topic_bytes)
    assert list(found) == rows
    assert limit.exceeded(no_records(), "t", topic_bytes) == {}
    whose = "producer's message.max.bytes" if topic_bytes is None or limit.message_bytes < topic_bytes else "topic's max.message.bytes"
    assert all(whose in error.what and error.where == {"topic": "t"} for error in found.values())


def test_the_limit_is_that_of_the_client_s_settings() -> None:
    assert SizeLimit.of({}) == SizeLimit(1_000_000, "none")
    assert SizeLimit.of({"message.max.bytes": "5", "compression.type": "lz4"}) == SizeLimit(5, "lz4")
    assert SizeLimit.of({"compression.type": "lz4", "compression.codec": "zstd"}) == SizeLimit(1_000_000, "zstd")
