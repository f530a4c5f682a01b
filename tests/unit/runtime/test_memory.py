"""Memory that is free between live blocks goes back to the kernel; glibc's malloc keeps it otherwise."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import ctypes, os
from ignite_kafka.runtime.memory import return_free_memory, tune_allocation

def resident():
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

tune_allocation()
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
blocks = [c.malloc(1 << 20) for _ in range(200)]
for block in blocks:
    ctypes.memset(block, 1, 1 << 20)
for block in blocks[:-1]:  # the last one stays above them
    c.free(block)
kept = resident()
return_free_memory()
print(kept - resident())
"""


def test_free_memory_below_a_live_block_is_returned() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 150
