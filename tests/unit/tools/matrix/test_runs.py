"""Runs of a set's tests and their counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import packed_python
from tools.gate.recorder import EVENTS
from tools.matrix import runs
from tools.matrix.environments import Environment
from tools.matrix.runs import Counts
from tools.matrix.sets import Suite, VersionSet
from tools.servers import versions

PROJECT = """
import os, pytest

def test_good(): assert os.environ["TEST_KAFKA_VERSION"] == "3.9.1"
def test_bad(): raise AssertionError
@pytest.mark.skip
def test_skipped(): ...
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runs, "FOLDER", tmp_path / "matrix")
    monkeypatch.setattr(versions, "get", lambda server, version: tmp_path)
    monkeypatch.delenv(EVENTS, raising=False)
    return tmp_path


def test_passed_skipped_and_failed_tests_are_counted(folder: Path) -> None:
    (folder / "test_project.py").write_text(PROJECT)
    results = runs.run(VersionSet("k", (Suite("brokers", (str(folder / "test_project.py"),)),), servers={"kafka": "3.9.1"}))
    assert results == {"brokers": Counts(1, 1, 1)}
    assert str(results["brokers"]) == "1, 1 skipped, **1 failed**"
    assert not results["brokers"].good


def test_a_pytest_that_dies_is_not_taken_for_one_whose_tests_passed(folder: Path) -> None:
    (folder / "test_project.py").write_text("import os\ndef test_a(): ...\ndef test_b(): os._exit(9)\n")
    results = runs.run(VersionSet("k", (Suite("brokers", (str(folder / "test_project.py"),)),)))
    assert results == {"brokers": Counts(1, 0, 0, ended=False)}
    assert str(results["brokers"]) == "1, **ended early**"
    assert not results["brokers"].good


def test_a_set_without_tests_does_not_pass(folder: Path) -> None:
    (folder / "test_project.py").write_text("")
    results = runs.run(VersionSet("k", (Suite("brokers", (str(folder / "test_project.py"),)),)))
    assert not results["brokers"].good


def test_a_set_on_yarn_gives_its_environment_to_airflow_and_yarn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment("3.11", ())
    monkeypatch.setattr(Environment, "resolve", lambda self, lock: None)
    monkeypatch.setattr(Environment, "install", lambda self, lock, home: home / "bin" / "python")
    monkeypatch.setattr(packed_python, "pack", lambda lock, target: None)
    expected = {"TEST_YARN_PYTHON": str(folder / "matrix/set/bin/python"), "TEST_YARN_PACKED": str(folder / "matrix/set/env.tar.gz")}
    test = f"import os\ndef test_a(): assert {expected}.items() <= os.environ.items()\n"
    (folder / "test_project.py").write_text(test)
    results = runs.run(VersionSet("set", (Suite("copies on YARN", (str(folder / "test_project.py"),)),), environment, on_yarn=True))
    assert results == {"copies on YARN": Counts(1, 0, 0)}
