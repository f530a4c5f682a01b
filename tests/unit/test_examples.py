"""The sample files are valid, and the code blocks of the pages are Python, import what exists, and hold valid settings."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ignite_kafka
from ignite_kafka.cli import main as cli
from ignite_kafka.settings import secrets
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]


def found(language: str) -> Iterator[Any]:
    """Each code block of the pages in a language, as a parameter of a test."""
    for page in PAGES:
        for number, block in enumerate(re.findall(rf"^[ ]*```{language}\n(.*?)^[ ]*```", page.read_text(), re.DOTALL | re.MULTILINE), 1):
            yield pytest.param(textwrap.dedent(block), id=f"{page.stem}-{number}")


PYTHON = [*found("python")]
SETTINGS = [block for block in found("json") if '"bootstrap_servers"' in block.values[0]]
DIRECTIONS: dict[str, type[ConnectorSettings]] = {"IgniteToKafkaOperator": SourceSettings, "KafkaToIgniteOperator": SinkSettings}


@pytest.mark.parametrize(("file", "direction"), [("source.properties", SourceSettings), ("sink.json", SinkSettings)])
def test_a_sample_file_loads_and_none_of_its_settings_is_ignored(file: str, direction: type, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load(EXAMPLES / file)
    assert not loaded.ignored
    assert isinstance(loaded.settings(), direction)
    assert cli.main(["validate", str(EXAMPLES / file)]) == 0
    assert "is valid" in capsys.readouterr().out


def test_the_sample_of_a_secrets_file_loads_once_it_is_its_owner_s_alone(tmp_path: Path) -> None:
    copy = tmp_path / "secrets.json"
    copy.touch(0o600)
    copy.write_bytes((EXAMPLES / "secrets.json").read_bytes())
    found = secrets.load(copy)
    assert (found.ignite.username, found.kafka) == ("app", {"sasl.password": "change me"})


def test_the_readme_names_every_sample() -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"examples/{path.name}" in readme for path in EXAMPLES.iterdir())


@pytest.mark.parametrize("block", PYTHON)
def test_a_code_block_compiles_and_its_imports_work(block: str) -> None:
    tree = ast.parse(block)
    imports: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    exec(compile(ast.Module(imports, []), "imports", "exec"), {})
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ignite_kafka"}
    assert used <= set(ignite_kafka.__all__)


@pytest.mark.parametrize("block", PYTHON)
def test_settings_of_a_code_block_are_valid(block: str) -> None:
    for call in (node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)):
        function = ast.unparse(call.func)
        if function in ("ignite_kafka.SourceSettings", "ignite_kafka.SinkSettings"):
            eval(ast.unparse(call), {"ignite_kafka": ignite_kafka})
        direction = DIRECTIONS.get(function)
        arguments = {keyword.arg: keyword.value for keyword in call.keywords}
        if direction and "settings" in arguments:
            direction.from_dict(ast.literal_eval(arguments["settings"]))


def test_the_first_dag_is_a_dag() -> None:
    (block,) = [each.values[0] for each in PYTHON if str(each.id).startswith("README") and "DAG(" in each.values[0]]
    names: dict[str, Any] = {}
    exec(block, names)
    assert [task.task_id for task in names["dag"].tasks] == ["copy"]


@pytest.mark.parametrize("block", SETTINGS)
def test_a_settings_file_of_a_page_loads(block: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(block)
    loaded = load(file)
    loaded.settings()
    assert not loaded.ignored


def test_the_blocks_are_found() -> None:
    assert len(PYTHON) > 8
    assert SETTINGS
