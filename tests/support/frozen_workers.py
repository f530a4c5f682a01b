"""Spark's Python workers of this test session, suspended for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from tests.support.processes import alive


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
