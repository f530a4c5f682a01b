"""Tuning of malloc in a Python worker: one arena, which keeps its memory between batches.

Measured with eight slots a task (docs/decisions/0006-fixed-costs.md):

- glibc's malloc keeps up to eight arenas per core, and memory freed by librdkafka's threads stays in theirs: 5,000,000
  entries peaked at 500 MiB per worker, with two arenas at 340 MiB. Arenas other than the first return free memory, and
  the kernel zeroes the pages again for the next slot: one arena saves a tenth of the time for handing records to
  librdkafka.
- A batch allocates about ten arrays of megabytes. By default each is a separate mapping, zeroed page by page and
  unmapped afterwards: a tenth of the copy's CPU time. Arrow's own pool does the same.
- Where tasks of several kinds take turns, small blocks of librdkafka lie between freed large ones, and a worker's
  memory rises over its first tasks. A comparison returns free memory before each of its tasks: one million records of a
  sink peaked at 404 MiB, now at 346, in the same time (docs/decisions/0032-verify-by-fingerprints.md).
- PySpark collects garbage after each task: 0.16 µs of CPU per entry with 250,000 entries, spent mostly on long-lived
  objects.

Source: mallopt(3).
"""

from __future__ import annotations

import ctypes
import gc
import sys

import pyarrow as pa

_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_ARENAS = 1
_MORE = 32 << 20  # bytes requested from the kernel at once
_KEPT = 64 << 20  # free bytes at the top of an arena before they are returned
_LARGE = 32 << 20  # size in bytes from which a block is mapped separately; the maximum of mallopt


def return_free_memory() -> None:
    """Return memory freed by earlier tasks to the kernel, because glibc's malloc keeps it.

    Without glibc do nothing.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(ctypes.c_size_t(0))


def tune_allocation() -> None:
    """Tune malloc and garbage collection of this process for batches, at the start of each task (glibc only)."""
    gc.freeze()  # PySpark has just collected garbage; the rest is long-lived
    if sys.platform != "linux" or (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is None:
        return
    settings = {_M_ARENA_MAX: _ARENAS, _M_TRIM_THRESHOLD: _KEPT, _M_TOP_PAD: _MORE, _M_MMAP_THRESHOLD: _LARGE}
    for parameter, value in settings.items():
        mallopt(parameter, value)
    pa.set_memory_pool(pa.system_memory_pool())
