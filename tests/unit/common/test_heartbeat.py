"""The watchdog of a task, in processes of its own: it ends the process."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ignite_kafka.common import heartbeat

PROGRAM = """
import time
from ignite_kafka.common import heartbeat

def stands():
    {body}

with heartbeat.watched({limit}):
    stands()
print("went on")
"""


def run(body: str, limit_s: float, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_FAULTHANDLER_DIR"}
    if folder is not None:
        environment["PYTHON_FAULTHANDLER_DIR"] = str(folder)
    program = PROGRAM.format(body=body, limit=limit_s)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.parametrize("body", ["time.sleep(600)", "'a' * 40 and __import__('re').match('(a+)+$', 'a' * 60 + 'b')"])
def test_a_process_without_a_sign_of_life_ends_and_says_where(body: str) -> None:
    """It waits, or it holds the GIL in C."""
    ended = run(body, 0.5)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Timeout (0:00:00.500000)!")
    assert "in stands" in ended.stderr
    assert "went on" not in ended.stdout


def test_its_stacks_are_where_spark_reads_them(tmp_path: Path) -> None:
    assert run("time.sleep(600)", 0.5, tmp_path).stderr == ""
    (log,) = tmp_path.iterdir()
    assert "in stands" in log.read_text()


def test_after_the_task_nothing_is_watched() -> None:
    assert run("pass\ntime.sleep(0)", 600.0).stdout == "went on\n"
    heartbeat.beat()


def test_a_sign_of_life_starts_the_time_anew_and_is_reported_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    reports, begun, now = list[float](), list[float](), [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda seconds, **_: begun.append(seconds))
    with heartbeat.watched(600.0, lambda: reports.append(now[0])):
        for _ in range(40):
            heartbeat.beat()
            now[0] += 0.25
    heartbeat.beat()
    assert reports == [100.0 + second for second in range(10)]
    assert begun == [600.0] * 10


def test_the_limit_is_above_the_longest_wait() -> None:
    assert heartbeat.limit_s(60_000, 600_000, 10_000) == 660.0 + heartbeat.SLACK_S
    assert heartbeat.limit_s(60_000, 600_000, 900_000) == 1_500.0 + heartbeat.SLACK_S, "requests to nodes are waited for, too"
