"""A test is run until it fails, beside busy processes that end with the hunt."""

from __future__ import annotations

import psutil
import pytest

from tests.unit.tools.gate.project import Project
from tools.gate.__main__ import prepare
from tools.gate.hunt import busy, hunt

# fails in its third run
TEST = """
from pathlib import Path
def test_third():
    runs = Path("runs")
    runs.write_text(runs.read_text() + "." if runs.exists() else ".")
    assert runs.read_text() != "..."
"""


def test_a_hunt_ends_with_the_first_failure(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write("test_rare.py", TEST)
    runner = prepare((), project.root / "gate", project.root)
    assert [result.test for result in hunt(runner, ("test_rare.py",), 50)] == ["test_rare.py::test_third"]
    assert (project.root / "runs").read_text() == "..."
    assert (project.root / "gate" / "tmp").exists()
    out = capfd.readouterr().out
    assert "run 2 of 50: passed after " in out
    assert "run 3 of 50: failed after " in out


def test_busy_processes_end_with_the_hunt() -> None:
    with busy(2):
        children = psutil.Process().children()
        assert len([child for child in children if "while True: pass" in child.cmdline()]) == 2
    assert not any(child.is_running() for child in children if child not in psutil.Process().children())
