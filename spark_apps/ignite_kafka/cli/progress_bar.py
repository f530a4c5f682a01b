"""Progress of a long command, as a bar on a terminal, otherwise as a log line every ten seconds."""

from __future__ import annotations

import logging
import time
from typing import TextIO

from ..common.deadline import Clock, Interval

log = logging.getLogger(__name__)
_WIDTH = 40
_LINE_S = 10.0


class ProgressBar:
    """Progress bar; invisible in quiet mode."""

    def __init__(self, stream: TextIO, *, quiet: bool = False, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._terminal = stream.isatty()
        self._shown = False
        self._lines = Interval(_LINE_S, clock)
        self._started = clock()

    def show(self, what: str, done: int, count: int) -> None:
        """Show that ``done`` of ``count`` tasks in a step have ended."""
        share = min(1.0, done / count) if count else 1.0
        seconds = self._clock() - self._started
        if self._quiet:
            return
        if self._terminal:
            bar = "=" * int(share * _WIDTH)
            self._stream.write(f"\r{what} [{bar:<{_WIDTH}}] {share:4.0%} {seconds:.0f} s\x1b[K")
            self._stream.flush()
            self._shown = True
        elif self._lines.due():
            log.info("%s: %d of %d tasks after %.0f s", what, done, count, seconds)

    def end(self) -> None:
        """Remove the bar from the terminal."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
