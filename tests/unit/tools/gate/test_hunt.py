"""A test is run until it fails, beside busy processes that end with the hunt."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tools.gate.__main__ import prepare
from tools.gate.hunt import busy, hunt
from tools.gate.runner import MARK
from tools.servers.jars import CHECKOUT

# fails in its third run
TEST = """
from pathlib import Path
def test_third():
    runs = Path("runs")
    runs.write_text(runs.read_text() + "." if runs.exists() else ".")
    assert runs.read_text() != "..."
"""


def test_a_hunt_ends_with_the_first_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.setenv(MARK, "")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_rare.py").write_text(TEST)
    runner = prepare((), 0, tmp_path / "gate", tmp_path)
    assert [result.test for result in hunt(runner, ("test_rare.py",), 50)] == ["test_rare.py::test_third"]
    assert (tmp_path / "runs").read_text() == "..."
    assert (tmp_path / "gate" / "tmp").exists()
    out = capfd.readouterr().out
    assert "run 2 of 50: passed after " in out
    assert "run 3 of 50: failed after " in out


def test_busy_processes_end_with_the_hunt() -> None:
    with busy(2):
        children = psutil.Process().children()
        assert len([child for child in children if "while True: pass" in child.cmdline()]) == 2
    assert not any(child.is_running() for child in children if child not in psutil.Process().children())
