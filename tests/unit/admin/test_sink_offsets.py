"""Positions in a topic, and the result as text and JSON. Writing offsets: tests/integration/admin/test_sink_offsets.py."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import OffsetSpec

from ignite_kafka.admin.sink_offsets import MovedOffsets, parse_position
from ignite_kafka.cli.render import moved_offsets
from ignite_kafka.errors import SettingsError


def value(text: str) -> int:
    """Confluent's number for a specification: milliseconds, or negative for a name."""
    spec: Any = parse_position(text)
    return int(spec._value)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2025-01-31T12:00Z", 1_738_324_800_000),
        (" 2025-01-31T12:00 ", 1_738_324_800_000),
        ("2025-01-31T12:00:00.5+02:00", 1_738_317_600_500),
        ("2025-01-31", 1_738_281_600_000),
    ],
)
def test_a_time_is_in_utc_unless_it_has_an_offset(text: str, ms: int) -> None:
    assert value(text) == ms


def test_names_and_offsets() -> None:
    assert [value(text) for text in ("earliest", " LATEST ")] == [OffsetSpec.earliest()._value, OffsetSpec.latest()._value]
    assert [parse_position(text) for text in ("0", " 42 ")] == [0, 42]


@pytest.mark.parametrize("text", ["", "-1", "1.5", "²", "yesterday", "2025-13-01"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is no place in a topic"):
        parse_position(text)


def test_what_was_set() -> None:
    moved = MovedOffsets({("b", 1): (5, 0), ("a", 0): (-1, 3)})
    assert moved_offsets(moved) == "topic a, partition 0: next offset was none, is 3\ntopic b, partition 1: next offset was 5, is 0"
    assert moved.to_dict() == {
        "offsets": [
            {"partition": {"kafka_topic": "a", "kafka_partition": 0}, "before": None, "after": 3},
            {"partition": {"kafka_topic": "b", "kafka_partition": 1}, "before": 5, "after": 0},
        ]
    }
    assert moved_offsets(MovedOffsets({})) == "there is no topic to read"
    assert moved_offsets(MovedOffsets({("t", number): (0, 1) for number in range(52)})).endswith(
        "partition 49: next offset was 0, is 1\n... and 2 partitions more"
    )
