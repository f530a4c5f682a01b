"""What a test run started ends with the run, also where the run is killed and the process is in a session of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.support.waiting import wait_until
from tools.servers.jars import CHECKOUT

RUN = """
import subprocess, sys, time
from tools.servers import left_behind
left_behind.watch()
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
child = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=subprocess.DEVNULL).pid)"
print(subprocess.run([sys.executable, "-c", child, *sleeper], stdout=subprocess.PIPE, text=True).stdout, end="", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_left_behind_by_an_ended_run_are_ended(number: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(
        [sys.executable, "-c", RUN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as run:
        assert run.stdout is not None
        orphan = psutil.Process(int(run.stdout.readline()))
        assert orphan.is_running()
        run.send_signal(number)
    wait_until(lambda: not orphan.is_running(), "end of the orphan")
