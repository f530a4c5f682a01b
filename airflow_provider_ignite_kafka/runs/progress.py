"""Lines in the task's log about the progress of a followed run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ignite_kafka.common.deadline import Clock, Deadline
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import RunStatus

Lag = Callable[[RunStatus], Mapping[str, int]]


class ProgressLog:
    """Logger of a run's progress: one line for the run and one for each cache.

    It logs at once when the run's state changes, otherwise once in an interval.

    :param log: logger of the task or trigger.
    :param lag: returns the records left to copy, by topic; after an error the lag is left out.
    """

    def __init__(
        self, log: Any, lag: Lag = lambda _status: {}, interval_s: float = 60.0, clock: Clock = time.monotonic
    ) -> None:
        self.log = log
        self._lag = lag
        self._interval_s = interval_s
        self._clock = clock
        self._next = Deadline.after(0.0, clock)
        self._state = ""
        self._shown: tuple[str, ...] = ()

    def show(self, status: RunStatus) -> None:
        """Log the changed progress lines, once in an interval or when the run's state changes."""
        if status.state == self._state and not self._next.expired:
            return
        self._state = status.state
        self._next = Deadline.after(self._interval_s, self._clock)
        lines = progress_lines(status, self._known_lag(status))
        for line in lines:
            if line not in self._shown:
                self.log.info(line)
        self._shown = lines

    def _known_lag(self, status: RunStatus) -> Mapping[str, int]:
        try:
            return self._lag(status)
        except IgniteKafkaError:
            return {}


def progress_lines(status: RunStatus, lag: Mapping[str, int]) -> tuple[str, ...]:
    """Format a status record for the log: ``connector c RUNNING: 1,200 records``, and a line for each cache."""
    records = sum(cache.records for cache in status.caches.values())
    behind = f", {sum(lag.values()):,} records behind" if lag else ""
    return (
        f"connector {status.connector} {status.state}: {records:,} records{behind}",
        *(
            f"progress {name} -> {cache.topic}: {cache.units_done} of {cache.units} partitions, {cache.records:,} "
            "records"
            + (f", {cache.bad:,} skipped" if cache.bad else "")
            + (f", {cache.filtered:,} filtered out" if cache.filtered else "")
            for name, cache in status.caches.items()
        ),
    )
