"""A library that shifts the time of day of the programs that preload it, as a host whose clock is wrong does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# the time of day alone: the JVM measures its waits by the monotonic clock
_SOURCE = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += SHIFT_S;
    return (int) failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    long failed = syscall(SYS_gettimeofday, now, zone);
    if (!failed) now->tv_sec += SHIFT_S;
    return (int) failed;
}

time_t time(time_t *now) {
    struct timespec read;
    clock_gettime(CLOCK_REALTIME, &read);
    if (now) *now = read.tv_sec;
    return read.tv_sec;
}
"""


def build_shift(folder: Path, seconds: int) -> Path:
    """Compile the library with a C compiler, which must be installed, and return its path.

    :param seconds: that are added to the time of day; negative: the clock is behind.
    """
    library = folder / f"shift{seconds}.so"
    command = ["cc", "-shared", "-fPIC", "-O1", f"-DSHIFT_S=({seconds})", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=_SOURCE, check=True, text=True)
    return library


@contextmanager
def preloaded(library: Path) -> Iterator[None]:
    """Processes that are started meanwhile have the shifted clock."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LD_PRELOAD", str(library))
        yield
