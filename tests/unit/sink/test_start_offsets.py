"""How far an earlier task of a strict sink may have stored records."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

from ignite_kafka.kafka.topics import TopicPartition
from ignite_kafka.sink.start_offsets import repeated_ends


def test_what_is_repeated_ends_at_what_can_be_read() -> None:
    starts = {("t", number): 20 for number in range(4)}
    limits = {("t", 0): 50, ("t", 1): 50, ("t", 2): 50, ("t", 3): 20}
    ends = {("t", 0): 60, ("t", 1): 30, ("t", 2): 20}

    def offsets(places: Collection[TopicPartition], _: object, *, committed: bool) -> dict[TopicPartition, int]:
        assert committed
        return {place: ends[place] for place in places}

    topics: Any = SimpleNamespace(offsets=offsets)
    assert repeated_ends(starts, limits, cast(Any, topics)) == {("t", 0): 50, ("t", 1): 30}
