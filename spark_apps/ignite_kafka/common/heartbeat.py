"""The watchdog of a Spark task: a Python worker that gives no sign of life ends, and its error says where it stood.

Every call of a task that may wait has a timeout; a library may not keep it. Signs of life are replies of nodes, records
that brokers take, batches, calls of user functions, and retries: :func:`beat` is called with each. faulthandler's timer
needs no GIL, so it also ends a worker whose call holds it. Spark reads the stacks that the timer writes, makes them
part of the task's error, and starts the task again.
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
"""Seconds of the longest work between two signs of life without a timeout, such as converting a batch."""

_SPARK_READS = "PYTHON_FAULTHANDLER_DIR"  # Spark reads the file there that has the worker's process id as its name
_EVERY_S = 1.0


def limit_s(retry_timeout_ms: int, transaction_timeout_ms: int, request_timeout_ms: int) -> float:
    """Return the longest time a task may go without a sign of life, in seconds.

    More than a retry, a transaction and a request to a node take.

    :param request_timeout_ms: of requests to nodes, which are waited for as long as retries if that is longer.
    """
    return (max(retry_timeout_ms, request_timeout_ms) + transaction_timeout_ms) / 1000 + SLACK_S


@dataclass
class _Watch:
    """The task that this process runs.

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
            if _watch is not self:  # another thread beats late: the task has ended
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
    """Note a sign of life; does nothing where no task is watched."""
    watch = _watch
    if watch is not None:
        watch.beat()


@contextmanager
def watched(seconds: float, report: Callable[[], None] = lambda: None) -> Iterator[None]:
    """End this process, with the stacks of its threads, once :func:`beat` was not called for so many seconds.

    :param report: called with signs of life, at most once a second.
    """
    global _watch
    folder = os.environ.get(_SPARK_READS)
    # faulthandler writes to it later
    log = open(os.path.join(folder, str(os.getpid())), "a") if folder else sys.stderr  # noqa: SIM115
    started = _watch = _Watch(seconds, log, report)
    try:
        started.beat()
        yield
    finally:
        started.end()
        if folder:
            log.close()
