"""Servers end with their starter, however it ends, and take with them what they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import ServerFailed, ServerProcess, free_ports
from tools.servers.jars import CHECKOUT

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_server_dies_with_a_starter_that_is_killed(tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from tools.servers import ServerProcess
print(ServerProcess("sleeper", {SLEEP!r}, Path({str(tmp_path)!r}) / "log").pid, flush=True)
time.sleep(600)
"""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment) as starter:
        assert starter.stdout is not None
        server = int(starter.stdout.readline())
        assert not gone(server)
        starter.send_signal(signal.SIGKILL)
    wait_until(lambda: gone(server), "end of the server")


def test_stop_ends_descendants_that_left_the_process_group(tmp_path: Path) -> None:
    program = f"import subprocess; print(subprocess.Popen({SLEEP!r}, start_new_session=True).pid, flush=True); import time; time.sleep(600)"
    server = ServerProcess("parent", [sys.executable, "-c", program], tmp_path / "log")
    server.await_ready(lambda: server.output().endswith("\n"), DEADLINE_S)
    child = int(server.output())
    server.stop(timeout_s=0.5)
    wait_until(lambda: gone(child) and gone(server.pid), "end of both")


def test_the_error_for_a_server_that_ended_has_the_end_of_its_output(tmp_path: Path) -> None:
    server = ServerProcess("broken", [sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path / "log")
    with pytest.raises(ServerFailed, match=r"broken ended with exit code 1[\s\S]*no such thing"):
        server.await_ready(lambda: False, DEADLINE_S)


def test_the_error_for_a_server_that_does_not_answer_has_the_end_of_its_output(tmp_path: Path) -> None:
    server = ServerProcess("silent", [sys.executable, "-u", "-c", "print('busy'); import time; time.sleep(600)"], tmp_path / "log")
    server.await_ready(lambda: "busy" in server.output(), DEADLINE_S)
    with pytest.raises(ServerFailed, match=r"silent answers: not within 0.2 s[\s\S]*busy"):
        server.await_ready(lambda: False, 0.2)
    server.kill()
    assert gone(server.pid)


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
