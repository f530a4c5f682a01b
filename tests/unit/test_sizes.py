"""Modules and functions are short enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE_LINES = 400
TEST_MODULE_LINES = 350
FUNCTION_LINES = 40
SOURCES = [path for top in ("spark_apps", "airflow_provider_ignite_kafka") for path in (ROOT / top).rglob("*.py")]


def test_no_module_is_too_long() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    assert len(lengths) > 100
    assert {path: length for path, length in lengths.items() if length > MODULE_LINES} == {}


def test_no_module_of_tests_is_too_long() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in (ROOT / "tests").rglob("*.py")}
    assert len(lengths) > 100
    assert {path: length for path, length in lengths.items() if length > TEST_MODULE_LINES} == {}


def test_no_function_is_too_long() -> None:
    lengths = dict(function for path in SOURCES for function in _functions(path))
    assert len(lengths) > 1_000
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and number of lines below the signature, docstring included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node.end_lineno - node.body[0].lineno + 1
