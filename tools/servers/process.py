"""A server process with its output in a file and its own process group; the kernel kills it when its starter dies."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from .marks import end

_LAUNCHER = Path(__file__).with_name("_with_parent.py")
DEADLINE_S = 900.0  # bounds a hang: the end of a process is noticed at once
_POLL_S = 0.05
_STOP_S = 20.0
_PORTS = range(12_000, 32_000)  # net.ipv4.ip_local_port_range begins at 32768
_PORTS_A_PROCESS = 100
_port_numbers = itertools.count()


class ServerFailed(Exception):
    """A server ended or did not answer in time; the message has the end of its output."""


def free_ports(count: int) -> list[int]:
    """Return distinct loopback ports on which no server listens now.

    They are below the kernel's range for outgoing connections, so no connection takes the port of a server that is
    down. Processes that run side by side search different ranges.

    :raises ServerFailed: too few ports are free.
    """
    free: list[int] = []
    for _ in range(_PORTS_A_PROCESS):
        port = _PORTS[(os.getpid() * _PORTS_A_PROCESS + next(_port_numbers) % _PORTS_A_PROCESS) % len(_PORTS)]
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            free.append(port)
        if len(free) == count:
            return free
    raise ServerFailed(f"there are no {count} free ports")


def await_condition(condition: Callable[[], bool], what: str, timeout_s: float = DEADLINE_S) -> None:
    """Wait until the condition is true.

    :param what: the condition, for the message of the error.
    :raises ServerFailed: it is still false after ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise ServerFailed(f"{what}: not within {timeout_s:g} s")
        time.sleep(_POLL_S)


class ServerProcess:
    """One running server.

    :param name: its name in messages.
    :param log: file of its output; each start creates it anew.
    :param outlives_parent: keep the server running after its starter ends (``make up``), and keep the log of its last
        start beside the new one, with the time of its last line in the name.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        outlives_parent: bool = False,
    ) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        words = [str(word) for word in command]
        if not outlives_parent:
            words = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *words]
        elif log.exists():
            ended = time.strftime("%Y%m%dT%H%M%S", time.localtime(log.stat().st_mtime))
            log.rename(log.with_stem(f"{log.stem}-{ended}"))
        with log.open("wb") as output:
            # a session of its own: Ctrl-C goes to the starter alone, which then stops its servers in order
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def output(self) -> str:
        """Text of the log."""
        return self.log.read_text(errors="replace")

    def wait(self, timeout_s: float = DEADLINE_S) -> int:
        """Wait for the end and return the exit code.

        :raises subprocess.TimeoutExpired: the process still runs.
        """
        return self._process.wait(timeout_s)

    def await_ready(self, condition: Callable[[], bool], timeout_s: float = DEADLINE_S) -> None:
        """Wait until the condition is true, which shows that the server answers.

        :raises ServerFailed: the server ended or did not answer in time.
        """

        def ready() -> bool:
            if not self.running():
                raise ServerFailed(
                    f"{self.name} ended with exit code {self._process.returncode}; end of {self.log}:\n{self.output()[-3000:]}"
                )
            return condition()

        try:
            await_condition(ready, f"{self.name} answers", timeout_s)
        except ServerFailed as failure:
            raise (
                failure
                if not self.running()
                else ServerFailed(f"{failure}; end of {self.log}:\n{self.output()[-3000:]}")
            ) from None

    def kill(self) -> None:
        """Kill the server's process group (SIGKILL) and wait for its end."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """End the server and its descendants: SIGTERM, then SIGKILL after ``timeout_s``."""
        end_family(self.pid, timeout_s)
        self._process.wait()


def end_family(pid: int, timeout_s: float = _STOP_S) -> None:
    """End a process and all its descendants, in whatever process group: SIGTERM, then SIGKILL after ``timeout_s``."""
    with suppress(psutil.NoSuchProcess):
        leader = psutil.Process(pid)
        end([leader, *leader.children(recursive=True)], timeout_s)
