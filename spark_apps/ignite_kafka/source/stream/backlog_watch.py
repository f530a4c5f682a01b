"""Reads of a stream's lag while it runs, for its metrics."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ...common.deadline import Clock, Deadline
from ...errors import IgniteKafkaError
from .backlog_lag import BacklogLag

log = logging.getLogger(__name__)

_MOST_TIME = 0.01  # part of the time that reads may take, of the driver and of the nodes


class BacklogWatch:
    """Reader of a stream's lag at intervals, which grow with the time of a read.

    :param read: reads the lag from the nodes.
    :param interval_s: shortest time between two reads, in seconds.
    """

    def __init__(self, read: Callable[[], BacklogLag], interval_s: float, clock: Clock = time.monotonic) -> None:
        self._read = read
        self._interval_s = interval_s
        self._clock = clock
        self._due = Deadline.after(0.0, clock)

    def read(self) -> BacklogLag | None:
        """Read the lag if it is time for that; None if it is not, or if the nodes do not answer."""
        if not self._due.expired:
            return None
        began_at = self._clock()
        try:
            return self._read()
        except IgniteKafkaError as error:  # if the error matters, the tasks raise it, too
            log.warning("the lag cannot be read: %s", error)
            return None
        finally:
            took_s = self._clock() - began_at
            self._due = Deadline.after(max(self._interval_s, took_s / _MOST_TIME), self._clock)
