"""How far an earlier task of a strict sink may have stored records."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.kafka.topics import TopicPartition
from ignite_kafka.plan.sink_offsets import PartitionOffset
from ignite_kafka.plan.sink_plan import TopicPlan
from ignite_kafka.sink.start_offsets import put_limits, repeated_ends

PLACE = "t", 0
PLANS = {PLACE: TopicPlan("t", "now", "cache", 1)}


@pytest.mark.parametrize(
    ("copy", "limit"),
    [
        (PartitionOffset(20, "now", put_limit=50), 50),
        (PartitionOffset(10, "now", put_limit=50), 50),  # the start was set forward
        (PartitionOffset(10, "now", put_limit=15), 20),
        (PartitionOffset(20, "now"), 20),
        (PartitionOffset(30, "now", put_limit=50), 20),  # the start was set back
        (PartitionOffset(20, "before", put_limit=50), 20),
        (None, 20),
    ],
)
def test_a_limit_is_that_of_the_offsets_topic_unless_the_start_was_set_back(copy: PartitionOffset | None, limit: int) -> None:
    assert put_limits(PLANS, {PLACE: 20}, {PLACE: copy} if copy else {}) == {PLACE: limit}


def test_what_is_repeated_ends_at_what_can_be_read() -> None:
    starts = {("t", number): 20 for number in range(4)}
    limits = {("t", 0): 50, ("t", 1): 50, ("t", 2): 50, ("t", 3): 20}
    ends = {("t", 0): 60, ("t", 1): 30, ("t", 2): 20}

    def offsets(places: Collection[TopicPartition], _: object, *, committed: bool) -> dict[TopicPartition, int]:
        assert committed
        return {place: ends[place] for place in places}

    topics: Any = SimpleNamespace(offsets=offsets)
    assert repeated_ends(starts, limits, cast(Any, topics)) == {("t", 0): 50, ("t", 1): 30}
