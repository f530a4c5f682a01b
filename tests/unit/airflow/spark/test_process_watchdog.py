"""The watchdog process: it ends a real process group when the pipe breaks, and leaves it alone when it is released."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ignite_kafka.spark import process_watchdog
from tests.support.waiting import DEADLINE_S, wait_until

_SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
_STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"


def start(code: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.mark.parametrize(
    ("code", "stop_requested", "ended_by"),
    [(_SLEEPER, False, signal.SIGTERM), (_STUBBORN, False, signal.SIGKILL), (_SLEEPER, True, signal.SIGKILL)],
)
def test_a_killed_task_takes_its_app_and_its_files_along(tmp_path: Path, code: str, stop_requested: bool, ended_by: signal.Signals) -> None:
    """An app that has its SIGTERM gets no second one."""
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "secrets.json").write_text("{}")
    app = start(code)
    task = f"""
import os, signal
from pathlib import Path
from airflow_provider_ignite_kafka.spark.process_watchdog import start_watchdog
watchdog = start_watchdog({app.pid}, Path({str(folder)!r}), 0.2)
if {stop_requested}:
    watchdog.note_stop_requested()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", task], check=False).returncode == -signal.SIGKILL
    with app:
        assert app.wait(DEADLINE_S) == -ended_by
    wait_until(lambda: not folder.exists(), "end of the private folder")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_all_processes_of_a_worker_does_not_end_the_watchdog_before_its_app(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    app = start(_STUBBORN)
    task = f"""
import os, signal
from pathlib import Path
from airflow_provider_ignite_kafka.spark.process_watchdog import start_watchdog
watchdog = start_watchdog({app.pid}, Path({str(folder)!r}), 0.2)
os.killpg(watchdog._process.pid, {int(number)})
os.kill(os.getpid(), signal.SIGKILL)
"""
    try:
        assert subprocess.run([sys.executable, "-c", task], check=False).returncode == -signal.SIGKILL
        wait_until(lambda: app.poll() is not None, "end of the app")
        wait_until(lambda: not folder.exists(), "end of the private folder")
    finally:
        app.kill()
        with app:
            app.wait()


def test_a_released_watchdog_touches_nothing(tmp_path: Path) -> None:
    app = start(_SLEEPER)
    try:
        held = process_watchdog.start_watchdog(app.pid, tmp_path, 0.2)
        held.release()
        held.release()
        assert held.wait(DEADLINE_S) == 0
        assert app.poll() is None
        assert tmp_path.exists()
    finally:
        os.killpg(app.pid, signal.SIGKILL)
        with app:
            app.wait()
