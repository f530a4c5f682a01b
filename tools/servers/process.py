"""A server process: output in a file, a process group of its own, ended by its id, and by the kernel when its starter dies."""

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
_POLL_S = 0.05
_STOP_S = 20.0
_PORTS = range(12_000, 32_000)  # net.ipv4.ip_local_port_range begins at 32768
_PORTS_A_PROCESS = 100
_port_numbers = itertools.count()


class ServerFailed(Exception):
    """A server ended, or did not answer in time; the message has the end of its output."""


def free_ports(count: int) -> list[int]:
    """Distinct ports of loopback that nobody listens on now.

    They lie below those that the kernel gives to outgoing connections, so that none is taken while its server is down, and processes that
    run side by side look in different places.
    """
    free: list[int] = []
    for _ in range(_PORTS_A_PROCESS):
        port = _PORTS[(os.getpid() * _PORTS_A_PROCESS + next(_port_numbers) % _PORTS_A_PROCESS) % len(_PORTS)]
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            free.append(port)
        if len(free) == count:
            return free
    raise ServerFailed(f"there are no {count} free ports")


def await_condition(condition: Callable[[], bool], what: str, timeout_s: float) -> None:
    """Ask until it is so.

    :raises ServerFailed: it was not so within ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise ServerFailed(f"{what}: not within {timeout_s:g} s")
        time.sleep(_POLL_S)


class ServerProcess:
    """One running server.

    :param name: for messages.
    :param log: its output; made new by each start.
    :param outlives_parent: true for a server that goes on when its starter ends (``make up``); the log of its last start is kept
        beside the new one, with the time of its last line in its name.
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
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def running(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait(self, timeout_s: float) -> int:
        """Exit code.

        :raises subprocess.TimeoutExpired: it still runs.
        """
        return self._process.wait(timeout_s)

    def await_ready(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Wait until the server answers.

        :raises ServerFailed: it ended or did not answer in time.
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
            raise failure if not self.running() else ServerFailed(f"{failure}; end of {self.log}:\n{self.output()[-3000:]}") from None

    def kill(self) -> None:
        """kill -9 of the server's process group; waits for its end."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """SIGTERM to it and its descendants, SIGKILL to those that are left after ``timeout_s``."""
        end_family(self.pid, timeout_s)
        self._process.wait()


def end_family(pid: int, timeout_s: float = _STOP_S) -> None:
    """End a process and all its descendants, also those in groups of their own: SIGTERM, after ``timeout_s`` SIGKILL."""
    with suppress(psutil.NoSuchProcess):
        leader = psutil.Process(pid)
        end([leader, *leader.children(recursive=True)], timeout_s)
