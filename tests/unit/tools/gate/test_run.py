"""Whole runs of the gate over small projects: second tries, crashes, interrupts, memory, what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import wait_until
from tests.unit.tools.gate.project import Project
from tools.gate.recorder import EVENTS
from tools.gate.runner import MARK
from tools.gate.steps import Step, pytest_step
from tools.servers.jars import CHECKOUT

# fails in the first process that runs it
FAILS_ONCE = """
from pathlib import Path
def test_once():
    seen = Path(__file__).with_suffix(".seen")
    was_there = seen.exists()
    seen.touch()
    assert was_there, "the first failure"
"""
CRASHES_ONCE = FAILS_ONCE.replace(
    'assert was_there, "the first failure"', "was_there or __import__('os').kill(__import__('os').getpid(), 11)"
)
SERVER, UNIT = "tests/integration/test_server.py", "tests/unit/test_unit.py"


def test_a_test_of_real_servers_that_passes_in_its_second_try_is_flaky(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write(UNIT, "import pytest\n@pytest.mark.skip\ndef test_skipped():\n    pass\ndef test_passes():\n    pass\n")
    project.write(SERVER, FAILS_ONCE)
    assert project.run(workers=2) == 0
    out = capfd.readouterr().out.splitlines()
    assert out[-2:] == [f"FLAKY {SERVER}::test_once", "2 passed, 0 failed, 1 skipped"]
    assert any("AssertionError: the first failure" in line for line in out)
    assert "second try 1 ended: 1 tests in " in "\n".join(out)


def test_a_test_that_fails_twice_fails_the_run(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write(SERVER, "def test_always():\n    assert False, 'the same failure'\n")
    assert project.run() == 1
    out = capfd.readouterr().out.splitlines()
    assert out[-2:] == [f"FAILED {SERVER}::test_always", "0 passed, 1 failed, 0 skipped"]
    assert f"    alone: .venv/bin/python -m pytest {SERVER}::test_always" in out
    assert (project.root / "gate" / "tmp").exists()  # logs of servers, which the failure names


@pytest.mark.parametrize("workers", [0, 1])
def test_a_crash_is_not_flaky_and_shows_its_stack(project: Project, capfd: pytest.CaptureFixture[str], workers: int) -> None:
    project.write(SERVER, CRASHES_ONCE)
    assert project.run(workers=workers) == 1
    out = capfd.readouterr().out
    assert "second try" not in out
    assert "Fatal Python error: Segmentation fault" in out
    assert "in test_once" in out.partition("Fatal Python error")[2]


def test_a_file_that_cannot_be_collected_fails_the_run(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write(SERVER, "import no_such_module\n")
    assert project.run(workers=1) == 1
    assert f"FAILED {SERVER}" in capfd.readouterr().out


def test_a_step_that_fails_beside_a_flaky_test_fails_the_run(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write(SERVER, FAILS_ONCE)
    floor = Step("coverage", (sys.executable, "-c", "import sys; sys.exit('total of 89 is less than 90')"))
    assert project.run(pytest_step("tests", ("tests",), 0), floor) == 1
    out = capfd.readouterr().out
    assert f"FLAKY {SERVER}::test_once" in out
    assert "FAILED: coverage ended with exit code 1:\n    total of 89 is less than 90" in out


def test_a_run_that_takes_too_long_is_ended(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write(SERVER, "import time\ndef test_hangs():\n    time.sleep(3_600)\n")
    assert project.run(limit_s=0) == 1
    assert "FAILED: tests ended by the limit of 0:00 minutes; running: " in capfd.readouterr().out


def test_a_process_that_is_left_running_is_a_problem(
    project: Project, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.gate.runner._LEFT_OVER_S", 0.2)
    start = "import subprocess, sys\ndef test_leaves():\n    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
    project.write(SERVER, f"{start} start_new_session=True)\n")
    assert project.run() == 1
    [line] = [line for line in capfd.readouterr().out.splitlines() if line.startswith("FAILED: processes were left running: ")]
    assert not psutil.pid_exists(int(line.split(": ")[2].split()[0]))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_nothing(tmp_path: Path, number: int) -> None:
    project = Project(tmp_path)
    text = """
import subprocess, sys, time
from pathlib import Path
def test_long(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path(__file__).with_suffix(".new").write_text(str(child.pid))
    Path(__file__).with_suffix(".new").rename(Path(__file__).with_suffix(".child"))
    time.sleep(600)
"""
    project.write(SERVER, text)
    program = """
import sys
from pathlib import Path
from tools.gate import __main__ as gate
from tools.gate.steps import pytest_step
root = Path(sys.argv[1])
gate.CHECKOUT, gate.FOLDER = root, root / "gate"
sys.exit(gate.main(["tests"]))
"""
    environment = {name: value for name, value in os.environ.items() if name not in (MARK, EVENTS)} | {"PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=environment, stdout=subprocess.DEVNULL) as gate:
        child_file = tmp_path / SERVER.replace(".py", ".child")
        wait_until(lambda: child_file.exists() or gate.poll() is not None, "the test's child")
        child = psutil.Process(int(child_file.read_text()))
        family = [child, *psutil.Process(gate.pid).children(recursive=True)]
        gate.send_signal(number)
        code = gate.wait(120)
    assert code == (-number if number == signal.SIGKILL else 130)
    wait_until(lambda: not any(process.is_running() for process in family), "end of all processes")
    wait_until(lambda: not (tmp_path / "gate" / "tmp").exists(), "removal of temporary files")
