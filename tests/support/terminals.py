"""Pseudo terminals for tests of what a command draws."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.support.waiting import DEADLINE_S

ROWS, COLUMNS = 40, 160


class TerminalProcess:
    """A process whose stderr, and stdout unless it is a pipe, are a pseudo terminal; ``drawn`` has all that it wrote there."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], *, stdout: int | None = None) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._chunks = io.BytesIO()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave if stdout is None else stdout, stderr=slave, env={**environment}, start_new_session=True
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._master, 65_536):
                self._chunks.write(chunk)
        except OSError:  # EIO: the last process has closed the terminal
            return

    @property
    def drawn(self) -> str:
        return self._chunks.getvalue().decode(errors="replace")

    def wait(self) -> int:
        code = self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        os.close(self._master)


@contextmanager
def terminal_process(command: Sequence[str], environment: Mapping[str, str], *, stdout: int | None = None) -> Iterator[TerminalProcess]:
    """A process in a terminal of 40 lines and 160 columns, which is killed at the end."""
    process = TerminalProcess(command, environment, stdout=stdout)
    try:
        yield process
    finally:
        process.close()
