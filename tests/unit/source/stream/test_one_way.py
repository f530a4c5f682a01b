"""A batch goes one way: reader and sender do not import each other, and no module of the stream is in a circle."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from ignite_kafka.source import stream

FOLDER = Path(stream.__file__).parent
MODULES = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}


@cache
def imported(module: str) -> frozenset[str]:
    """Modules of the folder that a module imports."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text())
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1}
    return frozenset(name for name in names if name in MODULES)


@cache
def reached(module: str) -> frozenset[str]:
    """Modules of the folder that a module imports, directly or not."""
    found: set[str] = set()
    waiting = set(imported(module))
    while waiting:
        one = waiting.pop()
        found.add(one)
        waiting |= imported(one) - found
    return frozenset(found)


def test_the_sender_does_not_reach_the_reader() -> None:
    versions = {"versioned_entries", "backlog_client"}  # of entries alone: it reads no changes
    assert reached("sender") == {"batch", "cache_infos", "dedup", "unit_table"} | versions
    assert "sender" not in reached("backlog_reader")


def test_no_module_is_in_a_circle() -> None:
    assert [module for module in sorted(MODULES) if module in reached(module)] == []
