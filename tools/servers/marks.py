"""Find and end processes by a mark: an environment variable, which every process inherits from the one that started it.

By its mark a server is found, with all that it started, even if its starter was killed before it could store the
server's process id. Linux only: /proc/PID/environ.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

import psutil

_STOP_S = 20.0


def set_mark(name: str, value: str) -> None:
    """Set the environment variable ``name`` = ``value`` in this process, so that every process that it starts has the mark.

    A process that changes its title (Airflow's do, by setproctitle) would overwrite its environment in /proc, and its
    mark with it: ``SPT_NOENV`` makes setproctitle keep the environment.
    """
    os.environ[name] = value
    os.environ["SPT_NOENV"] = "1"


def marked(name: str, value: str) -> list[psutil.Process]:
    """Return the processes that have the environment variable ``name`` = ``value``, except this one and its ancestors."""
    above = {process.pid for process in psutil.Process().parents()} | {psutil.Process().pid}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if (
                process.pid not in above
                and process.environ().get(name) == value
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
    return found


def end(processes: Iterable[psutil.Process], timeout_s: float = _STOP_S) -> None:
    """End processes: SIGTERM to each, then SIGKILL to those that still run after ``timeout_s``."""
    left = list(processes)
    for ask in (psutil.Process.terminate, psutil.Process.kill):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                ask(process)
        _gone, left = psutil.wait_procs(left, timeout_s)
