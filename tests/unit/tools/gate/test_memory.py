"""The peak of memory counts all processes of a run, and what they share once."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

from tests.support.waiting import wait_until
from tools.gate.memory import PeakMemory, proportional_bytes

MIB = 1 << 20
# holds 200 MiB, which a child of it shares
HOLD = """
import os, sys, time
held = bytearray(b"x") * (200 << 20)
if os.fork() == 0:
    sum(held[::4096])
print("held", flush=True)
time.sleep(600)
"""


def test_memory_of_a_process_and_its_child_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_RUN", run := uuid.uuid4().hex)
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, start_new_session=True) as holder:
        assert holder.stdout is not None
        try:
            assert [holder.stdout.readline(), holder.stdout.readline()] == [b"held\n", b"held\n"]
            memory = PeakMemory("A_RUN", run, interval_s=0.05).start()
            wait_until(lambda: memory.peak_bytes >= 200 * MIB, "memory of the child")
            assert memory.stop() < 300 * MIB
        finally:
            subprocess.run(["pkill", "-KILL", "--session", str(holder.pid)], check=True)


def test_a_process_that_has_ended_counts_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert proportional_bytes([ended.pid]) == 0
