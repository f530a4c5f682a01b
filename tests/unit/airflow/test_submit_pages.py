"""Dags of the pages about other submitters: each is executed, packages its app, and hands files and run to its operators.

Operators whose provider is not installed are stand-ins that take any argument and template all of them.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from airflow.sdk import BaseOperator

from airflow_provider_ignite_kafka.runs.names import RunNames
from airflow_provider_ignite_kafka.sensors.connector_run import ConnectorRunSensor
from airflow_provider_ignite_kafka.spark import app_package
from tests.unit.airflow.bench import PASSWORDS, Bench

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs").glob("submit-*.md"))
NAMES = RunNames("nightly", "nightly/package/1", "nightly/package/1/x")
_IMPORT = re.compile(r"^from ((?:airflow\.providers|kubernetes)\S*) import (\w+)", re.MULTILINE)


class AnyOperator(BaseOperator):
    """Stand-in that keeps its arguments."""

    template_fields = ("arguments",)

    def __init__(self, *, task_id: str, **arguments: Any) -> None:
        super().__init__(task_id=task_id)
        self.arguments = arguments

    def execute(self, context: Any) -> None:
        raise NotImplementedError


class AnyModel:
    """Stand-in for the models of the Kubernetes client."""

    def __getattr__(self, name: str) -> Any:
        return lambda **fields: {name: fields}


def source(page: Path) -> str:
    [block] = re.findall(r"^```py\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return str(block)


@pytest.fixture(params=PAGES, ids=lambda page: page.stem)
def names(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Names of an executed page."""
    text = source(request.param)
    for module, name in _IMPORT.findall(text):
        if not _installed(module):
            stand_in = ModuleType(module)
            setattr(stand_in, name, AnyModel() if module.startswith("kubernetes") else AnyOperator)
            for parent in _parents(module):
                monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
            monkeypatch.setitem(sys.modules, module, stand_in)
    made: dict[str, Any] = {"__name__": request.param.stem}
    exec(compile(text, request.param.name, "exec", dont_inherit=True), made)
    return made


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [name for count in range(1, len(parts)) if not _installed(name := ".".join(parts[:count]))]


def test_the_sensor_follows_the_packaged_run_behind_or_beside_the_operator(names: dict[str, Any]) -> None:
    dag = names["dag"]
    assert sorted(dag.task_ids) == ["follow", "package", "submit"]
    follow = dag.get_task("follow")
    assert isinstance(follow, ConnectorRunSensor)
    assert follow.deferrable
    assert "package" in follow.get_flat_relative_ids(upstream=True)
    assert "package" in dag.get_task("submit").upstream_task_ids


def test_the_task_packages_a_run_without_secrets(
    names: dict[str, Any], bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_package, "_store", lambda files, folder, conn_id: [path.read_bytes() for path in files])
    monkeypatch.setattr(RunNames, "of", lambda _context: NAMES)
    monkeypatch.setattr(app_package, "get_current_context", dict)
    result = json.loads(json.dumps(names["dag"].get_task("package").python_callable()))
    assert result["run"]["run_id"] == NAMES.run_id
    text = json.dumps(result)
    assert "ignite_to_kafka.py" in text
    assert "--mounted-secrets" in text
    assert re.search(r"ignite_kafka\.zip|\.whl", text)
    assert not any(password in text for password in PASSWORDS)


def test_each_page_is_in_the_list() -> None:
    assert len(PAGES) == 5
    overview = (ROOT / "docs" / "submit.md").read_text()
    assert all(f"({page.name})" in overview for page in PAGES)
