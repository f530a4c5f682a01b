"""Names say what things are, and first lines of docstrings are understood at first reading (docs/words.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [path for top in ("spark_apps", "airflow_provider_ignite_kafka") for path in (ROOT / top).rglob("*.py")]
SAY_NOTHING = {
    "one", "ones", "found", "made", "there", "given", "known", "taken", "met", "mine", "told", "wanted", "said", "got",
}  # fmt: skip
"""Words that are no names alone: which field, what result, whose row?"""
PUBLIC = {f"airflow_provider_ignite_kafka/{folder}/cache_watch.py": "known" for folder in ("sensors", "triggers")}
"""Arguments of users, which keep their names; those of a trigger are stored by Airflow."""
_RELATIVE = re.compile(r"\b(that|which|whose|what|who|those)\b")


def test_no_name_says_nothing() -> None:
    names = [
        f"{_place(path)}:{line} {name}"
        for path in SOURCES
        for line, name in _names(ast.parse(path.read_text()))
        if name != PUBLIC.get(_place(path))
    ]
    assert len(names) > 30_000
    assert [name for name in names if name.rpartition(" ")[2].strip("_") in SAY_NOTHING] == []


def test_a_first_line_has_one_relative_clause_at_most() -> None:
    lines = [f"{_place(path)}:{line} {text}" for path in SOURCES for line, text in _first_lines(ast.parse(path.read_text()))]
    assert len(lines) > 1_000
    assert [line for line in lines if len(_RELATIVE.findall(line)) > 1] == []


def test_lines_are_short() -> None:
    """The formatter breaks no texts: those of tests and tools may still have more columns (pyproject.toml)."""
    long = [
        f"{_place(path)}:{number}" for path in SOURCES for number, line in enumerate(path.read_text().split("\n"), 1) if len(line) > 120
    ]
    assert long == []


def test_each_assignment_has_a_line() -> None:
    """``a, b = x, y`` only where the values need each other, as in a swap."""
    several = [
        f"{_place(path)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign) and _is_several(node)
    ]
    assert several == []


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="np")):
                continue  # numpy.ones
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.keyword(arg=str(name)):
                yield node.value.lineno, name


def _first_lines(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text.partition("\n")[0]


def _is_several(node: ast.Assign) -> bool:
    """Whether a tuple is assigned to a tuple, and no value reads a target."""
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
        return False
    if any(not isinstance(part, ast.Name | ast.Attribute) for part in target.elts) or any(
        isinstance(part, ast.Starred) for part in value.elts
    ):
        return False
    names = {part.id if isinstance(part, ast.Name) else part.attr for part in target.elts if isinstance(part, ast.Name | ast.Attribute)}
    read = {node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(value) if isinstance(node, ast.Name | ast.Attribute)}
    return not names & read
