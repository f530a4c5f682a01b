"""Time limit and requests of the transaction that changes offsets. On real brokers: integration/admin/test_killed_offset_changes.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ignite_kafka.admin.offset_transaction import MIN_TIMEOUT_MS, OFFSETS_PER_REQUEST, OffsetTransaction, timeout_ms
from ignite_kafka.errors import TransactionTimeout
from tests.support.fake_time import FakeTime


class SlowProducer:
    """Takes a second for each record and each request, and counts them."""

    transactional_id = "c-control"

    def __init__(self, clock: FakeTime) -> None:
        self._clock = clock
        self.requests: list[int] = []
        self.records = 0
        self.committed = False

    def begin(self) -> None:
        pass

    def await_room(self, count: int, size: float) -> None:
        self._clock.sleep(1.0)

    def produce(self, *record: object) -> None:
        self.records += 1

    def send_offsets(self, offsets: Sequence[object], group_metadata: object) -> None:
        self._clock.sleep(1.0)
        self.requests.append(len(offsets))

    def commit(self) -> None:
        self.committed = True


def slow_transaction(offsets: int, limit_ms: int) -> tuple[OffsetTransaction, Any]:
    clock = FakeTime()
    producer: Any = SlowProducer(clock)
    clock.sleep(3_600.0)  # what was read before the transaction does not count
    return OffsetTransaction(producer, offsets, limit_ms, clock), producer


@pytest.mark.parametrize(
    ("offsets", "recorded_ms", "limit_ms"),
    [
        (1, None, 30_001),
        (20_000, 600_000, 50_000),
        (1_000_000, 600_000, 600_000),
        (1_000_000, 900_000, 900_000),
        (1_000_000, None, 600_000),
        (20_000, 5_000, 30_000),  # as long as the shortest, whatever runs have
        (20_000, "600000", 50_000),
    ],
)
def test_more_offsets_have_more_time(offsets: int, recorded_ms: object, limit_ms: int) -> None:
    assert timeout_ms(offsets, recorded_ms) == limit_ms


def test_a_change_that_takes_too_long_says_so_and_commits_nothing() -> None:
    transaction, producer = slow_transaction(40, MIN_TIMEOUT_MS)
    transaction.begin()
    for number in range(30):
        transaction.produce("offsets", b"%d" % number, None, 0)
    with pytest.raises(TransactionTimeout, match=r"the change of 40 offsets was not committed within 30 s.*nothing was changed"):
        transaction.produce("offsets", b"30", None, 0)
    assert producer.records == 30
    assert transaction.timed_out
    with pytest.raises(TransactionTimeout, match=r"--cache .*--topic.* --partition"):
        transaction.commit()
    assert not producer.committed


def test_offsets_of_a_group_are_sent_in_requests_that_its_topic_can_hold() -> None:
    offsets = 2 * OFFSETS_PER_REQUEST + 1
    transaction, producer = slow_transaction(offsets, MIN_TIMEOUT_MS)
    transaction.begin()
    transaction.send_offsets([object()] * offsets, None)  # type: ignore[list-item]
    transaction.commit()
    assert producer.requests == [OFFSETS_PER_REQUEST, OFFSETS_PER_REQUEST, 1]
    assert producer.committed
