"""Detection of silent tasks: a frozen Python worker neither reports nor ends itself (common/heartbeat.py).

Spark counts the tasks that run; how many of them are alive is known from their reports. If there are fewer for longer
than any wait of a task, the run ends with an error, and Spark kills the workers. A report is no task's last sign: a
task may end without another one, so tasks that ended lately may hide a silent one for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

from pyspark import TaskContext

from ..common.deadline import Clock
from ..common.heartbeat import limit_s, watched
from ..errors import TaskFailed
from ..settings.connector import ConnectorSettings

SILENCE_CHECK_S = 5.0
"""Seconds between two checks of a run: each asks Spark's JVM."""

_LATE_S = 60.0  # a report may be so late on a busy machine


def watched_task(
    settings: ConnectorSettings, report: Callable[[], None] = lambda: None
) -> AbstractContextManager[None]:
    """Context in which a Python worker ends itself if its Spark task gives no sign of life for too long.

    Outside Spark, as in a test, the context has no effect.

    :param report: called with signs of life, at most once a second.
    """
    if TaskContext.get() is None:
        return nullcontext()
    return watched(longest_silence_s(settings), report)


def longest_silence_s(settings: ConnectorSettings) -> float:
    """Return how many seconds a task may be without a sign of life before it counts as failed."""
    return limit_s(settings.retry_timeout_ms, settings.transaction_timeout_ms, settings.ignite_request_timeout_ms)


class SilenceWatch:
    """Detector of running Spark tasks that no longer report, for the driver.

    :param interval_ms: milliseconds between two reports of a task.
    :param longest_s: how long tasks may be silent.
    """

    def __init__(self, interval_ms: int, longest_s: float, clock: Clock = time.monotonic) -> None:
        self._late_s = interval_ms / 1000 * 3 + _LATE_S
        self._longest_s = longest_s
        self._clock = clock
        self._since: float | None = None

    def check(self, running: int, reported_at: Iterable[float]) -> None:
        """Raise an error if some running task has not reported for too long, by comparing their numbers.

        :raises TaskFailed: for too long, more tasks run than are heard of.
        """
        now = self._clock()
        silent = running - sum(now - at < self._late_s for at in reported_at)
        if silent <= 0:
            self._since = None
            return
        self._since = now if self._since is None else self._since
        if now - self._since >= self._longest_s:
            raise TaskFailed(
                f"{silent} of {running} Spark tasks have neither reported nor ended for {now - self._since:.0f} s",
                "Look at the executors' threads and logs: a Python worker may be frozen, or its host out of reach. "
                "The next run continues after what was committed.",
            )
