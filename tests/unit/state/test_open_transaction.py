"""Limits of an open transaction, and the topics that it writes to."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.errors import RecordTooLarge, TopicError
from ignite_kafka.kafka.records import Records
from ignite_kafka.state.open_transaction import OpenTransaction, TransactionLimits

LIMITS = TransactionLimits(records=3, bytes=100, open_ms=2_000, timeout_ms=5_000)


class Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Identities:
    """Topics of a cluster: name to id and partition count."""

    def __init__(self, **topics: tuple[str, int]) -> None:
        self._topics = topics

    def identities(self, names: Any) -> dict[str, tuple[str, int]]:
        return {name: self._topics[name] for name in names if name in self._topics}


def records(*sizes: int) -> Records:
    return Records(pa.array([b"k"] * len(sizes), pa.binary()), pa.array([b"v" * (size - 1) for size in sizes], pa.binary()))


@pytest.mark.parametrize(
    ("sizes", "seconds", "past"),
    [((1, 1), 1.9, False), ((1, 1, 1), 0, True), ((60, 40), 0, True), ((60, 39), 0, False), ((1,), 2.0, True), ((), 0, False)],
)
def test_each_limit_ends_it(sizes: tuple[int, ...], seconds: float, past: bool) -> None:
    clock = Seconds()
    transaction = OpenTransaction(LIMITS, clock)
    transaction.add_batch("t", records(*sizes))
    clock.now = seconds
    assert transaction.past_limits is past


def test_the_broker_s_timeout() -> None:
    clock = Seconds()
    transaction = OpenTransaction(LIMITS, clock)
    found = []
    for clock.now in (4.999, 5.0):
        found.append((transaction.timed_out, transaction.open_ms))
    assert found == [(False, 4_999), (True, 5_000)]


def test_the_largest_record_is_named_where_the_broker_names_none() -> None:
    transaction = OpenTransaction(LIMITS)
    transaction.add_batch("t", records(5, 70, 6))
    transaction.add("letters", b"key", b"v" * 80)
    transaction.add_internal("offsets", b"key", b"v" * 500)  # the broker refuses records of data topics
    error = transaction.too_large(RecordTooLarge("refused", "Raise it."), 4)
    assert (error.what, error.remedy) == ("refused; the largest record of this transaction has 83 bytes", "Raise it.")
    assert error.where == {"topic": "letters", "key": "b'key'", "slot": 4}
    assert transaction.topics == {"t", "letters", "offsets"}


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({}, "was deleted during the run"),
        ({"t": ("other", 2)}, "was deleted and made again during the run"),
        ({"t": ("id", 3)}, "has 3 partitions now, and had 2"),
    ],
)
def test_another_topic_at_the_commit(now: dict[str, tuple[str, int]], message: str) -> None:
    transaction = OpenTransaction(LIMITS)
    transaction.expect("t", 2, "id")
    with pytest.raises(TopicError, match=message):
        transaction.check_topics(Identities(**now))  # type: ignore[arg-type]


@pytest.mark.parametrize(("partitions", "topic_id"), [(2, "id"), (None, "id"), (2, ""), (None, "")])
def test_what_is_not_expected_is_not_checked(partitions: int | None, topic_id: str) -> None:
    transaction = OpenTransaction(LIMITS)
    transaction.expect("t", partitions, topic_id)
    transaction.check_topics(Identities(t=("id", 2)))  # type: ignore[arg-type]
