"""Argument ``run_for`` of operators: total time of a stream, over all tries of its task."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ignite_kafka.errors import SettingsError
from ignite_kafka.state.status import STOPPED, RunStatus, now_ms

if TYPE_CHECKING:
    from ignite_kafka.settings.connector import ConnectorSettings

# form of a timedelta's str()
_CLOCK = re.compile(r"(?:(?P<days>\d+) days?, )?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)")
_ISO_8601 = re.compile(r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?")


def duration_ms(run_for: Any, settings: ConnectorSettings) -> int | None:
    """Parse argument ``run_for`` to milliseconds: a timedelta, seconds, or text such as ``8:00:00`` or ``PT8H``.

    Return None for None and for an empty text.

    :raises SettingsError: the value is no duration, or not longer than 0, or the connector does not run continuously.
    """
    if run_for is None or run_for == "":
        return None
    if settings.run_mode != "continuous":
        raise SettingsError(
            "run_for is of streams", "Set run_mode to continuous, or leave run_for out.", run_mode=settings.run_mode
        )
    duration = _parsed(run_for)
    if duration is None or duration <= timedelta(0):
        raise SettingsError(
            f"run_for is {run_for!r}",
            "Give a timedelta, seconds, or text such as 8:00:00 or PT8H, longer than 0.",
            setting="run_for",
        )
    return int(duration / timedelta(milliseconds=1))


def _parsed(run_for: Any) -> timedelta | None:
    if isinstance(run_for, timedelta):
        return run_for
    if isinstance(run_for, (int, float)):
        return timedelta(seconds=run_for)
    if not isinstance(run_for, str):
        return None
    if run_for.isdecimal():
        return timedelta(seconds=int(run_for))
    match = _CLOCK.fullmatch(run_for) or _ISO_8601.fullmatch(run_for)
    return timedelta(**{unit: int(number) for unit, number in match.groupdict().items() if number}) if match else None


def until_ms(tries: Iterable[RunStatus], run_for_ms: int, at_ms: int) -> int:
    """Compute when a task's stream must end: `run_for_ms` after its first try began.

    The time is in milliseconds since 1970. Tries of a completed period do not count, so a task cleared after its
    success runs once more.

    :param tries: records of the task's tries, oldest first.
    :param at_ms: current time, in milliseconds since 1970.
    """
    began: int | None = None
    for run in tries:
        began = run.started_ms if began is None else began
        if run.state == STOPPED and not run.error and run.ended_ms is not None and run.ended_ms >= began + run_for_ms:
            began = None
    return (at_ms if began is None else began) + run_for_ms


@contextmanager
def call_at(time_ms: int | None, call: Callable[[], None]) -> Iterator[None]:
    """Call a function at a time (milliseconds since 1970), unless the ``with`` block ends before."""
    if time_ms is None:
        yield
        return
    timer = threading.Timer(max(0.0, (time_ms - now_ms()) / 1000), call)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
