"""Repetition of failed calls, with growing waits and a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ..errors import IgniteKafkaError
from .deadline import Clock
from .heartbeat import beat

T = TypeVar("T")


@dataclass(frozen=True)
class Backoff:
    """Waits between attempts: each is twice the previous one, up to a maximum."""

    first_s: float
    longest_s: float

    def waits(self) -> Iterator[float]:
        """Yield the waits in seconds, without end."""
        wait_s = self.first_s
        while True:
            yield wait_s
            wait_s = min(wait_s * 2, self.longest_s)


STEADY = Backoff(0.25, 0.25)
GROWING = Backoff(0.2, 2.0)


class RetryBudget:
    """Time budget for retries, counted from the first failure after a success.

    :param seconds: the budget, in seconds.
    """

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._since: float | None = None

    def start(self) -> None:
        """Start counting the time, unless it is counted already."""
        if self._since is None:
            self._since = self._clock()

    def reset(self) -> None:
        """Record a success: the time counts again from the next failure."""
        self._since = None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first failure; 0.0 without a failure."""
        return 0.0 if self._since is None else self._clock() - self._since

    def remaining(self) -> float:
        """Return the seconds left; negative once the budget is used up."""
        return self._seconds - self.elapsed_s


def retry(
    call: Callable[[], T],
    within_s: float | RetryBudget,
    when: Callable[[IgniteKafkaError], bool],
    *,
    failed: Callable[[IgniteKafkaError], object] = lambda _error: None,
    backoff: Backoff = STEADY,
    sleep: Callable[[float], object] = time.sleep,
    clock: Clock = time.monotonic,
) -> T:
    """Call a function until it succeeds or the time is used up; return its result.

    :param within_s: seconds from now after which an error is raised; or a budget, whose time starts with the first
        failure, and again after each :meth:`RetryBudget.reset`.
    :param when: returns whether the call is repeated after an error.
    :param failed: called with each error after which the call is repeated.
    :param sleep: waits between two attempts; called with the number of seconds. Its exceptions end the retries.
    :raises IgniteKafkaError: the last error of the call; if the time ran out, with the seconds waited.
    """
    if isinstance(within_s, RetryBudget):
        budget = within_s
    else:
        budget = RetryBudget(within_s, clock)
        budget.start()
    for wait_s in backoff.waits():
        try:
            return call()
        except IgniteKafkaError as error:
            budget.start()
            if not when(error):
                raise
            if budget.remaining() < 0:
                raise _with_waited(error, budget.elapsed_s) from error
            failed(error)
            beat()
        sleep(wait_s)
    raise AssertionError("waits have no end")


def _with_waited(error: IgniteKafkaError, waited_s: float) -> IgniteKafkaError:
    return type(error)(error.what, error.remedy, **{**error.where, "waited": f"{waited_s:.0f} s"})
