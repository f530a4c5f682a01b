"""Stands beside a spark-submit: stops it and removes the task's private files when the Airflow task dies without doing so itself.

Run as a script with the process group, the folder and the grace period in seconds. Its standard input is a pipe from the task: one byte
tells that the task has asked the app to stop, another releases the guard, and an end of file without that one says that the task was
killed (kill -9, out of memory, a worker that went away; also by Airflow's supervisor, five seconds after it asked the task itself).

The guard starts with SIGTERM, SIGINT and SIGHUP blocked: whoever stops all processes of a worker at once (systemd, a container runtime)
must not end it before it has stopped the app. It ends by itself at most `grace_s` after the task.
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
_ASKED, _RELEASED = b"a", b"r"


@dataclass(frozen=True)
class Guard:
    """The task's end of a guard."""

    _process: subprocess.Popen[bytes]

    def note_asked(self) -> None:
        """The app was asked to stop; asked once more, it would not finish its batch."""
        self._tell(_ASKED)

    def release(self) -> None:
        """All is settled: the guard ends without touching anything."""
        self._tell(_RELEASED)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _tell(self, word: bytes) -> None:
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):  # somebody ended the guard
                pipe.write(word)

    def wait(self, timeout_s: float) -> int:
        """Exit code of a released guard."""
        return self._process.wait(timeout_s)


def start_guard(group: int, folder: Path, grace_s: float) -> Guard:
    """Start a guard in a session of its own, so that a signal to the task's process group passes it by.

    :param group: process group to end: asked first, as :func:`ask_to_stop` does.
    :param folder: private folder of the task; removed when the group has ended.
    :param grace_s: seconds between SIGTERM and SIGKILL.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)  # a new process inherits the mask, so there is no moment without it
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
    return Guard(process)


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group; False where it is gone."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def ask_to_stop(group: int, folder: Path) -> bool:
    """Send SIGTERM to the app alone where there is one, as it cannot end its batch without its Spark; else to the whole group.

    The app is what spark-submit, once it is a JVM, has started with a file of the task's folder in its arguments. Logs nothing and takes no
    lock, so a signal handler may call it.

    :param group: process group of spark-submit, its leader.
    :param folder: private folder of the task.
    :return: False where the group is gone.
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


def _end(group: int, folder: Path, grace_s: float, asked: bool) -> None:
    deadline = time.monotonic() + grace_s
    alive = _exists(group) if asked else ask_to_stop(group, folder)
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
    asked = False
    while word := sys.stdin.buffer.read(1):
        if word == _RELEASED:
            return
        asked = True
    try:
        _end(group, folder, grace_s, asked)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # only now: an app that ends its batch may still read its library from there


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
