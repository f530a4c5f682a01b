"""Retries: until the call succeeds, until the time is over, or not at all."""

from __future__ import annotations

from itertools import islice

import pytest

from ignite_kafka.common.retry import GROWING, Backoff, RetryBudget, retry
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, TopicError
from tests.support.fake_time import FakeTime


class Calls:
    def __init__(self, *errors: IgniteKafkaError) -> None:
        self.errors, self.made = list(errors), 0

    def __call__(self) -> str:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def may_pass(error: IgniteKafkaError) -> bool:
    return not error.final


def test_until_it_succeeds() -> None:
    call, failures, time = Calls(KafkaUnavailable("a"), KafkaUnavailable("b")), list[str](), FakeTime()
    assert retry(call, 60, may_pass, failed=lambda error: failures.append(error.what), sleep=time.sleep, clock=time) == "done"
    assert (call.made, failures, time.slept) == (3, ["a", "b"], [0.25, 0.25])


def test_an_error_that_does_not_pass_is_raised_at_once() -> None:
    call = Calls(KafkaUnavailable("a"), lasting := TopicError("b"))
    with pytest.raises(TopicError) as caught:
        retry(call, 60, may_pass, sleep=FakeTime().sleep)
    assert caught.value is lasting


def test_the_last_error_says_how_long_was_waited() -> None:
    call, time = Calls(*[KafkaUnavailable("the broker is away", "Start it.", topic="t")] * 1000), FakeTime()
    with pytest.raises(KafkaUnavailable, match=r"the broker is away \[topic t, waited 3 s\]. Start it.") as caught:
        retry(call, 2.5, may_pass, backoff=Backoff(1.0, 1.0), sleep=time.sleep, clock=time)
    assert call.made == 4
    assert isinstance(caught.value.__cause__, KafkaUnavailable)


def test_it_is_called_at_least_once() -> None:
    assert retry(Calls(), 0, may_pass) == "done"
    with pytest.raises(KafkaUnavailable):
        retry(Calls(KafkaUnavailable("a")), -1, may_pass)


def test_waits_double_up_to_the_longest() -> None:
    assert list(islice(GROWING.waits(), 6)) == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


def test_a_success_starts_the_time_of_a_budget_anew() -> None:
    time = FakeTime()
    budget = RetryBudget(3.5, time)
    attempts = 0

    def call() -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 3:
            budget.reset()
        raise KafkaUnavailable("away")

    time.sleep(1_000.0)  # before the first failure nothing counts
    with pytest.raises(KafkaUnavailable):
        retry(call, budget, may_pass, backoff=Backoff(1.0, 1.0), sleep=time.sleep)
    assert attempts == 3 + 4


def test_what_sleep_raises_ends_the_retries() -> None:
    class Stopped(Exception):
        pass

    def stop(_seconds: float) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        retry(Calls(KafkaUnavailable("a")), 60, may_pass, sleep=stop)
