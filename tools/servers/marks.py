"""Processes that carry a mark: an environment variable, which every process inherits from the one that started it.

A mark finds a server whose starter was killed before it could write the server's process id down, and whatever that server started.
Linux only: /proc/PID/environ.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import psutil

_STOP_S = 20.0


def marked(name: str, value: str) -> list[psutil.Process]:
    """Processes that were started with the environment variable ``name`` = ``value``, without this one and those above it."""
    above = {process.pid for process in psutil.Process().parents()} | {psutil.Process().pid}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.pid not in above and process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end(processes: Iterable[psutil.Process], timeout_s: float = _STOP_S) -> None:
    """SIGTERM to each process, SIGKILL to those that are left after ``timeout_s``."""
    left = list(processes)
    for ask in (psutil.Process.terminate, psutil.Process.kill):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                ask(process)
        _gone, left = psutil.wait_procs(left, timeout_s)
