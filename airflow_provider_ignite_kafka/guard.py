"""Stands beside a spark-submit: ends it and removes the task's private files when the Airflow task dies without doing so itself.

Run as a script with the process group, the folder and the grace period in seconds. Its standard input is a pipe from the task: a byte
releases the guard, an end of file without one says that the task was killed (kill -9, out of memory, a worker that went away).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_POLL_S = 0.1


@dataclass(frozen=True)
class Guard:
    """The task's end of a guard."""

    _process: subprocess.Popen[bytes]

    def release(self) -> None:
        """All is settled: the guard ends without touching anything."""
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            pipe.write(b"\n")
            pipe.close()

    def wait(self, timeout_s: float) -> int:
        """Exit code of a released guard."""
        return self._process.wait(timeout_s)


def start_guard(group: int, folder: Path, grace_s: float) -> Guard:
    """Start a guard in a session of its own, so that a signal to the task's process group passes it by.

    :param group: process group to end, first by SIGTERM.
    :param folder: private folder of the task; removed at once.
    :param grace_s: seconds between SIGTERM and SIGKILL.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", __file__, str(group), str(folder), str(grace_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        bufsize=0,
    )
    return Guard(process)


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group; False where it is gone."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _end(group: int, grace_s: float) -> None:
    deadline = time.monotonic() + grace_s
    alive = signal_group(group, signal.SIGTERM)
    while alive and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        alive = _exists(group)
    if alive:
        signal_group(group, signal.SIGKILL)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def main(group: int, folder: Path, grace_s: float) -> None:
    if sys.stdin.buffer.read(1):
        return
    shutil.rmtree(folder, ignore_errors=True)
    _end(group, grace_s)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
