"""Deadlines and periodic timers."""

from __future__ import annotations

from ignite_kafka.common.deadline import Deadline, Interval


class FakeClock:
    now_s = 10.0

    def __call__(self) -> float:
        return self.now_s


def test_a_deadline_counts_down_to_zero() -> None:
    clock = FakeClock()
    deadline = Deadline.after(2.0, clock)
    assert (deadline.remaining(), deadline.expired) == (2.0, False)
    clock.now_s = 11.5
    assert (deadline.remaining(), deadline.expired) == (0.5, False)
    clock.now_s = 20.0
    assert (deadline.remaining(), deadline.expired) == (0.0, True)


def test_an_interval_is_due_once_each_time() -> None:
    clock = FakeClock()
    interval = Interval(5.0, clock)
    assert not interval.due()
    clock.now_s = 15.0
    assert interval.due()
    assert not interval.due()
    clock.now_s = 31.0
    assert interval.due()
