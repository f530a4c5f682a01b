"""Watchdog of a Spark task: it ends a Python worker that hangs, and reports the stacks of its threads.

Every call of a task that may wait has a timeout, but a library may ignore the timeout. Signs of life are replies of
nodes, records that brokers take, batches, calls of user functions, and retries: :func:`beat` is called with each.
faulthandler's timer needs no GIL, so it also ends a worker whose call holds the GIL. Spark reads the stacks written by
the timer, makes them part of the task's error, and starts the task again.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

SLACK_S = 120.0
"""Time allowed for work without a timeout of its own, such as converting a batch, in seconds."""

_SPARK_READS = "PYTHON_FAULTHANDLER_DIR"  # folder where Spark reads a file named by the worker's process id
_EVERY_S = 1.0


def limit_s(retry_timeout_ms: int, transaction_timeout_ms: int, request_timeout_ms: int) -> float:
    """Return how many seconds a task may go without a sign of life: more than any wait with a timeout.

    It exceeds the retry timeout, or the request timeout if that is longer, plus the transaction timeout.

    :param request_timeout_ms: timeout of requests to nodes; counts instead of the retry timeout if it is longer.
    """
    return (max(retry_timeout_ms, request_timeout_ms) + transaction_timeout_ms) / 1000 + SLACK_S


@dataclass
class _Watch:
    """Watch over the task that this process runs.

    :param report: called with signs of life, at most once a second.
    """

    limit_s: float
    log: TextIO
    report: Callable[[], None]
    next_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def beat(self) -> None:
        if time.monotonic() < self.next_s:
            return
        with self.lock:
            if _watch is not self:  # a late call by another thread, after the task has ended
                return
            self.next_s = time.monotonic() + _EVERY_S
            faulthandler.dump_traceback_later(self.limit_s, exit=True, file=self.log)
        self.report()

    def end(self) -> None:
        global _watch
        with self.lock:
            _watch = None
            faulthandler.cancel_dump_traceback_later()


_watch: _Watch | None = None  # a worker runs one task at a time, and faulthandler has one timer a process


def beat() -> None:
    """Report a sign of life of the watched task, so that the watchdog does not end the process."""
    watch = _watch
    if watch is not None:
        watch.beat()


@contextmanager
def watched(seconds: float, report: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Return a context that ends this process if :func:`beat` is not called for so many seconds.

    :param report: called with signs of life, at most once a second.
    """
    global _watch
    folder = os.environ.get(_SPARK_READS)
    # not closed here, because faulthandler writes to it later
    log = open(os.path.join(folder, str(os.getpid())), "a") if folder else sys.stderr  # noqa: SIM115
    started = _watch = _Watch(seconds, log, report)
    try:
        started.beat()
        yield
    finally:
        started.end()
        if folder:
            log.close()
