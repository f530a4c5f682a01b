"""Deadlines and periodic timers on a monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
"""Clock in seconds that never runs backwards."""


@dataclass(frozen=True)
class Deadline:
    """A point in time on the clock at which a wait must end.

    :param at_s: the point in time on the clock, in seconds.
    """

    at_s: float
    clock: Clock = time.monotonic

    @staticmethod
    def after(seconds: float, clock: Clock = time.monotonic) -> Deadline:
        """Return the deadline that is a number of seconds from now."""
        return Deadline(clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the seconds until the deadline; 0.0 after it."""
        return max(0.0, self.at_s - self.clock())

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.clock() >= self.at_s


class Interval:
    """Timer that is due once per interval, for the first time one interval after its creation.

    :param seconds: length of the interval.
    """

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._next = Deadline.after(seconds, clock)

    def due(self) -> bool:
        """Return whether the timer is due; if it is, start the next interval."""
        if not self._next.expired:
            return False
        self._next = Deadline.after(self._seconds, self._clock)
        return True
