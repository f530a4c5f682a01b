"""Lag of a consumer group by partition; tests/unit/admin/test_lag_by_name.py has its sums."""

from __future__ import annotations

from typing import cast

from ignite_kafka.kafka.partition_lag import partition_lags
from ignite_kafka.kafka.topics import Topics
from tests.support.fake_lag import FakeTopics


def test_records_behind_an_open_transaction_are_counted_apart() -> None:
    """A reader of committed records does not see them yet, and the connector has copied all that it can."""
    topics = cast(Topics, FakeTopics({0: 100, 1: 95, 2: 0}, opened=6))
    found = partition_lags(topics, "connect-c", ["t"])
    assert [(one.position, one.end, one.count, one.open) for one in found] == [(100, 106, 0, 6), (95, 106, 5, 6), (10, 106, 90, 6)]
