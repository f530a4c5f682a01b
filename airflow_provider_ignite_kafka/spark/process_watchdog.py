"""Watchdog process that stops spark-submit and removes the task's private files if the Airflow task dies.

Run as a script with the process group, the folder and the grace period in seconds. Its standard input is a pipe from
the task: one byte means that the task has requested the app's stop, another byte releases the watchdog. An end of file
without a release means that the task was killed: kill -9, out of memory, a lost worker, or Airflow's supervisor, five
seconds after its own request.

The watchdog starts with SIGTERM, SIGINT and SIGHUP blocked: systemd or a container runtime, which stop all processes of
a worker at once, must not end it before it has stopped the app. It ends at most `grace_s` after the task.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_POLL_S = 0.1
_BLOCKED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STOP_REQUESTED = b"a"
_RELEASED = b"r"


@dataclass(frozen=True)
class ProcessWatchdog:
    """Handle with which the task talks to its watchdog process."""

    _process: subprocess.Popen[bytes]

    def note_stop_requested(self) -> None:
        """Tell the watchdog not to send SIGTERM, because a second one would interrupt the app's batch."""
        self._send(_STOP_REQUESTED)

    def release(self) -> None:
        """End the watchdog without stopping the app, because the task ends normally."""
        self._send(_RELEASED)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _send(self, message: bytes) -> None:
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):  # the watchdog was killed
                pipe.write(message)

    def wait(self, timeout_s: float) -> int:
        """Wait for the end of a released watchdog, and return its exit code."""
        return self._process.wait(timeout_s)


def start_watchdog(group: int, folder: Path, grace_s: float) -> ProcessWatchdog:
    """Start a watchdog for spark-submit, in a new session so that signals to the task do not reach it.

    :param group: process group to end, first by :func:`terminate_app`.
    :param folder: private folder of the task; removed when the group has ended.
    :param grace_s: seconds between SIGTERM and SIGKILL.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)  # a new process inherits the mask
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", __file__, str(group), str(folder), str(grace_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ProcessWatchdog(process)


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group, and return whether the group still exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def terminate_app(group: int, folder: Path) -> bool:
    """Send SIGTERM to the app, so that it ends gracefully, or to the process group if no app has started.

    Only the app gets the signal, because it needs its Spark to end its batch. The app is the child of spark-submit's
    JVM that has a file of the task's folder in its arguments. The function logs nothing and takes no lock, so a signal
    handler may call it.

    :param group: process group of spark-submit, its leader.
    :param folder: private folder of the task.
    :return: False if the group has ended.
    """
    app = _app(group, str(folder))
    if app is None:
        return signal_group(group, signal.SIGTERM)
    with suppress(psutil.NoSuchProcess):
        app.terminate()
    return True


def _app(leader: int, folder: str) -> psutil.Process | None:
    with suppress(psutil.NoSuchProcess):
        submit = psutil.Process(leader)
        for child in submit.children() if submit.name() == "java" else ():
            with suppress(psutil.NoSuchProcess):  # Spark's Python workers come and go
                if any(folder in argument for argument in child.cmdline()):
                    return child
    return None


def _end(group: int, folder: Path, grace_s: float, stop_requested: bool) -> None:
    deadline = time.monotonic() + grace_s
    alive = _exists(group) if stop_requested else terminate_app(group, folder)
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
    """Wait until the task releases the watchdog or dies; after a death stop the app, and remove the folder."""
    stop_requested = False
    while message := sys.stdin.buffer.read(1):
        if message == _RELEASED:
            return
        stop_requested = True
    try:
        _end(group, folder, grace_s, stop_requested)
    finally:
        # last, because an app that ends its batch may still read its library there
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
