"""One direction: the Airflow side imports the Spark library, never the other way, and never pyspark."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AIRFLOW_SIDE = sorted((ROOT / "airflow_provider_ignite_kafka").rglob("*.py"))
SPARK_SIDE = sorted((ROOT / "spark_apps").rglob("*.py"))
STANDARD_LIBRARY_ONLY = (
    "plan.slots",
    "plan.routing",
    "plan.cache_changes",
    "plan.source_plan",
    "settings.source",
    "settings.sink",
    "errors",
    "events",
)


def imported(path: Path) -> Iterator[str]:
    """Top-level names of every import of a file, also those inside functions; relative ones are the package's own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", SPARK_SIDE, ids=lambda path: path.name)
def test_spark_side_never_imports_airflow(path: Path) -> None:
    assert not {"airflow", "airflow_provider_ignite_kafka"} & set(imported(path))


@pytest.mark.parametrize("path", AIRFLOW_SIDE, ids=lambda path: path.name)
def test_airflow_side_never_imports_pyspark(path: Path) -> None:
    assert not {"pyspark", "pyarrow", "polars", "numpy"} & set(imported(path))


def loaded(statement: str) -> set[str]:
    """Top-level modules in memory after a statement in a Python of its own."""
    code = f"import sys\n{statement}\nprint(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "AIRFLOW_HOME": home}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    return set(done.stdout.split())


HOOK = "hooks.ignite"
IMPORTED_BY_DAGS = (
    "connector_status",
    "decorators.ignite_to_kafka",
    "forms",
    "notifications.connector",
    "operators.backlog_cleanup",
    "operators.ignite_to_kafka",
    "operators.verify",
    "sensors.cache_watch",
    "sensors.connector_lag",
    "sensors.connector_run",
    "triggers.cache_watch",
    "triggers.connector_lag",
)


@pytest.fixture(scope="module")
def loaded_beside_airflow() -> dict[str, set[str]]:
    """Modules of the provider, each with the top-level modules in memory after its import into a process that has loaded Airflow."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-c", _IN_FORKS, *(f"airflow_provider_ignite_kafka.{module}" for module in (HOOK, *IMPORTED_BY_DAGS))]
        environment = {**os.environ, "AIRFLOW_HOME": home}
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    lines = (line.split() for line in done.stdout.splitlines())
    return {module.partition(".")[2]: set(names) for module, *names in lines}


# importing Airflow takes seconds: once, then a fork for each module
_IN_FORKS = """
import importlib, os, sys
from airflow.providers.common.compat.sdk import BaseHook, BaseOperator, BaseSensorOperator
for module in sys.argv[1:]:
    if not os.fork():
        importlib.import_module(module)
        print(module, *{name.split('.')[0] for name in sys.modules}, flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(1)
"""


@pytest.mark.parametrize("module", IMPORTED_BY_DAGS)
def test_what_dags_import_loads_no_spark(module: str, loaded_beside_airflow: dict[str, set[str]]) -> None:
    modules = loaded_beside_airflow[module]
    assert "airflow" in modules
    assert not {"pyspark", "pyarrow", "polars", "numpy", "py4j", "openlineage"} & modules


def test_hook_loads_no_spark_and_no_kafka(loaded_beside_airflow: dict[str, set[str]]) -> None:
    assert not {"pyspark", "py4j", "confluent_kafka"} & loaded_beside_airflow[HOOK]


def test_provider_info_loads_nothing() -> None:
    assert not {"airflow", "ignite_kafka", "pyspark"} & loaded("import airflow_provider_ignite_kafka")


@pytest.mark.parametrize("module", STANDARD_LIBRARY_ONLY)
def test_plain_values_need_the_standard_library_alone(module: str) -> None:
    modules = loaded(f"import ignite_kafka.{module}") - {"ignite_kafka"}
    assert not {name for name in modules if name in {"airflow", "pyspark", "pyarrow", "polars", "numpy", "confluent_kafka", "pyignite"}}


@pytest.mark.parametrize("module", ["admin.backlog", "admin.target_state"])
def test_commands_that_convert_nothing_load_no_converter(module: str) -> None:
    assert not {"polars", "pyspark"} & loaded(f"import ignite_kafka.{module}")


@pytest.mark.parametrize(
    "module", ["ignite_to_kafka", "kafka_to_ignite", "verify_connector", "ignite_kafka.app", "ignite_kafka.cli.render"]
)
def test_click_and_rich_are_for_the_command_alone(module: str) -> None:
    """A cluster's driver and executors need neither, and the page in Airflow uses texts of the command."""
    assert not {"click", "rich"} & loaded(f"import {module}")


def test_help_completion_and_wrong_arguments_load_no_library() -> None:
    modules = loaded("from ignite_kafka.cli.main import main; from ignite_kafka.cli.commands import parse; parse(['run', 'f'])")
    assert "click" in modules
    assert not {"rich", "confluent_kafka", "pyspark", "pyarrow", "polars", "numpy", "yaml"} & modules


def test_the_check_of_transforms_loads_no_converter() -> None:
    """`migrate` and `validate` check them, and answer before a converter would be loaded."""
    assert not {"pyarrow", "polars", "numpy", "confluent_kafka"} & loaded("import ignite_kafka.convert, ignite_kafka.convert.filter")
    assert not {"polars", "confluent_kafka"} & loaded("import ignite_kafka.convert.transforms.steps")
