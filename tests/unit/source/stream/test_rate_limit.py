"""The rate limit of a stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.ignite.backlog_changes import EXPIRED
from ignite_kafka.source.stream.batch import first_of_each
from ignite_kafka.source.stream.rate_limit import RateLimiter
from tests.support.backlog_changes import PARTITIONS, Change, changes_of, key_bytes, value_bytes
from tests.support.backlog_simulator import Simulator
from tests.support.stream_task import Task


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_without_a_limit_nothing_waits() -> None:
    limiter = RateLimiter.of_task(None, 1, 16, 0.0)
    limiter.sent(10**9)
    assert (limiter.ahead_s, limiter.batch_records) == (0.0, None)


def test_sent_records_postpone_the_next_batch() -> None:
    clock = Clock()
    limiter = RateLimiter(100.0, clock=clock)
    assert (limiter.ahead_s, limiter.batch_records) == (0.0, 50)
    limiter.sent(50)
    limiter.sent(10)
    assert limiter.ahead_s == pytest.approx(0.6)
    clock.now_s += 0.4
    assert limiter.ahead_s == pytest.approx(0.2)
    clock.now_s += 60.0
    assert limiter.ahead_s == 0.0
    limiter.sent(50)  # time without records is not saved up
    assert limiter.ahead_s == pytest.approx(0.5)


def test_a_later_epoch_waits_for_records_of_the_one_before() -> None:
    clock = Clock()
    limiter = RateLimiter(100.0, 2.5, clock)
    limiter.sent(100)
    assert limiter.ahead_s == pytest.approx(3.5)


@given(limit=st.integers(1, 10_000), shares=st.lists(st.integers(1, 8), min_size=1, max_size=8), batches=st.integers(1, 50))
def test_tasks_together_send_no_more_than_the_limit(limit: int, shares: list[int], batches: int) -> None:
    sent = at_once = 0
    for share in shares:
        clock = Clock()
        limiter = RateLimiter(limit * share / sum(shares), clock=clock)
        batch = limiter.batch_records or 0
        at_once += batch
        while clock.now_s < 1000.0 + batches:
            limiter.sent(batch)
            sent += batch
            clock.now_s += limiter.ahead_s
    assert limit * batches - 1e-6 <= sent <= limit * batches + at_once + 1e-6


@given(st.lists(st.integers(0, 20), min_size=1, max_size=10), st.integers(1, 100))
def test_the_first_changes_are_a_fair_share_of_each_unit(counts: list[int], most: int) -> None:
    units = [
        [Change(number, key_bytes(number + 100 * unit), value_bytes(number)) for number in range(count)]
        for unit, count in enumerate(counts)
    ]
    whole = changes_of(1, units, [False] * len(counts))
    first = first_of_each(whole, most)
    kept = first.count.tolist()
    assert [found == min(count, max(kept)) for found, count in zip(kept, counts, strict=True)] == [True] * len(counts)
    assert sum(kept) <= max(most, len(counts))
    assert first.more.tolist() == [found < count for found, count in zip(kept, counts, strict=True)]
    rows = [change for unit, count in zip(units, kept, strict=True) for change in unit[:count]]
    assert first.number.tolist() == [change.number for change in rows], "the order of a unit has no holes"
    assert first.keys().to_pylist() == [change.key for change in rows]


def expired(key: int) -> Change:
    return Change(-1, key_bytes(key), None, EXPIRED)


def test_expired_keys_of_a_unit_stay_together() -> None:
    few = [Change(1, key_bytes(1), value_bytes(1)), *map(expired, range(5))]
    many = [Change(number, key_bytes(1), value_bytes(number)) for number in range(1, 8)]
    whole = replace(changes_of(1, [few, [*many, expired(9)]], [False, False]), expired_stamp=np.array([7, 8]))
    first = first_of_each(whole, 6)
    assert first.count.tolist() == [6, 3]
    assert first.more.tolist() == [False, True]
    assert first.expired_stamp.tolist() == [7, 0], "one stamp acknowledges them"


def test_a_batch_is_limited_by_the_size_of_an_offset_record() -> None:
    whole = changes_of(1, [[Change(number, key_bytes(1), value_bytes(1)) for number in range(1, 8)], []], [False, False])
    first = first_of_each(whole, None, most_of_unit=4)
    assert (first.number.tolist(), first.more.tolist()) == ([1, 2, 3, 4], [True, False])


def test_batches_hold_as_many_records_as_the_rate_limit_allows() -> None:
    simulator = Simulator()
    simulator.chunk = 1 << 20
    task = Task(simulator, max_records_per_second=PARTITIONS * 2)
    task.settle()
    for turn in range(25):
        for key in range(PARTITIONS):
            simulator.put(key + PARTITIONS * (turn % 3))
    simulator.barrier("c")
    sent: list[int] = []
    while not sent or task.reader.more:
        before = len(simulator.topic)
        task.batch()
        sent.append(len(simulator.topic) - before)
    assert sum(sent) == 25 * PARTITIONS
    assert max(sent) == PARTITIONS
    assert simulator.fold == simulator.entries
    assert simulator.steps_back() == []


def test_a_low_rate_limit_loads_one_unit_at_a_time() -> None:
    simulator = Simulator()
    for key in range(40):
        simulator.put(key)
    task = Task(simulator, max_records_per_second=2)
    sent: list[int] = []
    while not sent or task.reader.more:
        before = len(simulator.topic)
        task.batch()
        sent.append(len(simulator.topic) - before)
    assert [count for count in sent if count] == [40 // PARTITIONS] * PARTITIONS
