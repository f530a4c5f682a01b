"""CPU time and memory of processes, from /proc (proc(5)); Linux only."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_SAMPLE_S = 0.2


@dataclass(frozen=True)
class Stat:
    """One process. ``cpu_seconds``: user and system time, its own and that of children it has waited for."""

    pid: int
    parent: int
    cpu_seconds: float


def stat(pid: int) -> Stat | None:
    """From /proc/<pid>/stat; None once the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before it may hold anything
    return Stat(pid, int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)


def family(pid: int) -> list[Stat]:
    """A process and all its descendants."""
    children: dict[int, list[Stat]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := stat(int(name))) is not None:
            children.setdefault(found.parent, []).append(found)
    first = stat(pid)
    result = [] if first is None else [first]
    for one in result:  # grows as descendants are found
        result += children.get(one.pid, ())
    return result


def role(pid: int) -> str:
    """What a process of a Spark application is: ``jvm``, ``worker`` (Python workers and their daemon) or ``python``."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
    if b"pyspark.daemon" in command or b"pyspark/daemon" in command:
        return "worker"
    return "jvm" if command.split(b"\0")[0].endswith(b"java") else "python"


def cpu_by_role(pid: int) -> dict[str, float]:
    """CPU seconds so far of a process and its descendants, by role."""
    seconds: dict[str, float] = {}
    for one in family(pid):
        name = role(one.pid)
        seconds[name] = seconds.get(name, 0.0) + one.cpu_seconds
    return seconds


def spent(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """CPU seconds between two readings, by role."""
    return {name: max(0.0, seconds - before.get(name, 0.0)) for name, seconds in after.items() if name != "gone"}


def resident_mib(pid: int) -> float:
    """Resident memory now; 0 once the process is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass
class Peak:
    """Highest resident memory seen of one process of each role."""

    mib: dict[str, float] = field(default_factory=dict)


@contextmanager
def watch_memory(pid: int) -> Iterator[Peak]:
    """Sample a process and its descendants while the block runs."""
    peak, done = Peak(), threading.Event()

    def sample() -> None:
        while not done.wait(_SAMPLE_S):
            for one in family(pid):
                name = role(one.pid)
                peak.mib[name] = max(peak.mib.get(name, 0.0), resident_mib(one.pid))

    thread = threading.Thread(target=sample, name="memory")
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
