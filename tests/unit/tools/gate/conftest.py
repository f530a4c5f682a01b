"""Small projects that the gate runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.tools.gate.project import Project
from tools.gate.runner import MARK
from tools.servers.jars import CHECKOUT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.setenv(MARK, "")  # restored with the test
    return Project(tmp_path)
