"""Processes that are suspended for a while, such as Spark's Python workers of this test session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from tests.support.processes import alive


@contextmanager
def suspended(pid: int) -> Iterator[None]:
    """A process sleeps (SIGSTOP) within the block."""
    process = psutil.Process(pid)
    process.suspend()
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def workers() -> list[psutil.Process]:
    """The Python workers of this session, without the process that forks them."""
    below = [process for process in psutil.Process().children(recursive=True) if alive(process) and "pyspark.daemon" in process.cmdline()]
    return [process for process in below if process.ppid() in {one.pid for one in below}]


@contextmanager
def frozen() -> Iterator[list[psutil.Process]]:
    """All workers do nothing, like those of a host that hangs; those that live at the end continue."""
    found = workers()
    assert found
    for worker in found:
        worker.suspend()
    try:
        yield found
    finally:
        for worker in filter(alive, found):
            worker.resume()
