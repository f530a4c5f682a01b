"""A clock for code that takes its clock and its sleep as arguments."""

from __future__ import annotations


class FakeTime:
    """A clock that only :meth:`sleep` moves. ``slept``: the waits, in seconds."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.slept.append(seconds)
        self.now_s += seconds
