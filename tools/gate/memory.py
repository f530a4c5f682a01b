"""The peak of memory of all processes of a run, by their proportional set sizes.

Memory that several processes share, such as that of forked Python workers, is counted once (proc(5),
``/proc/PID/smaps_rollup``).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tools.servers.marks import marked

_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)
_INTERVAL_S = 10.0  # a look at the pages of all processes takes a fifth of a second of a core


def proportional_bytes(pids: Iterable[int]) -> int:
    """Return the proportional set size of processes together, in bytes; one that has ended counts 0."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            found = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_bytes())
            total += int(found[1]) * 1024 if found else 0
    return total


class PeakMemory:
    """Samples the processes that have a mark, in a thread, until :meth:`stop`.

    :param name: environment variable of the mark.
    :param value: its value.
    """

    def __init__(self, name: str, value: str, interval_s: float = _INTERVAL_S) -> None:
        self.peak_bytes = 0
        self._mark, self._interval_s = (name, value), interval_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="peak-memory", daemon=True)

    def start(self) -> PeakMemory:
        """Begin to sample."""
        self._thread.start()
        return self

    def stop(self) -> int:
        """End the thread and return the peak in bytes."""
        self._stopped.set()
        self._thread.join()
        return self.peak_bytes

    def _sample(self) -> None:
        while not self._stopped.is_set():
            self.peak_bytes = max(self.peak_bytes, proportional_bytes(process.pid for process in marked(*self._mark)))
            self._stopped.wait(self._interval_s)
