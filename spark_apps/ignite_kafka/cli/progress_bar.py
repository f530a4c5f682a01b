"""Progress of a long command: bars with rate and time left on a terminal, otherwise log lines; nothing if quiet."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ..common.deadline import Clock, Interval

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

log = logging.getLogger(__name__)
_LINE_S = 10.0
_RATE_S = 60.0  # the rate is that of the last minute
_NO_PLACE = ("dumb", "unknown")  # values of TERM whose terminals cannot overwrite a line


def draws_in_place(stream: TextIO, *, quiet: bool = False, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether progress is drawn on a stream: it is a terminal that can overwrite lines, and not quiet."""
    return not quiet and stream.isatty() and environment.get("TERM") not in _NO_PLACE


class RateEstimate:
    """Rate of a count over its last minute, and the time to its end."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, done: int) -> None:
        """Add a count; a lower one than the last begins anew."""
        if self._samples and done < self._samples[-1][1]:
            self._samples.clear()
        now = self._clock()
        self._samples.append((now, done))
        while len(self._samples) > 2 and self._samples[1][0] <= now - _RATE_S:
            self._samples.popleft()

    @property
    def per_second(self) -> float | None:
        """Growth of the count per second; None before there are two counts."""
        if len(self._samples) < 2:
            return None
        (start, first), (end, last) = self._samples[0], self._samples[-1]
        return (last - first) / (end - start) if end > start else None

    def seconds_left(self, left: int) -> float | None:
        """Return the time for a number of further counts, in seconds; None if it is unknown."""
        rate = self.per_second
        return left / rate if rate else None


def format_rate(rate: float | None, unit: str) -> str:
    """Return a rate as text, such as ``1,234 records/s``; empty if it is unknown."""
    if rate is None:
        return ""
    return f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:,.1f} {unit}/s"


def format_left(seconds: float | None) -> str:
    """Return a time left as text, such as ``0:01:05 left``; empty if it is unknown."""
    if seconds is None:
        return ""
    whole = round(seconds)
    return f"{whole // 3600:,}:{whole // 60 % 60:02}:{whole % 60:02} left"


@contextmanager
def live_bars(stream: TextIO) -> Iterator[Progress]:
    """Draw bars on a terminal until the end of the context, when they are removed; logs scroll above them.

    Each bar has the fields ``count``, ``rate`` and ``left``. ``NO_COLOR`` turns colors off.

    :param stream: stderr of the process.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("count", "rate", "left")]
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *columns,
        TimeElapsedColumn(),
        console=Console(file=stream),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    with progress, logs_above(stream):
        yield progress


@contextmanager
def logs_above(stream: TextIO) -> Iterator[None]:
    """Send the logs of a stream to the present stderr, with which a display keeps its lines below the logs.

    :param stream: stderr before the display replaced it.
    """
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is stream
    ]
    for handler in handlers:
        handler.setStream(sys.stderr)
    try:
        yield
    finally:
        for handler in handlers:
            handler.setStream(stream)


class ProgressBar:
    """Progress of one step after the other, each with a number of tasks or records.

    :param unit: what is counted.
    """

    def __init__(
        self, stream: TextIO, *, quiet: bool = False, clock: Clock = time.monotonic, unit: str = "tasks"
    ) -> None:
        self.drawn = draws_in_place(stream, quiet=quiet)
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._unit = unit
        self._lines = Interval(_LINE_S, clock)
        self._started = clock()
        self._step = ""
        self._rate = RateEstimate(clock)
        self._display = ExitStack()
        self._bars: Progress | None = None
        self._bar: TaskID | None = None

    def show(self, what: str, done: int, count: int, description: str = "") -> None:
        """Show that ``done`` of ``count`` in a step have ended.

        :param description: text of the bar; empty: the name of the step.
        """
        if self._quiet:
            return
        if self.drawn:
            self._draw(what, done, count, description or what)
        elif self._lines.due():
            seconds = self._clock() - self._started
            log.info("%s: %d of %d %s after %.0f s", what, done, count, self._unit, seconds)

    def _draw(self, what: str, done: int, count: int, description: str) -> None:
        if what != self._step:
            self._step = what
            self._rate = RateEstimate(self._clock)
        self._rate.add(done)
        shown: dict[str, Any] = {
            "count": f"{done:,}/{count:,} {self._unit}",
            "rate": format_rate(self._rate.per_second, self._unit),
            "left": format_left(self._rate.seconds_left(count - done)),
        }
        if self._bars is None or self._bar is None:
            self._bars = self._display.enter_context(live_bars(self._stream))
            self._bar = self._bars.add_task(description, total=count, **shown)
        self._bars.update(self._bar, description=description, completed=done, total=count, refresh=True, **shown)

    def end(self) -> None:
        """Remove the bar from the terminal."""
        self._display.close()
        self._bars = self._bar = None
