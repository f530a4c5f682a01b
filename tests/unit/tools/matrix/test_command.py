"""The command of the matrix."""

from __future__ import annotations

import subprocess

import pytest

from tools.matrix import __main__ as command
from tools.matrix import page
from tools.matrix.runs import Counts
from tools.matrix.sets import SETS, VersionSet


def test_an_unknown_set_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("latest", "spark-9-"):
        with pytest.raises(SystemExit):
            command.main([name])
        assert f"unknown: {name}; known are oldest, " in capsys.readouterr().err


def test_the_beginning_of_names_stands_for_all_of_them() -> None:
    names = [one.name for one in command.chosen(["kafka-", "oldest"])]
    assert names == ["oldest", *(name for name in SETS if name.startswith("kafka-"))]
    assert [one.name for one in command.chosen([])] == list(SETS)


def test_a_set_is_written_before_the_next_one_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    written: list[str] = []

    def run(chosen: VersionSet) -> dict[str, Counts]:
        if chosen.name == "spark-4.0":
            raise subprocess.CalledProcessError(1, ["uv"])
        return {"library": Counts(3, 0, 0)}

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(page, "row", lambda one, results: "")
    monkeypatch.setattr(page, "write", lambda name, row: written.append(name))
    assert command.main(["--write", "spark-3.5", "spark-4.0", "spark-4.1"]) == 1
    assert written == ["spark-3.5", "spark-4.1"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[2].replace("4.1", "3.5") == "spark-3.5: library: 3"
    assert lines[1].startswith("spark-4.0: not installed, ")


def test_failed_tests_fail_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", lambda chosen: {"library": Counts(3, 0, 1)})
    assert command.main(["oldest"]) == 1
