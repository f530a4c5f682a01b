"""A checkout with tests of its own, which the gate runs."""

from __future__ import annotations

from pathlib import Path

from tools.gate.__main__ import prepare, run
from tools.gate.steps import Step, pytest_step


class Project:
    """A checkout with tests of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("pytest.ini", "[pytest]\n")  # the root of its tests, though temporary files may be in this checkout

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self, *steps: Step, workers: int = 0, limit_s: float = 600) -> int:
        plan = [[step] for step in steps] or [[pytest_step("tests", ("tests",), workers)]]
        runner = prepare(plan, self.root / "gate", self.root)
        runner.limit_s = limit_s
        return run(plan, runner)
