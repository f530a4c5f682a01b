"""Rounds of random comparisons: each has a seed, and a failure names the command that repeats it."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
import time

import pytest

from tests.unit.tools.gate.project import Project
from tools.gate import explore as exploring
from tools.gate.__main__ import prepare
from tools.gate.explore import explore, rounds

TEST = """
import os
from hypothesis import given, settings, strategies as st
from tests.support import randomness
randomness.load_profile()

def test_generator():
    assert randomness.generator(1).random() > 1.0, f"drawn {randomness.generator(1).random()}"

def test_passes():
    pass
"""


def test_a_failure_is_repeated_by_its_command(project: Project, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("test_random.py", TEST)
    runner = prepare((), project.root / "gate", project.root)
    # the time is over after one round, however long that takes or its beginning lasts
    monkeypatch.setattr(exploring, "rounds", lambda *arguments: itertools.islice(rounds(*arguments), 1))
    assert explore(runner, ("test_random.py",), 0, 2, time.time() + 3_600, 41) == 1
    out = capfd.readouterr().out
    assert "round 1: seed 41, 2 times the examples" in out
    [first] = set(re.findall(r"AssertionError: (drawn \S+)", out))
    [again] = re.findall(r"^    again: (.*)$", out, re.MULTILINE)
    words = shlex.split(again.replace(".venv/bin/python", sys.executable))
    variables = dict(word.split("=", 1) for word in words[: words.index(sys.executable)])
    repeated = subprocess.run(
        words[len(variables) :], env={**os.environ, **variables}, cwd=project.root, capture_output=True, text=True, check=False
    )
    assert first in repeated.stdout
    assert out.splitlines()[-1].endswith(": 2 tests ran, 1 failed")


def test_each_round_has_a_seed_of_its_own() -> None:
    until = time.time() + 3_600
    first = [seed for _, (seed, _) in zip(range(4), rounds((), 0, 2, until, 41), strict=False)]
    assert first[0] == 41
    assert len(set(first)) == 4
    assert first == [seed for _, (seed, _) in zip(range(4), rounds((), 0, 2, until, 41), strict=False)]
    assert list(rounds((), 0, 2, time.time() - 1, None)) == []
