"""How far a run is: one line that a terminal redraws, or a line a minute in a log."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TextIO

from .results import TestResult

_LOG_INTERVAL_S = 60.0


def minutes(seconds: float) -> str:
    """Return a duration as ``M:SS``."""
    whole = max(round(seconds), 0)
    return f"{whole // 60}:{whole % 60:02}"


def status(
    elapsed_s: float,
    expected_s: float,
    done: int,
    collected: int,
    failed: int,
    running: Mapping[str, tuple[str, float]],
    now: float,
) -> str:
    """Return how far a run is.

    :param running: by worker the test that it runs and since when.
    """
    counts = f"{done:,} of {collected:,} tests" if collected else "collecting tests"
    parts = [f"{minutes(elapsed_s)} of about {minutes(expected_s)}", f"{counts}, {failed} failed"]
    # the test that has been running longest comes first: a terminal cuts the line
    longest_first = sorted(running.values(), key=lambda entry: entry[1])
    parts += [f"{test.removeprefix('tests/')} ({minutes(now - since)})" for test, since in longest_first]
    return " · ".join(parts)


@dataclass
class Display:
    """Writes the status where it is due.

    :param out: where to; a terminal has its last line redrawn, anything else gets a line a minute.
    """

    out: TextIO = field(default_factory=lambda: sys.stdout)
    _last_s: float = float("-inf")
    _drawn: bool = False

    def show(self, line: str, now: float) -> None:
        """Show the status."""
        if self.out.isatty():
            width = shutil.get_terminal_size().columns - 1
            self.out.write(f"\r\033[K{line[:width]}")
            self._drawn = True
        elif now - self._last_s >= _LOG_INTERVAL_S:
            self._last_s = now
            self.out.write(f"{line}\n")
        self.out.flush()

    def say(self, text: str) -> None:
        """Write text that stays, above the status."""
        if self._drawn:
            self.out.write("\r\033[K")
            self._drawn = False
        self.out.write(f"{text}\n")
        self.out.flush()

    def failed(self, result: TestResult) -> None:
        """Name a failed test at once."""
        what = "CRASHED" if result.crash else "FAILED"
        self.say(f"{what} {result.test} after {minutes(result.seconds)}")
