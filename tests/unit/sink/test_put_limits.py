"""Offsets up to which a strict sink may store records before its next commit."""

from __future__ import annotations

import pytest

from ignite_kafka.plan.sink_offsets import PartitionOffset
from ignite_kafka.plan.sink_plan import TopicPlan
from ignite_kafka.sink.put_limits import committed_limits, exceeded, least_ahead, raised

ONE, TWO = ("t", 0), ("t", 1)
PLANS = {ONE: TopicPlan("t", "now", "cache", 1)}


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
    assert committed_limits(PLANS, {ONE: 20}, {ONE: copy} if copy else {}) == {ONE: limit}


def test_a_limit_allows_twice_what_was_read_since_the_last_commit() -> None:
    limits = {ONE: 0, TWO: 5}
    assert raised(limits, {ONE: 0, TWO: 5}, {ONE: 0, TWO: 5}, 100) == {ONE: 100, TWO: 105}
    assert raised({ONE: 130}, {ONE: 0}, {ONE: 90}, 100) == {ONE: 270}
    assert raised({ONE: 130}, {ONE: 10}, {ONE: 10}, 100) == {ONE: 130}


def test_records_before_the_last_commit_raise_no_limit() -> None:
    assert raised({ONE: 50}, {ONE: 50}, {ONE: 20}, 10) == {ONE: 50}
    assert raised({ONE: 50}, {ONE: 50}, {ONE: 45}, 10) == {ONE: 55}


def test_a_limit_is_exceeded_by_records_behind_it() -> None:
    assert not exceeded({ONE: 130, TWO: 0}, {ONE: 130, TWO: 0})
    assert exceeded({ONE: 130, TWO: 0}, {ONE: 1, TWO: 1})


def test_a_task_of_many_partitions_allows_each_of_them_less() -> None:
    assert least_ahead(20_000, 1) == 200_000
    assert least_ahead(20_000, 8) == 25_000
    assert least_ahead(1, 100) == 1
    assert least_ahead(1, 0) == 10
