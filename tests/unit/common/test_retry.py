"""Calls that are tried again: until they succeed, until the time is over, or not at all."""

from __future__ import annotations

import pytest

from ignite_kafka.common.retry import retry
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, TopicError


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
    call, failures = Calls(KafkaUnavailable("a"), KafkaUnavailable("b")), list[str]()
    assert retry(call, 60, may_pass, failed=lambda error: failures.append(error.what), wait_s=0) == "done"
    assert (call.made, failures) == (3, ["a", "b"])


def test_an_error_that_does_not_pass_is_raised_at_once() -> None:
    call = Calls(KafkaUnavailable("a"), lasting := TopicError("b"))
    with pytest.raises(TopicError) as caught:
        retry(call, 60, may_pass, wait_s=0)
    assert caught.value is lasting


def test_the_last_error_says_how_long_was_waited() -> None:
    call = Calls(*[KafkaUnavailable("the broker is away", "Start it.", topic="t")] * 1000)
    with pytest.raises(KafkaUnavailable, match=r"the broker is away \[topic t, waited 0 s\]. Start it.") as caught:
        retry(call, 0.05, may_pass, wait_s=0.01)
    assert call.made > 1
    assert isinstance(caught.value.__cause__, KafkaUnavailable)


def test_it_is_called_at_least_once() -> None:
    assert retry(Calls(), 0, may_pass) == "done"
    with pytest.raises(KafkaUnavailable):
        retry(Calls(KafkaUnavailable("a")), -1, may_pass)
