"""Each feature of docs/features.md names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
WITH_SERVERS = {"integration", "faults", "stream", "backlog", "soak", "java"}
ROWS = [line.split("|")[1:3] for line in (TOP / "docs" / "features.md").read_text().splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize(("feature", "held_by"), [(feature.strip(), held_by) for feature, held_by in ROWS])
def test_named_tests_exist(feature: str, held_by: str) -> None:
    names = re.findall(r"`([^`]+)`", held_by)
    assert names, feature
    for name in names:
        if name in ("make demo", "make test"):
            continue
        path, _, function = name.partition("::")
        tree = ast.parse((TOP / path).read_text())
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not function or function in functions, name


@pytest.mark.parametrize(("feature", "held_by"), [(feature.strip(), held_by) for feature, held_by in ROWS])
def test_a_row_without_real_servers_says_so(feature: str, held_by: str) -> None:
    names = re.findall(r"`(tests/[^`]+)`", held_by)
    alone = not any(name.split("/")[1] in WITH_SERVERS for name in names)
    marks = ("(unit tests alone)" in held_by, "(no test of `make test`)" in held_by)
    assert marks == (alone and bool(names), alone and not names), feature


def test_the_table_is_read() -> None:
    assert len(ROWS) > 15
