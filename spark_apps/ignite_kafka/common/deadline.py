"""Deadlines and periodic timers on a monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
"""Clock in seconds since some fixed point, which never runs backwards."""


@dataclass(frozen=True)
class Deadline:
    """A point in time at which a wait ends.

    :param at_s: the point in time on the clock, in seconds.
    """

    at_s: float
    clock: Clock = time.monotonic

    @staticmethod
    def after(seconds: float, clock: Clock = time.monotonic) -> Deadline:
        """Return the deadline in so many seconds from now."""
        return Deadline(clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the number of seconds until the deadline; 0.0 once the deadline has passed."""
        return max(0.0, self.at_s - self.clock())

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.clock() >= self.at_s


class Interval:
    """Timer that is due once in every interval, first at the end of the interval after its creation.

    :param seconds: length of the interval.
    """

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._next = Deadline.after(seconds, clock)

    def due(self) -> bool:
        """Return whether the timer is due, and if so, begin the next interval."""
        if not self._next.expired:
            return False
        self._next = Deadline.after(self._seconds, self._clock)
        return True
