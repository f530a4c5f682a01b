"""Random comparisons have the same examples in every run, and other ones where a run explores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.randomness import MORE, SEED, examples, generator, seed
from tools.servers.jars import CHECKOUT

DRAWS = """
from hypothesis import given, settings, strategies as st
from tests.support import randomness
randomness.load_profile()
drawn = []

@settings(max_examples=randomness.examples(20))
@given(st.integers())
def draw(number):
    drawn.append(number)

draw()
print(len(drawn), drawn)
"""


def drawn(folder: Path, **variables: str) -> str:
    """What a program with Hypothesis draws in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in (SEED, MORE)}
    environment |= {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), *sys.path]), **variables}
    done = subprocess.run([sys.executable, "-c", DRAWS], env=environment, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_examples_of_hypothesis_are_the_same_in_every_run(tmp_path: Path) -> None:
    first, again = drawn(tmp_path), drawn(tmp_path)
    assert first == again
    explored = drawn(tmp_path, **{SEED: "5", MORE: "3"})
    assert int(explored.split()[0]) > 4 * int(first.split()[0])
    assert not list(tmp_path.iterdir()), "no database of examples makes one run depend on another"


def test_generators_follow_the_seed_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SEED, raising=False)
    monkeypatch.delenv(MORE, raising=False)
    assert (seed(7), examples(60)) == (7, 24)
    gate = generator(7).random()
    monkeypatch.setenv(SEED, "1")
    monkeypatch.setenv(MORE, "4")
    explored = [generator(constant).random() for constant in (7, 7, 8)]
    assert explored[0] == explored[1]
    assert len({gate, *explored}) == 3
    assert examples(60) == 240
    monkeypatch.setenv(SEED, "2")
    assert generator(7).random() not in explored
