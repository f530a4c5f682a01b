"""A contender: a process that runs rounds on request; with the CPU time and memory of every process in a round."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.servers.process import end_family

from .processes import cpu_by_role, spent, watch_memory


class ContenderFailed(Exception):
    """A contender ended or did not answer; the message has the end of its log."""


@dataclass(frozen=True)
class Round:
    """One round.

    :param cpu_seconds: CPU time by role of the contender's processes, and of the servers (``ignite``, ``broker``).
    :param peak_mib: highest memory by role.
    """

    entries: int
    seconds: float
    cpu_seconds: Mapping[str, float]
    peak_mib: Mapping[str, float] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        """Entries per second."""
        return self.entries / self.seconds

    def microseconds(self, role: str) -> float:
        """CPU of a role, microseconds an entry."""
        return self.cpu_seconds.get(role, 0.0) / self.entries * 1e6


class Contender:
    """A contender's process, started by its first round, which so is a cold one.

    :param servers: role to process id of the servers whose CPU time is counted too.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        servers: Mapping[str, int],
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self._command, self._log, self._servers, self._env = name, list(command), log, servers, env
        self._process: subprocess.Popen[str] | None = None
        self.start_seconds = 0.0

    def round(self, **request: Any) -> Round:
        """Run one round.

        :raises ContenderFailed: the process ended without an answer.
        """
        process = self._started()
        before = self._cpu(process.pid)
        with watch_memory(process.pid) as peak:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            answer = self._answer(process)
        cpu = spent(before, self._cpu(process.pid))
        return Round(int(answer["entries"]), float(answer["seconds"]), cpu, dict(peak.mib), answer)

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            started = time.monotonic()
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=self._env,
                    start_new_session=True,
                )
            self._answer(self._process)
            self.start_seconds = time.monotonic() - started
        return self._process

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("@"):
                answer: dict[str, Any] = json.loads(line[1:])
                return answer
        raise ContenderFailed(
            f"{self.name} ended with {process.wait()}; end of {self._log}:\n{self._log.read_text(errors='replace')[-3000:]}"
        )

    def _cpu(self, pid: int) -> dict[str, float]:
        seconds = cpu_by_role(pid)
        for name, server in self._servers.items():
            seconds[name] = sum(cpu_by_role(server).values())
        return seconds

    def close(self) -> None:
        """End the process and its children."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            end_family(self._process.pid, timeout_s=10)
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
