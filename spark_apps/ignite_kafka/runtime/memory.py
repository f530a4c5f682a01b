"""How a worker that copies gets its memory: from one place, and without giving it back after each batch.

Measured with eight slots a task (docs/decisions/0006-fixed-costs.md):

- glibc's malloc keeps arenas for threads, eight a core, and what librdkafka's threads free stays in theirs: 5,000,000 entries peaked at
  500 MiB a worker, with two arenas at 340 MiB. Arenas but the first give back what is free, and the next slot's records land in pages that
  the kernel has to zero again: one arena saves a tenth of what handing records to librdkafka costs.
- A batch takes some ten arrays of megabytes. By default each is a mapping of its own, zeroed by the kernel page by page and thrown away:
  a tenth of all CPU time of the copy. Arrow's own pool does the same.
- PySpark collects garbage after each task: 0.16 µs of CPU for each of 250,000 entries, of which nearly all goes over objects that stay.

Source: mallopt(3).
"""

from __future__ import annotations

import ctypes
import gc
import sys

import pyarrow as pa

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_ARENAS = 1
_MORE = 32 << 20  # bytes asked of the kernel at once
_KEPT = 64 << 20  # bytes free at the top of an arena before it is given back
_LARGE = 32 << 20  # bytes of a block that is mapped by itself; the most that mallopt takes


def tune_allocation() -> None:
    """For this process from now on, at the start of each task; where malloc is not glibc's, nothing changes of malloc."""
    gc.freeze()  # PySpark has just collected: what is there stays
    if sys.platform != "linux" or (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is None:
        return
    settings = {_M_ARENA_MAX: _ARENAS, _M_TRIM_THRESHOLD: _KEPT, _M_TOP_PAD: _MORE, _M_MMAP_THRESHOLD: _LARGE}
    for parameter, value in settings.items():
        mallopt(parameter, value)
    pa.set_memory_pool(pa.system_memory_pool())
